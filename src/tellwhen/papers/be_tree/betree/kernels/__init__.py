"""Kernels of `betree`: match, insert, partition, remove, adjust, lay out."""
