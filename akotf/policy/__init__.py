"""Policy as data: rules in CEL, judged in a limited child at four points of the pass."""
