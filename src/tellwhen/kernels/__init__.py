"""Kernels that several packages share: compiled functions of arrays, without text, types or Python objects."""
