"""Functions in a child process with limits: what they do to themselves, they don't do to us.

A child is no security boundary against a hostile process of the same user; it bounds time, memory and crashes,
and its answer can only be plain data and akotf's own values.
"""

from akotf.isolation.cores import spread
from akotf.isolation.limited import run_limited

__all__ = ["run_limited", "spread"]
