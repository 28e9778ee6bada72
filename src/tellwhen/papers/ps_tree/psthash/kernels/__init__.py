"""Kernels of `psthash`: match, and the keys of its hash table."""
