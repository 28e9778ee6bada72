"""Compiled loops of `compile`."""
