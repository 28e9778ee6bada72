"""The loops of `atree`."""
