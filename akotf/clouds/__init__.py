"""clouds."""
