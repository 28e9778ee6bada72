"""Kernels of `opindex` and `opindex-cnf`: build, match, and the segments of predicate lists."""
