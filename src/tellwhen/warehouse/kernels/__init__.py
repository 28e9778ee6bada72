"""Kernels that placing and routing use."""
