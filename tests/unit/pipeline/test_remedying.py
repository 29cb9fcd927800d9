"""A script of the user's own does not outlive who started it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from akotf.pipeline import remedying


def test_an_interrupt_ends_the_script_too(tmp_path: Path) -> None:
    script, told = tmp_path / "remedy.sh", tmp_path / "pid"
    script.write_text(f"#!/bin/sh\necho $$ > {told}.new\nmv {told}.new {told}\nexec sleep 60\n")
    script.chmod(0o755)

    def interrupt() -> None:
        while not told.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            remedying._run(script, tmp_path, b"{}")
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
