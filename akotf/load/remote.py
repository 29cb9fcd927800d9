"""Templates from git: fetched when they are locked, by their lock and offline ever after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from akotf.errors import ConfigError, IntegrityError
from akotf.gitsource import store
from akotf.gitsource.address import GitAddress, is_commit, parse_address
from akotf.gitsource.allow import require_allowed
from akotf.gitsource.fetch import fetch, resolve
from akotf.load.catalogue import LOCK, content_digest, digest_of, read_lock
from akotf.load.specification import Template, read_template
from akotf.model.config import TemplateRef
from akotf.model.finding import Finding, Position
from akotf.reading.yaml import shown_path

_CONTENT = re.compile(r"sha256:[0-9a-f]{64}")


def fetch_latest(reference: str, catalogues: Sequence[Path], cache: Path) -> Template:
    """The template that a tag names now (online); its files are kept in the cache."""
    address = parse_address(reference)
    require_allowed(address, catalogues)
    commit, files = fetch(address, resolve(address))
    content = digest_of(files)
    return _opened(address, commit, content, store.keep(cache, commit, content, files))


def open_locked(
    reference: str, catalogues: Sequence[Path], environment: Path | None, cache: Path | None
) -> Template:
    """The template as `akotf.lock` pins it: from the cache, else fetched again at exactly that commit.

    ConfigError without a lock or with another's; IntegrityError when the commit does not give the locked content.
    """
    address = parse_address(reference)
    require_allowed(address, catalogues)
    if environment is None or cache is None:
        raise ConfigError(f"{reference} is from git and needs an environment's lock",
                          remedy="akotf template lock ENVIRONMENT")  # fmt: skip
    pin = require_lock(address, environment)
    folder = store.kept(cache, pin.commit, pin.content)
    if not _is_intact(folder, pin.content):
        store.drop(cache, pin.commit, pin.content)
        commit, files = fetch(address, pin.commit)
        if (content := digest_of(files)) != pin.content:
            raise IntegrityError(
                f"{address} has {content} at commit {commit}, {LOCK} says {pin.content}",
                where=str(environment / LOCK), remedy="restore akotf.lock from git, or lock again and review",
            )  # fmt: skip
        folder = store.keep(cache, commit, content, files)
        if not _is_intact(folder, pin.content):
            raise IntegrityError(
                f"{folder} is not what was fetched", remedy="remove that folder and try again"
            )
    return _opened(address, pin.commit, pin.content, folder)


def require_lock(address: GitAddress, environment: Path) -> TemplateRef:
    """What the environment's lock says of the address. ConfigError when it says nothing, or something else."""
    pin = read_lock(environment)
    shown = shown_path(environment)
    remedy = f"akotf template lock {shown}"
    if pin is None:
        raise ConfigError(f"{address} is from git and is not locked", where=shown, remedy=remedy)
    if pin.source != str(address):
        pinned = pin.source or f"{pin.name}@{pin.version}"
        message = f"{LOCK} pins {pinned}, but akotf.yaml asks for {address}"
        raise pin_error(environment, message, f"review the difference, then: {remedy}")
    if not is_commit(pin.commit) or not _CONTENT.fullmatch(pin.content):
        raise pin_error(environment, f"{LOCK} holds no full commit id or no digest", remedy)
    return pin


def pin_error(environment: Path, message: str, remedy: str) -> ConfigError:
    """A fault of `akotf.lock`."""
    position = Position(file=shown_path(environment / LOCK), line=1, column=1)
    finding = Finding(rule="config/pin", message=message, position=position, path="template", remedy=remedy)
    return ConfigError(message, [finding], where=str(position), remedy=remedy)


def moved(address: GitAddress, pin: TemplateRef | None, commit: str) -> str:
    """What to say when a locked tag names another commit now, else ""."""
    if pin is None or pin.source != str(address) or pin.commit == commit:
        return ""
    return f"the tag {address.ref} of {address.place.url} has moved: locked is commit {pin.commit}, it names {commit} now"


def _is_intact(folder: Path, content: str) -> bool:
    try:
        return folder.is_dir() and content_digest(folder) == content
    except (IntegrityError, OSError):
        return False


def _opened(address: GitAddress, commit: str, content: str, folder: Path) -> Template:
    return read_template(folder, content, source=str(address), commit=commit)
