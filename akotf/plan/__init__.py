"""From frozen inputs to candidates: pure and deterministic, so that a replay gives the same bytes."""

#: Changes whenever the same inputs would give other figures; stands in the provenance.
PLANNER_VERSION = "1"
