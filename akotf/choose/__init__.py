"""The choice among candidates, with the reason against each loser: pure and deterministic."""
