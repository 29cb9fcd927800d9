"""Young, Daly and the effective training time ratio against published figures."""

from __future__ import annotations

import pytest

from akotf.plan.interruptions import daly, lost_share, young

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


@pytest.mark.parametrize(
    ("mtbf", "published", "exact", "by_young"),
    [(24 * HOUR, 117, 116.69, 120), (6 * HOUR, 57, 56.71, 60), (15 * MINUTE, 9.1, 9.14, 12.25)],
)
def test_optimal_intervals_of_daly(mtbf: float, published: float, exact: float, by_young: float) -> None:
    """Daly 2006: a checkpoint of 5 minutes; table of optimal intervals in minutes."""
    assert daly(5 * MINUTE, mtbf) / MINUTE == pytest.approx(published, rel=0.006)
    assert daly(5 * MINUTE, mtbf) / MINUTE == pytest.approx(exact, abs=0.005)
    assert young(5 * MINUTE, mtbf) / MINUTE == pytest.approx(by_young, abs=0.005)


def test_daly_with_checkpoints_longer_than_the_time_between_failures() -> None:
    assert daly(200, 100) == 100
    assert daly(201, 100) == 100


def cluster(gpus: int, failures: float) -> float:
    """Mean time between failures of a run on so many GPUs; `failures` per node of 8 and day."""
    return DAY / (gpus / 8 * failures)


RSC1, RSC2, LLAMA3 = 6.50e-3, 2.34e-3, 3.789e-3


def effective_ratio(checkpoint: float, interval: float, recovery: float, mtbf: float) -> float:
    """``E[ETTR] = (1 - N r_f (u0 + dt/2)) / (1 + w/dt)`` of Kokolis et al., w the time a checkpoint blocks training."""
    return (1 - lost_share(interval, recovery, mtbf)) / (1 + checkpoint / interval)


@pytest.mark.parametrize(
    ("gpus", "failures", "interval", "restart", "published"),
    [
        (16_000, RSC1, 60, 5, 0.7), (16_000, RSC1, 5, 5, 0.93), (8_000, RSC1, 30, 6, 0.9),
        (100_000, RSC2, 2, 2, 0.94), (100_000, RSC1, 7, 5, 0.5),
    ],
)  # fmt: skip
def test_effective_ratio_of_the_meta_clusters(
    gpus: int, failures: float, interval: float, restart: float, published: float
) -> None:
    """Kokolis et al., HPCA 2025, figures of section 5 (checkpoints written for free; minutes)."""
    ratio = effective_ratio(0, interval * MINUTE, restart * MINUTE, cluster(gpus, failures))
    assert ratio == pytest.approx(published, abs=0.025)


def test_effective_ratio_at_the_rate_of_llama_3() -> None:
    """419 unexpected interruptions in 54 days on 16,384 GPUs; 10 s to save, 10 min to restart, every 7.87 min."""
    mtbf = cluster(16_384, LLAMA3)
    assert mtbf / HOUR == pytest.approx(3.093, abs=0.002)
    assert young(10, mtbf) / MINUTE == pytest.approx(7.87, abs=0.01)
    assert effective_ratio(10, young(10, mtbf), 10 * MINUTE, mtbf) == pytest.approx(0.9057, abs=0.0005)


def test_a_run_that_never_gets_on() -> None:
    assert lost_share(interval=100, recovery=60, mtbf=100) > 1
