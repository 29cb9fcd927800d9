"""What has to be kept out of what a run leaves: the values of its secrets, as far as they can be known here."""

from __future__ import annotations

from akotf.errors import MissingDependency, SecretError
from akotf.facts import node, process
from akotf.pipeline.live import Live
from akotf.pipeline.session import Session


def secret_values(s: Session, live: Live) -> tuple[tuple[bytes, ...], str]:
    """The values of the run's secrets, and why some are not known ("" when all are).

    What this process gave out, what the live process has in its environment (a value may have been rotated since), and
    what the references give now.
    """
    wanted = set(live.request.secrets)
    if not wanted:
        return s.secrets.known(), ""
    running = _of_the_process(live)
    missing = {name: live.state.run.secrets[name] for name in sorted(wanted - running.keys())}
    why = ""
    try:
        s.secrets.resolve(missing)
    except (SecretError, MissingDependency) as error:
        why = error.message
    return tuple(dict.fromkeys((*s.secrets.known(), *running.values()))), why


def _of_the_process(live: Live) -> dict[str, bytes]:
    """By variable, from the attempt's own process on this machine; {} when it is over or may not be looked at."""
    try:
        found = node.living(live.node_directory)
        if found is None or (found.run, found.attempt) != (live.run.id, live.request.attempt):
            return {}
        environment = process.environ(found.pid)
    except (OSError, ValueError):
        return {}
    if environment.get("AKOTF_RUN_ID") != live.run.id:
        return {}  # just being started: what it has is still its parent's
    return {
        name: environment[name].encode("utf-8", "surrogateescape")
        for name in live.request.secrets
        if environment.get(name)
    }
