"""The whole Terraform root of a deployment, in memory."""

from __future__ import annotations

from pathlib import Path

from akotf.errors import ConfigError
from akotf.model.config import DesiredState
from akotf.model.plan import Candidate
from akotf.model.tfplan import Deployment
from akotf.model.tree import FileTree
from akotf.render.hcl import local_backend
from akotf.render.provider import INTERPRETER_FILE, LAUNCHER, launcher_paths
from akotf.render.template import static_root, vendored_modules
from akotf.render.values import FILE, encode, refuse_altered, values

#: The one file of HCL that is generated: where the state lies.
BACKEND = "backend.tf"


def render(
    state: DesiredState, candidate: Candidate, deployment: Deployment, *, node_directory: Path, state_path: Path,
    interpreter: str, selection_digest: str, baseline_digest: str, approval: str = "",
) -> FileTree:  # fmt: skip
    """Everything below a deployment's root: equal arguments and template, equal bytes.

    `interpreter` is the absolute path of the Python that has akotf: the provider runs in it. `approval` is the digest
    of what was approved, empty before that. ConfigError when the template has no root for the candidate's provider.
    """
    _check_paths(node_directory, state_path, interpreter)
    root = static_root(state, candidate)
    if BACKEND in root:
        raise ConfigError(
            "a template must not choose the state backend", where=str(state.template_folder / "terraform"),
            remedy=f"remove {BACKEND}: akotf writes it",
        )  # fmt: skip
    digests = {"baseline": baseline_digest, "selection": selection_digest, "approval": approval}
    found = values(state, candidate, deployment, node_directory=node_directory, digests=digests)
    launchers = launcher_paths()
    files = {
        **root,
        **vendored_modules(state, root),
        BACKEND: local_backend(state_path).encode(),
        FILE: encode(found),
        INTERPRETER_FILE: f"{interpreter}\n".encode(),
        **dict.fromkeys(launchers, LAUNCHER),
    }
    return FileTree(files, frozenset(launchers))


def _check_paths(node_directory: Path, state_path: Path, interpreter: str) -> None:
    paths = {
        "node_directory": str(node_directory), "state_path": str(state_path), "interpreter": interpreter,
    }  # fmt: skip
    refuse_altered(paths)
    relative = [f"{name} = {path}" for name, path in paths.items() if not path.startswith("/")]
    if relative or "\n" in interpreter:
        raise ConfigError(
            "these paths must be absolute, on one line: " + ", ".join(relative or [repr(interpreter)]),
            remedy="start akotf with the absolute path of its Python",
        )
