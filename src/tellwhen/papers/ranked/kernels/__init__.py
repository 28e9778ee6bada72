"""Kernels of the scored structures: one file builds or walks one structure; `cursors.py` handles all of them."""
