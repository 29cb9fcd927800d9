"""Leases: who may change a deployment now."""

from __future__ import annotations

from akotf.model.base import Frozen


class Lease(Frozen):
    """A lease of one operation. Times are Unix seconds; writes under it are fenced by `token`."""

    key: str  # deployment or environment id
    token: str
    holder: str  # user
    host: str
    pid: int
    pid_start: str = ""  # start time of the process, to tell a reused pid
    boot_id: str = ""
    operation: str  # apply | destroy | heal | ...
    since: float
    expires: float
