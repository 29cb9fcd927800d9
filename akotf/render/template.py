"""What a template gives to a root: the static HCL of one provider and the modules that it wires."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from akotf.errors import ConfigError
from akotf.model.config import DesiredState, ScopeKind, ScopeSpec
from akotf.model.plan import Candidate

#: A module block, on one line or up to the brace that begins a line; and the source in it.
_BLOCK = re.compile(
    r'^[ \t]*module\s+"?[^"{\n]*"?\s*\{([^\n]*\}[ \t]*$|.*?(?:^\}|\Z))', re.MULTILINE | re.DOTALL
)
_SOURCE = re.compile(r'(?:^|[{\s])source\s*=\s*"((?:[^"\\]|\\.)*)"')
_VENDORED = re.compile(r"\./modules/([A-Za-z0-9_-]+)")
_NOT_VENDORED = (
    "README.md",
    "metadata.yaml",
    "examples",
    "tests",
    "terraform.d",
)  # of a module: for people and tests


def provider_of(candidate: Candidate, scope: ScopeSpec | None) -> str:
    """Folder under the template's `terraform/` that a candidate needs: local, slurm, aws, ..."""
    if candidate.offer.kind is ScopeKind.CLOUD:
        return (scope.provider if scope else "") or candidate.offer.backend
    if candidate.offer.kind is ScopeKind.HPC:
        return candidate.offer.backend or "slurm"
    return "local"


def static_root(state: DesiredState, candidate: Candidate) -> dict[str, bytes]:
    """The template's `*.tf` files for the candidate's provider, by name.

    ConfigError when the template has none, naming the scopes of the environment that it can provision.
    """
    scopes = state.environment.scopes
    provider = provider_of(candidate, scopes.get(candidate.scope))
    folder = state.template_folder / "terraform" / provider
    files = {}
    if _is_name(provider):
        _refuse_links(state.template_folder, folder)
        files = {p.name: _read(p) for p in sorted(folder.glob("*.tf"))}
    if not files:
        raise ConfigError(
            f"template {_name(state)} has no Terraform root for {provider}, which scope {candidate.scope} needs",
            where=str(folder), remedy=_other_scopes(state, candidate.scope),
        )  # fmt: skip
    return files


def vendored_modules(state: DesiredState, root: dict[str, bytes]) -> dict[str, bytes]:
    """The files of every module that the root wires as `./modules/NAME`, from the template's own `modules/`."""
    names = sorted({_vendored(state, file, source) for file, source in _sources(root)})
    missing = [n for n in names if not (state.template_folder / "modules" / n / "main.tf").is_file()]
    if missing:
        raise ConfigError(
            f"template {_name(state)} wires modules that are not vendored in it: {', '.join(missing)}",
            where=str(state.template_folder / "modules"),
            remedy=f"publish it with its modules: akotf template publish {state.template.name}",
        )
    found: dict[str, bytes] = {}
    for name in names:
        folder = state.template_folder / "modules" / name
        _refuse_links(state.template_folder, folder)
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            hidden = any(part.startswith(".") for part in inside.parts)
            if inside.parts[0] in _NOT_VENDORED or hidden or (path.is_dir() and not path.is_symlink()):
                continue
            found[f"modules/{name}/{inside.as_posix()}"] = _read(path)
    for file, source in _sources(found):
        above = posixpath.normpath(posixpath.join(posixpath.dirname(file), source))
        own = "/".join(file.split("/")[:2])
        if not source.startswith("./") or not f"{above}/".startswith(f"{own}/"):
            raise _not_vendored(state, file, source)
    return found


def _sources(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    """File and source of every module that HCL wires."""
    for file, data in files.items():
        if file.endswith(".tf"):
            for block in _BLOCK.finditer(data.decode(errors="replace")):
                source = _SOURCE.search(block[1])
                yield file, source[1] if source else ""


def _vendored(state: DesiredState, file: str, source: str) -> str:
    match = _VENDORED.fullmatch(source)
    if match is None:
        raise _not_vendored(state, file, source)
    return match[1]


def _not_vendored(state: DesiredState, file: str, source: str) -> ConfigError:
    return ConfigError(
        f"template {_name(state)} wires a module from {source!r}: what is published holds all that it uses",
        where=str(state.template_folder / file), remedy='name it under modules and write source = "./modules/NAME"',
    )  # fmt: skip


def _read(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise _no_plain_file(path)
    return path.read_bytes()


def _refuse_links(top: Path, folder: Path) -> None:
    """ConfigError when a folder between a template and what is read of it is a link."""
    for path in (folder, *folder.parents):
        if path == top:
            return
        if path.is_symlink():
            raise _no_plain_file(path)


def _no_plain_file(path: Path) -> ConfigError:
    return ConfigError(
        "a template holds plain files only", where=str(path), remedy="replace the link by the file it names"
    )


def _is_name(provider: str) -> bool:
    return re.fullmatch(r"[a-z][a-z0-9-]*", provider) is not None


def _name(state: DesiredState) -> str:
    return f"{state.template.name}@{state.template.version}"


def _other_scopes(state: DesiredState, chosen: str) -> str:
    """Which `--scope` would work."""
    able = [
        name for name, scope in state.environment.scopes.items()
        if name != chosen and (state.template_folder / "terraform" / _declared_provider(scope)).is_dir()
    ]  # fmt: skip
    if not able:
        return "take a template that has a root for this provider"
    return "choose a scope that this template provisions: " + _options(able)


def _declared_provider(scope: ScopeSpec) -> str:
    if scope.kind is ScopeKind.LOCAL:
        return "local"
    return (scope.backend or "slurm") if scope.kind is ScopeKind.HPC else (scope.provider or "-")


def _options(names: Sequence[str]) -> str:
    return " or ".join(f"--scope {name}" for name in names)
