"""The loops of `intervalid`."""
