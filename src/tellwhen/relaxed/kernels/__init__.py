"""Kernels of relaxed matching: write the code of parts, and rank the slots with a true part."""
