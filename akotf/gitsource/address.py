"""Addresses of templates in git, `git+URL//path?ref=TAG`: parsed strictly, so that what is allowed is what is fetched."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from akotf.errors import ConfigError

SCHEMES = ("https", "ssh", "file")
FORM = "git+https://HOST/ORG/REPO//PATH?ref=TAG"
_SEGMENT = re.compile(r"[A-Za-z0-9_.~+@][A-Za-z0-9_.~+@-]*")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PORTS = {"https": 443, "ssh": 22}


@dataclass(frozen=True)
class Place:
    """Where a repository, or everything below a prefix, is."""

    scheme: str  # https | ssh | file
    user: str  # of ssh; "" for the others
    host: str
    port: int | None
    path: tuple[str, ...]

    @property
    def url(self) -> str:
        """What git is given."""
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port is not None else ""
        return f"{self.scheme}://{user}{self.host}{port}/{'/'.join(self.path)}"

    def covers(self, other: Place) -> bool:
        """Whether `other` is this place or below it, by whole path segments. Links of local paths are followed first."""
        if (self.scheme, self.host) != (other.scheme, other.host) or self.user not in ("", other.user):
            return False
        if (self.port or _PORTS.get(self.scheme)) != (other.port or _PORTS.get(other.scheme)):
            return False
        mine, theirs = self.path, other.path
        if self.scheme == "file":
            mine, theirs = _real(mine), _real(theirs)
        return theirs[: len(mine)] == mine


@dataclass(frozen=True)
class GitAddress:
    """A template in git."""

    place: Place  # of the repository
    inner: tuple[str, ...]  # the template's folder in it
    ref: str  # a tag, or a full commit id

    @property
    def commit(self) -> str:
        """The commit id when `ref` is one, else ""."""
        return self.ref if _COMMIT.fullmatch(self.ref) else ""

    def __str__(self) -> str:
        inner = f"//{'/'.join(self.inner)}" if self.inner else ""
        return f"git+{self.place.url}{inner}?ref={self.ref}"


def is_git(reference: str) -> bool:
    """Whether a template reference means git."""
    return reference.startswith("git+")


def is_commit(text: str) -> bool:
    """Whether the text is a full commit id."""
    return _COMMIT.fullmatch(text) is not None


def parse_address(reference: str) -> GitAddress:
    """The parts of `git+URL//path?ref=TAG`. ConfigError for anything else; a credential in it is never repeated."""
    split = _split(reference.removeprefix("git+"))
    query = split.query.split("&") if split.query else []
    if [part.partition("=")[0] for part in query] != ["ref"] or split.fragment:
        raise _fault("needs ?ref=TAG and nothing else behind it", f"write {FORM}")
    ref = query[0].partition("=")[2]
    if ref.startswith("-"):
        raise _fault("has a ref that starts with '-'", "name a tag or a full commit id")
    if not _REF.fullmatch(ref) or ".." in ref or "//" in ref or ref.endswith(("/", ".", ".lock")):
        raise _fault("has a ref that git does not take", "name a tag or a full commit id")
    repository, _, inner = split.path.removeprefix("/").partition("//")
    place = _place(split, repository)
    if not place.path:
        raise _fault("names no repository", f"write {FORM}")
    return GitAddress(place, _segments(inner), ref)


def parse_prefix(text: str) -> Place:
    """A URL prefix of `sources.yaml`, such as `https://git.example.com/platform`. ConfigError for anything else."""
    split = _split(text.removeprefix("git+"))
    if split.query or split.fragment:
        raise _fault("has a query", "write scheme, host and path only")
    return _place(split, split.path.removeprefix("/").rstrip("/"))


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(url)
        scheme, port = split.scheme, split.port
    except ValueError as error:
        raise _fault("is not a URL", f"write {FORM}") from error
    if scheme not in SCHEMES:
        remedy = f"write git+https://, git+ssh:// or git+file://, such as {FORM}"
        raise _fault(f"uses {scheme or 'no scheme'}, which is not allowed", remedy)
    if split.password is not None or (split.username is not None and scheme != "ssh"):
        remedy = "remove it; a private repository is reached by git+ssh:// and an SSH agent"
        raise _fault("holds a credential", remedy)
    if (scheme == "file") != (not split.netloc):
        raise _fault("needs a host" if scheme != "file" else "names a host", "git+file:///absolute/path//...")
    if port == 0:
        raise _fault("has port 0", "remove it")
    return split


def _place(split: SplitResult, path: str) -> Place:
    host, user = split.hostname or "", split.username or ""
    if (host and (not _HOST.fullmatch(host) or ".." in host)) or (user and not _SEGMENT.fullmatch(user)):
        raise _fault("has a host that can't be one", f"write {FORM}")
    return Place(split.scheme, user, host, split.port, _segments(path))


def _segments(path: str) -> tuple[str, ...]:
    parts = tuple(path.split("/")) if path else ()
    for part in parts:
        if not _SEGMENT.fullmatch(part) or part in (".", ".."):
            message = "has a path with '..', an escape, an empty part or a part that starts with '-'"
            raise _fault(message, "write plain names between the slashes")
    return parts


def _real(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in os.path.realpath("/" + "/".join(path)).split("/") if part)


def _fault(message: str, remedy: str) -> ConfigError:
    return ConfigError(f"the address of the git template {message}", remedy=remedy)
