"""Clouds: the price book of their GPU machines."""
