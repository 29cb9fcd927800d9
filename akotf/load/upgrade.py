"""An environment moved to another template: shown first, then written so that a crash between leaves a clear error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from akotf.errors import ConfigError, IntegrityError
from akotf.facts.files import one_writer, write_atomic
from akotf.gitsource.address import is_git, parse_address
from akotf.load.catalogue import read_lock, write_lock
from akotf.load.comparison import Change, ParameterChange, compare_parameters, compare_states
from akotf.load.environment import AKOTF, inside, load
from akotf.load.specification import Template
from akotf.load.template import find_template, open_template, refuse_moved
from akotf.model.config import DesiredState
from akotf.reading import yaml
from akotf.reading.nodes import ListNode, MapNode, Node, TextNode, ValueNode
from akotf.reading.yaml import shown_path


@dataclass(frozen=True)
class Upgrade:
    """An environment with another template, nothing written yet."""

    folder: Path
    before: str  # the template that akotf.yaml asks for
    reference: str  # the one it would ask for
    template: Template
    old: DesiredState | None  # None: the environment does not load as it is, `trouble` says why
    trouble: str
    parameters: tuple[ParameterChange, ...]  # between the two templates
    new: DesiredState | None  # None: it does not load with the new template, `error` says why
    error: ConfigError | None
    text: bytes  # akotf.yaml as it was read

    @property
    def effects(self) -> dict[str, tuple[Change, ...]]:
        """What would change, by group: `baseline`, `run`, `parameters`."""
        return compare_states(self.old, self.new) if self.new else {}

    @property
    def nothing(self) -> bool:
        """Whether the environment is there already."""
        return self.before == self.reference and read_lock(self.folder) == self.template.ref


def prepare(
    folder: Path, reference: str, catalogues: Sequence[Path], cache: Path, *, accept_moved: bool = False
) -> Upgrade:
    """Load the environment with the template `reference` (from git: online) and compare; writes nothing.

    ConfigError when there is no such template, or when its locked tag has moved, unless `accept_moved`.
    """
    asked = asked_template(folder).text
    text = inside(folder, AKOTF).read_bytes()
    template = find_template(reference, catalogues, cache)
    refuse_moved(template, folder, accept_moved=accept_moved)
    reference = template.reference
    old, previous, trouble = None, None, ""
    try:
        previous = open_template(asked, catalogues, environment=folder, cache=cache)
        old = load(folder, catalogues=catalogues, cache=cache, template=previous)
    except (ConfigError, IntegrityError) as error:
        trouble = error.message
    new, fault = None, None
    try:
        overrides = {"template": reference}
        new = load(folder, catalogues=catalogues, cache=cache, overrides=overrides, template=template)
    except ConfigError as error:
        fault = error
    return Upgrade(
        folder=folder, before=_told(asked), reference=reference, template=template, old=old, trouble=trouble, text=text,
        parameters=compare_parameters(previous, template) if previous else (), new=new, error=fault,
    )  # fmt: skip


def _told(reference: str) -> str:
    """A reference for people: one from git that is refused may hold a credential, and is not repeated."""
    try:
        return str(parse_address(reference)) if is_git(reference) else reference
    except ConfigError:
        return "an address in git that is refused"


def write(upgrade: Upgrade) -> None:
    """Pin the new template and ask for it in akotf.yaml, whose other bytes stay as they are.

    The lock comes first: between the two steps it pins a template that akotf.yaml does not ask for, which every command
    refuses with both names. ConfigError when akotf.yaml was changed since, or can't be rewritten by itself.
    """
    path = inside(upgrade.folder, AKOTF).resolve()
    text = rewritten(upgrade.text, shown_path(path), upgrade.reference)
    with one_writer(path.parent):
        if path.read_bytes() != upgrade.text:
            raise ConfigError(
                f"{AKOTF} was changed meanwhile", where=str(path), remedy="look again, then upgrade"
            )
        write_lock(upgrade.folder, upgrade.template.ref)
        if text != upgrade.text:
            write_atomic(path, text, path.stat().st_mode & 0o777)


def asked_template(folder: Path) -> TextNode:
    """What `template:` says in akotf.yaml. ConfigError when it says nothing."""
    path = inside(folder, AKOTF)
    if not path.is_file():
        raise ConfigError(f"{folder} has no {AKOTF}", where=str(folder), remedy=f"akotf init {folder}")
    node = yaml.read(path)
    asked = node.get("template") if isinstance(node, MapNode) else None
    if not isinstance(asked, TextNode):
        raise ConfigError("akotf.yaml names no template", where=str(path), remedy="template: NAME@VERSION")
    return asked


def rewritten(data: bytes, file: str, reference: str) -> bytes:
    """akotf.yaml with another template; every other byte is the same. ConfigError where that can't be done."""
    node = yaml.parse(data, file)
    asked = node.get("template") if isinstance(node, MapNode) else None
    remedy = f"write `template: {reference}` yourself, then: akotf template lock"
    if not isinstance(asked, TextNode):
        raise ConfigError("akotf.yaml names no template", where=file, remedy=remedy)
    text = data.decode()
    start = _offset(text, asked)
    if asked.plain:
        end, new = start + len(asked.text), reference
    else:
        quoted = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL).match(text, start)
        end, new = (quoted.end(), f"{text[start]}{reference}{text[start]}") if quoted else (start, reference)
    result = (text[:start] + new + text[end:]).encode()
    wanted = _bare(node)
    wanted["template"] = (reference, asked.plain)
    try:
        done = _bare(yaml.parse(result, file)) == wanted
    except ConfigError:
        done = False
    if not done:  # an anchor, an alias, a tag or a block scalar
        where = str(asked.mark.position())
        raise ConfigError(
            "`template:` can't be changed here without touching more", where=where, remedy=remedy
        )
    return result


def _offset(text: str, node: TextNode) -> int:
    """Where a node starts, in characters of the whole text; a byte order mark counts for nothing in its place."""
    starts = [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", text))]
    mark = int(text.startswith("\ufeff") and node.mark.line == 1)
    return starts[node.mark.line - 1] + node.mark.column - 1 + mark


def _bare(node: Node) -> Any:
    """A tree without its places."""
    if isinstance(node, MapNode):
        return {key: _bare(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, ListNode):
        return [_bare(item) for item in node.items]
    return node.value if isinstance(node, ValueNode) else (node.text, node.plain)
