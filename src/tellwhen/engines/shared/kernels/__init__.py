"""Kernels that several engines share and that no lower package needs."""
