"""The loops of `cover`."""
