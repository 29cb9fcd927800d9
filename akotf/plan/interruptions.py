"""How often to checkpoint and what interruptions cost: Young, Daly, and the share of time lost.

All times are in seconds. `mtbf` is the mean time between interruptions of the whole run, not of one node.
"""

from __future__ import annotations

from math import sqrt


def young(checkpoint: float, mtbf: float) -> float:
    """Young's optimal time between checkpoints, ``sqrt(2 d M)`` (CACM 17(9), 1974)."""
    return sqrt(2 * checkpoint * mtbf)


def daly(checkpoint: float, mtbf: float) -> float:
    """Daly's higher-order optimum (FGCS 22(3), 2006, equation 37); `mtbf` itself when a checkpoint takes 2 M or more."""
    if checkpoint >= 2 * mtbf:
        return mtbf
    ratio = checkpoint / (2 * mtbf)
    return young(checkpoint, mtbf) * (1 + sqrt(ratio) / 3 + ratio / 9) - checkpoint


def lost_share(interval: float, recovery: float, mtbf: float) -> float:
    """The share of time that interruptions take: recovery and half an interval of repeated work at each.

    Kokolis et al., HPCA 2025 (arXiv:2410.21680): ``N r_f (u0 + dt/2)``. At 1 or more the run never gets on.
    """
    return (recovery + interval / 2) / mtbf
