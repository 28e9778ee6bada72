"""Kernels that `pstbloom` and `psthash` share: PS-Trees, records, and the frame of matching."""
