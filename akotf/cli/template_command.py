"""`akotf template`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from akotf.cli.arguments import project_folder
from akotf.cli.view import View
from akotf.errors import ConfigError, UsageError
from akotf.load import publishing, template
from akotf.load.catalogue import LOCK
from akotf.load.comparison import Change, Comparison, ParameterChange, compare, described
from akotf.load.environment import AKOTF
from akotf.load.specification import TEMPLATE, Template
from akotf.load.upgrade import asked_template
from akotf.model.finding import Finding, has_errors
from akotf.report.text import text as findings_text
from akotf.wiring.surroundings import cache_folder, catalogues, project_folders

EXAMPLES = (
    "akotf template list",
    "akotf template show gpu-training@1.0.0",
    "akotf template publish iac/gpu-training/1.0.0",
    "akotf template lock environments/quickstart",
    "akotf template verify",
    "akotf template diff gpu-training@1.0.0 iac/gpu-training/1.1.0 --patch",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    parser.add_argument("what", choices=tuple(_ACTIONS), help="what to do")
    parser.add_argument(
        "target",
        nargs="*",
        help="NAME@VERSION, git+URL//path?ref=TAG, a template's folder, or an environment's",
    )
    parser.add_argument("-f", "--folder", default=".", help="project folder (default: this folder)")
    parser.add_argument("--patch", action="store_true", help="diff: show the lines of the files, too")
    parser.add_argument(
        "--accept-moved", action="store_true", help="lock: take a tag that names another commit now"
    )
    parser.add_argument("--detailed-exitcode", action="store_true", help="diff: 2 when the templates differ")


def run(arguments: argparse.Namespace) -> int:
    """Templates: what there is, what it takes, how two differ, and whether published ones are unchanged."""
    view = View(arguments)
    action, least, most = _ACTIONS[arguments.what]
    if not least <= len(arguments.target) <= most:
        needs = "no target" if most == 0 else "two targets" if least == 2 else "one target"
        raise UsageError(f"`akotf template {arguments.what}` takes {needs}", remedy="akotf template --help")
    return action(arguments, view, project_folder(arguments))


def _list(_: argparse.Namespace, view: View, start: Path) -> int:
    rows = template.list_templates(catalogues(start))
    data = [
        {"reference": r.reference, "content": r.content, "published": r.published, "folder": str(r.folder)}
        for r in rows
    ]
    lines = [
        f"{r.reference:<24} {'published' if r.published else 'draft':<9} {r.content[:19]}  {r.description}"
        for r in rows
    ]
    view.result({"schema": 1, "templates": data}, "\n".join(lines))
    return 0


def _show(arguments: argparse.Namespace, view: View, start: Path) -> int:
    found = _found(arguments.target[0], start)
    spec, ref = found.spec, found.ref
    lines = [f"{ref.name}@{ref.version}  {ref.content}", spec.description, ""]
    if ref.source:
        lines.insert(1, f"{ref.source}  commit {ref.commit}")
    texts = described(found)
    for name, field in texts.items():
        low, high = field.get("min", ""), field.get("max", "")
        bounds = f" {low} .. {high}" if low or high else ""
        choices = f" one of {field['choices']}" if "choices" in field else ""
        default = f"default {field['default']}" if "default" in field else "optional"
        given = "required" if "required" in field else default
        secret = ", secret" if "secret" in field else ""
        lines.append(
            f"  {name:<22} {field['type']}{bounds}{choices}{secret}, {given}: {field.get('help', '')}"
        )
    lines += ["", "constraints:"] if spec.constraints else []
    lines += [f"  {constraint.expr}: {constraint.message}" for constraint in spec.constraints]
    data = spec.to_json()
    for name, field in texts.items():
        if "secret" in field:  # a default that is no reference is the secret itself
            data["parameters"][name] |= {"default": field.get("default"), "choices": []}
    view.result({"schema": 1, "template": ref.to_json(), "spec": data}, "\n".join(lines))
    return 0


def _found(target: str, start: Path) -> Template:
    """The template that a target means; an environment's folder means the one that it has, as it is pinned."""
    folder = Path(target).absolute()
    if (folder / TEMPLATE).is_file():
        return template.read_folder(folder)
    if not (folder / AKOTF).is_file():
        return template.find_template(target, catalogues(start), cache_folder())
    asked = asked_template(folder).text
    return template.open_template(asked, catalogues(folder), environment=folder, cache=cache_folder())


def _publish(arguments: argparse.Namespace, view: View, start: Path) -> int:
    target = arguments.target[0]
    folder = template.locate(target, catalogues(start)) if "@" in target else Path(target).resolve()
    catalogue = folder.parent.parent
    # From beside the catalogue on: the template's own modules/ holds what was vendored before.
    modules = project_folders("modules", catalogue.parent)
    if not modules:
        raise UsageError("there is no modules/ folder beside the catalogue", where=str(catalogue.parent))
    digest = publishing.publish(folder, modules[0], catalogue)
    view.result({"schema": 1, "content": digest}, f"published {digest}")
    return 0


