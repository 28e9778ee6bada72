"""Kernels of the index package."""
