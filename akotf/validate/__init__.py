"""Stage validate: cross-checks of a desired state. Findings only; nothing is changed."""
