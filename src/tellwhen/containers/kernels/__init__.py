"""Kernels of the containers."""