def _lock(arguments: argparse.Namespace, view: View, _: Path) -> int:
    folder = Path(arguments.target[0]).absolute()
    reference = asked_template(folder).text
    ref = template.lock(
        folder, reference, catalogues(folder), cache_folder(), accept_moved=arguments.accept_moved
    )
    commit = f" (commit {ref.commit})" if ref.commit else ""
    view.result(
        {"schema": 1, **ref.to_json()}, f"pinned {reference}{commit} as {ref.content} in {folder / LOCK}"
    )
    return 0


def _verify(arguments: argparse.Namespace, view: View, start: Path) -> int:
    """The catalogues and the locks; a lock on a template from git is held against its repository."""
    findings: list[Finding] = []
    environments = [Path(target).absolute() for target in arguments.target]
    if not environments:
        findings += [f for folder in catalogues(start) for f in publishing.verify(folder)]
        environments = _locked(start)
    for folder in environments:
        asked = asked_template(folder).text
        findings += publishing.verify_lock(folder, asked, catalogues(folder), cache_folder())
    bad = has_errors(findings)
    good = (
        "every lock holds"
        if arguments.target
        else "every published template is unchanged" + (", every lock holds" if environments else "")
    )
    view.result(
        {"schema": 1, "intact": not findings, "findings": [f.to_json() for f in findings]},
        findings_text(findings) or good,
    )
    return ConfigError.exit_code if bad else 0


def _locked(start: Path) -> list[Path]:
    """The environments of the project, or the one that `start` is, that have a lock."""
    here = [start] if (start / AKOTF).is_file() else []
    folders = next(
        (f / "environments" for f in (start, *start.parents) if (f / "environments").is_dir()), None
    )
    found = here or (sorted(folders.iterdir()) if folders else [])
    return [folder for folder in found if (folder / LOCK).is_file() and (folder / AKOTF).is_file()]


def _diff(arguments: argparse.Namespace, view: View, start: Path) -> int:
    old, new = (_found(target, start) for target in arguments.target)
    found = compare(old, new)
    files = [
        {"path": f.path, "change": f.kind, **({"patch": f.patch} if arguments.patch else {})}
        for f in found.files
    ]
    data = {
        "schema": 1,
        "old": old.ref.to_json(),
        "new": new.ref.to_json(),
        "same": found.same,
        "parameters": [p.to_json() for p in found.parameters],
        "constraints": [c.to_json() for c in found.constraints],
        "run": [c.to_json() for c in found.run],
        "files": files,
    }
    view.result(data, "\n".join(_diff_lines(found, patch=arguments.patch)) or "the two are the same")
    return 2 if arguments.detailed_exitcode and not found.same else 0


def _diff_lines(found: Comparison, *, patch: bool) -> list[str]:
    lines = section("parameters", parameter_lines(found.parameters))
    lines += section("constraints", change_lines(found.constraints))
    lines += section("run.yaml", change_lines(found.run))
    lines += section("files", [f"  {f.kind:<8} {f.path}" for f in found.files])
    if patch:
        lines += ["", *(f.patch.rstrip("\n") for f in found.files)]
    return lines


def section(title: str, lines: Sequence[str]) -> list[str]:
    """Lines under a title; nothing when there are none."""
    return [f"{title}:", *lines] if lines else []


def parameter_lines(changes: Sequence[ParameterChange]) -> list[str]:
    """A line for each parameter that is new or gone, and for each field that is another."""
    lines = []
    for change in changes:
        if change.kind == "changed":
            lines += [f"  changed  {change.name} {line.strip()}" for line in change_lines(change.fields)]
            continue
        sides = {f.path: f.new if change.kind == "added" else f.old for f in change.fields}
        shown = ", ".join(f"{k} {v}" for k, v in sides.items() if k not in ("type", "help"))
        lines.append(
            f"  {change.kind:<8} {change.name} ({sides.get('type', '')}{', ' if shown else ''}{shown})"
        )
    return lines


def change_lines(changes: Sequence[Change]) -> list[str]:
    """`path: old -> new`."""
    return [f"  {c.path}: {shown(c.old)} -> {shown(c.new)}" for c in changes]


def shown(value: Any) -> str:
    """A value for people; a list as it would be written."""
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


#: Each action, and how many targets it takes: at least, at most.
_ACTIONS: dict[str, tuple[Callable[[argparse.Namespace, View, Path], int], int, int]] = {
    "list": (_list, 0, 0), "show": (_show, 1, 1), "publish": (_publish, 1, 1), "lock": (_lock, 1, 1),
    "verify": (_verify, 0, 99), "diff": (_diff, 2, 2),
}  # fmt: skip
