"""Kernels that the tree engines of the A-Tree paper share."""
