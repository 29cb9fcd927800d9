"""`akotf template`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.view import View, show
from akotf.errors import ConfigError, UsageError
from akotf.load import template
from akotf.model.finding import has_errors
from akotf.wiring import catalogues, project_folders

EXAMPLES = (
    "akotf template list",
    "akotf template show gpu-training@1.0.0",
    "akotf template publish iac/gpu-training/1.0.0",
    "akotf template lock environments/quickstart",
    "akotf template verify",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("what", choices=("list", "show", "publish", "lock", "verify"), help="what to do")
    parser.add_argument(
        "target", nargs="?", default="", help="NAME@VERSION, a template's folder, or an environment's"
    )
    parser.add_argument("-f", "--folder", default=".", help="project folder (default: this folder)")


def run(arguments: argparse.Namespace) -> int:
    """Templates: what there is, what it takes, and whether published ones are unchanged."""
    view = View(arguments)
    start = Path(arguments.folder).absolute()
    if arguments.what == "list":
        rows = template.list_templates(catalogues(start))
        view.result(
            {"schema": 1, "templates": rows},
            "\n".join(f"{r['name']}@{r['version']:<10} {r['digest'][:19]}  {r['description']}" for r in rows),
        )
        return 0
    if arguments.what == "verify":
        findings = [f for folder in catalogues(start) for f in template.verify(folder)]
        view.result(
            {"schema": 1, "intact": not findings, "findings": [f.to_json() for f in findings]},
            "\n".join(map(str, findings)) or "every published template is unchanged",
        )
        return ConfigError.exit_code if has_errors(findings) else 0
    if not arguments.target:
        raise UsageError(f"`akotf template {arguments.what}` needs a target", remedy="akotf template --help")
    if arguments.what == "show":
        return _show(arguments, view, start)
    if arguments.what == "lock":
        folder = Path(arguments.target).absolute()
        digest = template.lock_environment(folder, catalogues(folder))
        view.result({"schema": 1, "digest": digest}, f"pinned {digest} in {folder / 'akotf.lock'}")
        return 0
    folder = Path(arguments.target).absolute()
    digest = template.publish(folder, project_folders("modules", folder)[0], folder.parent.parent)
    view.result({"schema": 1, "digest": digest}, f"published {digest}")
    return 0


def _show(arguments: argparse.Namespace, view: View, start: Path) -> int:
    spec, ref = template.find(arguments.target, catalogues(start))
    lines = [f"{ref.name}@{ref.version}  {ref.content}", spec.description, ""]
    for name, parameter in spec.parameters.items():
        bounds = (
            f" [{parameter.min} .. {parameter.max}]"
            if parameter.min is not None or parameter.max is not None
            else ""
        )
        unit = f" {parameter.unit}" if parameter.unit else ""
        default = "required" if parameter.required else f"default {show(parameter.default)}"
        lines.append(f"  {name:<22} {parameter.type}{unit}{bounds}, {default}: {parameter.help}")
    view.result({"schema": 1, "template": ref.to_json(), "spec": spec.to_json()}, "\n".join(lines))
    return 0
