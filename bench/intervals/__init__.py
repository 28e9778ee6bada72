"""Structures of intervals that are compared with PS-Trees (PS-Tree, Table 3). Only the benchmark uses them."""
