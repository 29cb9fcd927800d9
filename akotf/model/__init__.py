"""Frozen values that move between stages. No I/O, no clock, no randomness here."""
