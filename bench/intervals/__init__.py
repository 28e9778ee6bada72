"""Structures of intervals, compared with PS-Trees (PS-Tree, Table 3). Only the benchmark uses them."""
