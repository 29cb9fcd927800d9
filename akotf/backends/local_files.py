"""Files in the folder of a local attempt. Standard library only: the supervisor reads them too."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

LAUNCH = "launch.json"  # what the supervisor was told to do
CLAIM = "supervisor.json"  # created once: whoever creates it starts the training
PROCESS = "process.json"  # the training's process, on disk before it executes anything
CANCEL = "cancel.json"  # somebody asked to stop
EXIT = "exit.json"  # how it ended, written last
SUPERVISOR_LOG = "supervisor.log"
STREAMS = {"stdout": "stdout.log", "stderr": "stderr.log"}


def forget_secrets(files: Mapping[str, str]) -> None:
    """Remove the files that secrets are handed over in, by variable, and their folders once they are empty."""
    for path in map(Path, files.values()):
        with contextlib.suppress(OSError):  # gone already
            path.unlink()
        with contextlib.suppress(OSError):  # gone already, or another is still there
            path.parent.rmdir()
