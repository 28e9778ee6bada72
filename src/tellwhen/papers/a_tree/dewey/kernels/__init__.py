"""Kernels that write Dewey IDs and match by them."""
