"""How often to checkpoint and what interruptions cost: Young, Daly, and the effective training time ratio.

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


def effective_ratio(checkpoint: float, interval: float, recovery: float, mtbf: float) -> float:
    """Expected effective training time ratio of the same paper, never below 0.

    ``E[ETTR] = (1 - N r_f (u0 + dt/2)) / (1 + w/dt)``, with w the time a checkpoint blocks training.
    """
    return max(0.0, 1 - lost_share(interval, recovery, mtbf)) / (1 + checkpoint / interval)
