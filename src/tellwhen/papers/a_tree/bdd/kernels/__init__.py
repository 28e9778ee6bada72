"""The loops of `bdd`."""
