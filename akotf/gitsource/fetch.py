"""Reads a template's files out of a commit: in a limited child, without credentials, hooks, filters or a checkout."""

from __future__ import annotations

import importlib
import importlib.util
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from akotf.errors import AkotfError, ConfigError, IntegrityError, IsolationError, MissingDependency
from akotf.gitsource.address import GitAddress
from akotf.isolation import run_limited
from akotf.model.written import has_half_characters

SECONDS = 120.0
MEMORY = 1024 * 2**20
MAX_FILES, MAX_BYTES = 2000, 32 * 2**20  # of a template
MAX_PACK = 1024 * 2**20  # bytes git may write to one file
_LFS = b"version https://git-lfs.github.com/spec/"
#: What git and ssh need of the caller's environment to reach a host; no credential, no setting of git's.
_KEPT = (
    "PATH",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
)

# No checkout is ever made, so no filter (LFS) and no hook has anything to run on; the settings say it again.
_CONFIG = """\
[core]
	repositoryformatversion = 0
	bare = true
	hooksPath = /dev/null
	fsmonitor = false
	symlinks = false
[credential]
	helper =
[http]
	followRedirects = false
	lowSpeedLimit = 1000
	lowSpeedTime = 30
[protocol]
	version = 2
[transfer]
	fsckObjects = true
[fetch]
	recurseSubmodules = false
[gc]
	auto = 0
[maintenance]
	auto = false
"""


class Fetched(NamedTuple):
    """What a repository holds at a commit, below the template's folder."""

    commit: str
    files: dict[str, bytes]  # relative POSIX path -> content


def resolve(address: GitAddress) -> str:
    """The commit that the address's tag names now (online). ConfigError for a branch or a missing ref."""
    return address.commit or str(_in_child(_resolve, address, ""))


def fetch(address: GitAddress, commit: str) -> Fetched:
    """The template's files at exactly this commit (online).

    ConfigError when the repository can't be reached, has no such commit or folder; IntegrityError for links,
    submodules, LFS pointers and too much; MissingDependency without git or GitPython.
    """
    found = _in_child(_fetch, address, commit)
    return Fetched(found[0], found[1])


def _in_child(function: Any, address: GitAddress, commit: str) -> Any:
    _require_git()
    with tempfile.TemporaryDirectory(prefix="akotf-git-") as folder:
        environment = _environment(address, folder)
        try:
            return run_limited(
                function, (address, commit, folder, environment), seconds=SECONDS, memory=MEMORY
            )
        except IsolationError as error:
            message = f"fetching from {address.place.url} was ended: {error.message}"
            raise ConfigError(message, remedy="check the host, and that the repository is small") from error


def _require_git() -> None:
    if importlib.util.find_spec("git") is None:
        raise MissingDependency(
            "templates from git need GitPython, which is not installed", remedy="pip install 'akotf[git]'"
        )
    if shutil.which("git") is None:
        raise MissingDependency("templates from git need the program git", remedy="install git")


def _environment(address: GitAddress, home: str) -> dict[str, str]:
    """Git's whole environment. `home` is empty: no configuration, no .netrc."""
    scheme = address.place.scheme
    kept = (*_KEPT, "SSH_AUTH_SOCK") if scheme == "ssh" else _KEPT
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "HOME": home, "XDG_CONFIG_HOME": home, "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false", "SSH_ASKPASS": "false",
        "GIT_ALLOW_PROTOCOL": scheme, "GIT_LFS_SKIP_SMUDGE": "1", "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oForwardAgent=no -oClearAllForwardings=yes",
    }  # fmt: skip


def _repository(folder: str, environment: Mapping[str, str]) -> tuple[Any, Any]:
    """GitPython and a new bare repository with our settings. Runs in the child."""
    os.environ.clear()
    os.environ.update(environment)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_PACK, MAX_PACK))
    git = importlib.import_module("git")
    repository = git.Repo.init(folder, bare=True)
    Path(folder, "config").write_text(_CONFIG)
    return git, repository


