"""The loops of `bop`."""
