"""Kernels that encode trees, count satisfied leaves and evaluate encodings."""
