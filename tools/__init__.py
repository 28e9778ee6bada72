"""Checks of the source that `make lint` runs."""
