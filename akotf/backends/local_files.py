"""Files in the folder of a local attempt. Standard library only: the supervisor reads them too."""

from __future__ import annotations

LAUNCH = "launch.json"  # what the supervisor was told to do
CLAIM = "supervisor.json"  # created once: whoever creates it starts the training
PROCESS = "process.json"  # the training's process, on disk before it executes anything
CANCEL = "cancel.json"  # somebody asked to stop
EXIT = "exit.json"  # how it ended, written last
SUPERVISOR_LOG = "supervisor.log"
STREAMS = {"stdout": "stdout.log", "stderr": "stderr.log"}