def _resolve(address: GitAddress, _: str, folder: str, environment: Mapping[str, str]) -> str:
    git, repository = _repository(folder, environment)
    tag, branch = f"refs/tags/{address.ref}", f"refs/heads/{address.ref}"
    try:
        listed = repository.git.ls_remote("--", address.place.url, tag, tag + "^{}", branch)
    except git.exc.GitCommandError as error:
        raise _unreachable(address, error) from None
    refs = {name: commit for commit, _, name in (line.partition("\t") for line in listed.splitlines())}
    if tag in refs:
        return str(refs.get(tag + "^{}", refs[tag]))  # of an annotated tag, the commit that it names
    if branch in refs:
        raise ConfigError(
            f"{address.ref} is a branch of {address.place.url}, which moves",
            remedy=f"name a tag, or the commit that the branch is at: ?ref={refs[branch]}",
        )
    raise ConfigError(
        f"{address.place.url} has no tag {address.ref}",
        remedy="name a tag that is there, or a full commit id",
    )


def _fetch(
    address: GitAddress, commit: str, folder: str, environment: Mapping[str, str]
) -> tuple[str, dict[str, bytes]]:
    git, repository = _repository(folder, environment)
    try:
        repository.git.fetch(
            "--depth=1", "--no-tags", "--no-recurse-submodules", "--", address.place.url, f"{commit}:refs/akotf/it"
        )  # fmt: skip
        found = repository.commit("refs/akotf/it")
    except git.exc.GitCommandError as error:
        raise _unreachable(address, error) from None
    except (ValueError, git.exc.BadName):
        raise ConfigError(
            f"{commit} of {address.place.url} is no commit", remedy="name a tag or a commit"
        ) from None
    if found.hexsha != commit:
        raise IntegrityError(f"{address.place.url} gave commit {found.hexsha} for {commit}")
    tree = found.tree
    for depth, name in enumerate(address.inner, 1):
        tree = next((item for item in tree.trees if item.name == name), None)
        if tree is None:
            inner = "/".join(address.inner[:depth])
            raise ConfigError(
                f"{address.place.url} has no folder {inner} at {address.ref}",
                remedy="mend the path behind '//'",
            )
    files: dict[str, bytes] = {}
    size = 0
    for path, blob in _blobs(tree, ""):
        size += blob.size
        if len(files) >= MAX_FILES or size > MAX_BYTES:
            raise IntegrityError(
                f"the template {address} has more than {MAX_FILES} files or {MAX_BYTES // 2**20} MiB",
                remedy="name the folder of the template behind '//'",
            )
        data = blob.data_stream.read()
        if data.startswith(_LFS):
            raise IntegrityError(
                f"{path} of {address} is kept in LFS", remedy="keep a template's files in git itself"
            )
        files[path] = data
    return found.hexsha, files


def _blobs(tree: Any, base: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The plain files below a tree object. IntegrityError for anything else, and for names that lead elsewhere."""
    for item in tree:
        name = item.path.rpartition("/")[2]
        path = f"{base}{name}"
        strange = "\0" in name or has_half_characters(name)  # these stand for bytes that are not UTF-8
        if name.lower() in ("", ".", "..", ".git") or strange or depth > 32:
            raise IntegrityError(f"{path!r} can't be a file of a template", remedy="rename it")
        if item.type == "tree":
            yield from _blobs(item, f"{path}/", depth + 1)
        elif item.type == "blob" and item.mode in (item.file_mode, item.executable_mode):
            yield path, item
        else:
            kind = "a submodule" if item.type == "submodule" else "a link"
            raise IntegrityError(f"{path} is {kind}", remedy="a template holds plain files only")


def _unreachable(address: GitAddress, error: Any) -> AkotfError:
    """Git's own last words."""
    said = [line.strip() for line in str(error.stderr).splitlines() if line.strip()]
    words = next((line for line in said if "fatal:" in line or "ERROR" in line), said[-1] if said else "")
    words = words.strip("' ").removeprefix("stderr: ").strip("' ")
    return ConfigError(
        f"git can't read {address.place.url}: {words[:300] or f'exit {error.status}'}",
        remedy="check the address, the network and the rights; no credential helper is asked, ssh uses the SSH agent",
    )
