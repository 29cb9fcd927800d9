"""What torchrun starts on each of several processes: the approved command, taken from the launch file.

torchrun's own command line must not carry it: argparse drops a word `--` that follows the program, and takes a word such
as `--n` for an option of its own (PyTorch 2.13, Python 3.11: tried). Standard library only; it becomes the command.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main(launch_file: str) -> None:
    """Execute the command of a launch file, found on the PATH of this process's own environment."""
    command = json.loads(Path(launch_file).read_bytes())["command"]
    words = [word.encode("utf-8", "surrogateescape") for word in command]
    os.execvpe(words[0], words, os.environb)  # noqa: S606 - opaque words, no shell


if __name__ == "__main__":
    main(sys.argv[1])
