"""`akotf template`."""

from __future__ import annotations

import argparse
from pathlib import Path

from akotf.cli.view import View, show
from akotf.errors import ConfigError, UsageError
from akotf.load import publishing, template
from akotf.load.environment import AKOTF
from akotf.model.finding import has_errors
from akotf.reading import yaml
from akotf.reading.nodes import MapNode, TextNode
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
            {
                "schema": 1,
                "templates": [
                    {
                        "reference": r.reference,
                        "content": r.content,
                        "published": r.published,
                        "folder": str(r.folder),
                    }
                    for r in rows
                ],
            },
            "\n".join(
                f"{r.reference:<24} {'published' if r.published else 'draft':<9} {r.content[:19]}  {r.description}"
                for r in rows
            ),
        )
        return 0
    if arguments.what == "verify":
        findings = [f for folder in catalogues(start) for f in publishing.verify(folder)]
        view.result(
            {"schema": 1, "intact": not findings, "findings": [f.to_json() for f in findings]},
            "\n".join(map(str, findings)) or "every published template is unchanged",
        )
        return ConfigError.exit_code if has_errors(findings) else 0
    if not arguments.target:
        raise UsageError(f"`akotf template {arguments.what}` needs a target", remedy="akotf template --help")
    if arguments.what == "show":
        return _show(arguments, view, start)
    if arguments.what == "publish" and "@" in arguments.target:
        folder = template.locate(arguments.target, catalogues(start))
    else:
        folder = Path(arguments.target).absolute()
    if arguments.what == "lock":
        reference = environment_template(folder)
        ref = template.lock(folder, reference, catalogues(folder))
        view.result(
            {"schema": 1, **ref.to_json()}, f"pinned {reference} as {ref.content} in {folder / 'akotf.lock'}"
        )
        return 0
    catalogue = folder.parent.parent
    # From beside the catalogue on: the template's own modules/ holds what was vendored before.
    modules = project_folders("modules", catalogue.parent)
    if not modules:
        raise UsageError("there is no modules/ folder beside the catalogue", where=str(catalogue.parent))
    digest = publishing.publish(folder, modules[0], catalogue)
    view.result({"schema": 1, "content": digest}, f"published {digest}")
    return 0


def _show(arguments: argparse.Namespace, view: View, start: Path) -> int:
    found = template.open_template(arguments.target, catalogues(start))
    spec, ref = found.spec, found.ref
    lines = [f"{ref.name}@{ref.version}  {ref.content}", spec.description, ""]
    for name, parameter in spec.parameters.items():
        low = "" if parameter.min is None else f"{parameter.min:.12g}"
        high = "" if parameter.max is None else f"{parameter.max:.12g}"
        bounds = f" {low} .. {high}" if low or high else ""
        unit = f" {parameter.unit}" if parameter.unit else ""
        given = "required" if parameter.default is None else f"default {show(parameter.default)}"
        default = "optional" if parameter.default is None and not parameter.required else given
        lines.append(f"  {name:<22} {parameter.type}{unit}{bounds}, {default}: {parameter.help}")
    view.result({"schema": 1, "template": ref.to_json(), "spec": spec.to_json()}, "\n".join(lines))
    return 0


def environment_template(folder: Path) -> str:
    """The `NAME@VERSION` that an environment asks for, whatever its lock says."""
    node = yaml.read(folder / AKOTF)
    asked = node.get("template") if isinstance(node, MapNode) else None
    if not isinstance(asked, TextNode):
        raise UsageError(
            "akotf.yaml names no template", where=str(folder / AKOTF), remedy="template: NAME@VERSION"
        )
    return asked.text
