"""Kernels that compiling uses."""
