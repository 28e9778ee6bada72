"""Kernels that write interval IDs and match by them."""
