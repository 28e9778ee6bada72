"""Measurements behind the numbers in the documents: `python -m bench`."""
