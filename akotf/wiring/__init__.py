"""The composition root: the only reader of environment variables, entry points and the clock."""
