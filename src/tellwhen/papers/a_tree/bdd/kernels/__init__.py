"""Kernels that build a binary decision diagram and match by it."""
