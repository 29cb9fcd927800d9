"""Finds the rule ids that akotf's source can put into findings, by reading it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ID = re.compile(r"[a-z]+/[a-z][a-z0-9-]*")
_NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class Maker:
    """A function that makes findings of the rule that it is given as parameter `name`, at `index`."""

    prefix: str
    name: str
    index: int


#: Makers by (module's file, is it a method, name); a class counts as the function that its __init__ is.
Makers = dict[tuple[Path, bool, str], set[Maker]]


@dataclass(frozen=True)
class Module:
    """A module as far as it matters here."""

    path: Path
    calls: list[ast.Call]
    functions: list[
        tuple[ast.FunctionDef, str, list[ast.Call]]
    ]  # with the name of its class, or "", and its calls
    imported: dict[str, Path]  # name -> the file that it comes from


def used_ids(package: Path) -> dict[str, str]:
    """Rule id -> a file that uses it."""
    modules = [_read(path, package) for path in sorted(package.rglob("*.py"))]
    makers = _makers(package, modules)
    found: dict[str, str] = {}
    for module in modules:
        for call in module.calls:
            for maker in _called(call, module, makers):
                for word in _constants(_argument(call, maker)):
                    full = maker.prefix + word
                    if _NAME.fullmatch(full.rpartition("/")[2]) and _ID.fullmatch(full):
                        found.setdefault(full, module.path.relative_to(package.parent).as_posix())
    return found


def _read(path: Path, package: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions, imported = [], {}
    for node in ast.walk(tree):
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        functions += [
            (f, owner, _calls(f)) for f in ast.iter_child_nodes(node) if isinstance(f, ast.FunctionDef)
        ]
        if isinstance(node, ast.ImportFrom) and node.module:
            origin = package.parent.joinpath(*node.module.split(".")).with_suffix(".py")
            imported |= {alias.asname or alias.name: origin for alias in node.names}
    return Module(path, _calls(tree), functions, imported)


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _called(call: ast.Call, module: Module, makers: Makers) -> Iterator[Maker]:
    """What a call may be: a function of this module or an imported one; a method of this module, of one that it imports
    from, or else of any."""
    function = call.func
    if isinstance(function, ast.Name):
        own = makers.get((module.path, False, function.id))
        origin = module.imported.get(function.id)
        yield from own or (makers.get((origin, False, function.id), ()) if origin else ())
    elif isinstance(function, ast.Attribute):
        methods = {key[0]: found for key, found in makers.items() if key[1:] == (True, function.attr)}
        known = [file for file in (module.path, *module.imported.values()) if file in methods]
        for file in known[:1] or methods:
            yield from methods[file]


def _makers(package: Path, modules: list[Module]) -> Makers:
    """Functions that hand a parameter on as a finding's rule, directly or through others."""
    makers: Makers = {
        (package / "model" / "finding.py", False, "Finding"): {Maker("", "rule", 0)},
        # a value's fault, whose rule its reader puts behind config/
        (package / "reading" / "leaves.py", False, "Fault"): {Maker("config/", "rule", 2)},
    }
    while True:
        before = sum(map(len, makers.values()))
        for module in modules:
            for function, owner, calls in module.functions:
                for call in calls:
                    for maker in list(_called(call, module, makers)):
                        if made := _handed_on(function, owner, call, maker):
                            init = function.name == "__init__"
                            key = (module.path, bool(owner) and not init, owner if init else function.name)
                            makers.setdefault(key, set()).add(made)
        if sum(map(len, makers.values())) == before:
            return makers


def _handed_on(function: ast.FunctionDef, owner: str, call: ast.Call, maker: Maker) -> Maker | None:
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][1 if owner else 0 :]
    prefix, name = _parameter(_argument(call, maker))
    if name not in [*parameters, *(a.arg for a in function.args.kwonlyargs)]:
        return None
    return Maker(maker.prefix + prefix, name, parameters.index(name) if name in parameters else 99)


def _parameter(value: ast.expr | None) -> tuple[str, str]:
    """Prefix and name of `f"prefix/{name}"` or `name`."""
    if isinstance(value, ast.Name):
        return "", value.id
    if isinstance(value, ast.JoinedStr) and len(value.values) == 2:
        head, tail = value.values
        if (
            isinstance(head, ast.Constant)
            and isinstance(tail, ast.FormattedValue)
            and isinstance(tail.value, ast.Name)
        ):
            return str(head.value), tail.value.id
    return "", ""


def _argument(call: ast.Call, maker: Maker) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == maker.name:
            return keyword.value
    return call.args[maker.index] if maker.index < len(call.args) else None


def _constants(value: ast.expr | None) -> Iterator[str]:
    """The texts that an expression can be."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from _constants(value.body)
        yield from _constants(value.orelse)
