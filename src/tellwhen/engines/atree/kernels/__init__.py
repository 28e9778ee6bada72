"""The hot loops."""
