"""The loops of `dewey`."""
