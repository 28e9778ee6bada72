"""Compiled loops of `encode`."""
