"""Hot loops of relaxed matching."""
