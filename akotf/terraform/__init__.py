"""terraform."""
