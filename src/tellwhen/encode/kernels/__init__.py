"""Kernels that encoding uses."""
