"""Kernels of relaxed matching: write and run the code of parts, and rank slots by the weights of their true parts."""
