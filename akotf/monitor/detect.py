"""Detection: every class of drift, each by its own detector. Pure: time, readings and memory come in as arguments.

Only the declared side is compared: what the baseline does not say can't drift. A fact that could not be read is no
difference; an agent that can't be reached gives no observation at all.
"""

from __future__ import annotations

from akotf.monitor.baseline import Approved, classify, configuration, disagreements
from akotf.monitor.capacity import capacity
from akotf.monitor.cost import Spending, cost
from akotf.monitor.infrastructure import infrastructure
from akotf.monitor.liveness import Expectation, hang, judgeable, pace_of, steps_per_second
from akotf.monitor.performance import (
    STEP_TIME_TOLERANCE,
    WARM_UP_STEPS,
    against_past,
    follow_trend,
    has_step_time,
    performance,
    stragglers,
    throughput,
)

__all__ = [
    "STEP_TIME_TOLERANCE", "WARM_UP_STEPS", "Approved", "Expectation", "Spending", "against_past", "capacity", "classify",
    "configuration", "cost", "disagreements", "follow_trend", "hang", "has_step_time", "infrastructure", "judgeable", "pace_of",
    "performance", "steps_per_second", "stragglers", "throughput",
]  # fmt: skip
