"""Scripts of the user's own against drift: started with what drifted on stdin, bounded in time, recorded."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

from akotf.errors import AkotfError
from akotf.model.drift import Decision
from akotf.pipeline.live import Live
from akotf.pipeline.session import Session

#: Seconds until a script is killed, with all that it started in its process group.
TIME_LIMIT = 60.0


def run_remedy(s: Session, live: Live, decision: Decision) -> int | None:
    """Run the script that a decision names; its exit code, None when it was killed for taking too long.

    The script gets the decision as JSON on stdin, none of our variables but PATH and LANG, and the environment folder as
    its working directory; what it prints is not kept. Digest, exit code and time stand in the journal. AkotfError when
    there is no such script in the folder, or the system can't start it.
    """
    path = _script(s.layout.environment, decision.hook)
    body = {
        "script": decision.hook, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "drifts": [d.to_json() for d in decision.drifts], "of_attempt": live.request.attempt,
    }  # fmt: skip
    s.journal.append("remedy.intent", body, environment=live.run.environment, subject=live.run.id)
    asked = {
        "schema": 1,
        "run": live.run.id,
        "node_directory": str(live.node_directory),
        **decision.to_json(),
    }
    begin = s.clock.now()
    code = _run(path, s.layout.environment, json.dumps(asked, ensure_ascii=False).encode())
    s.journal.append(
        "remedy.done", {**body, "exit_code": code, "seconds": round(s.clock.now() - begin, 3)},
        environment=live.run.environment, subject=live.run.id,
    )  # fmt: skip
    said = f"ended with exit code {code}" if code is not None else f"was killed after {TIME_LIMIT:g} s"
    s.emit("note", f"{decision.hook} for {', '.join(d.field for d in decision.drifts)} {said}")
    return code


def _script(folder: Path, name: str) -> Path:
    """The script, which must lie in the environment folder by its real path."""
    path = (folder / name).resolve()
    if path.is_relative_to(folder.resolve()) and path.is_file() and os.access(path, os.X_OK):
        return path
    raise AkotfError(
        f"monitor.remedies names {name!r}, and there is no such executable file in the environment folder",
        where=str(path), remedy="name a script inside the folder, and make it executable",
    )  # fmt: skip


def _run(path: Path, folder: Path, given: bytes) -> int | None:
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
    try:
        process = subprocess.Popen(
            [str(path)], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise AkotfError(
            f"the script can't be started: {error}",
            where=str(path),
            remedy="give it a #! line that exists here",
        ) from error
    with process:
        try:
            process.communicate(given, timeout=TIME_LIMIT)
        except BaseException as error:
            if process.returncode is None:  # when we are interrupted, too: nobody would watch it
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return None
            raise
    return process.returncode
