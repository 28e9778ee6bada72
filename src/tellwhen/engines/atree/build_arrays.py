"""The arrays that exist only while an index of `atree` is laid out, drawn.

Kernels unpack these bundles (`kernels/handover.py`), so that Numba counts no references to their arrays.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import F64, I32, I64, Flags, I64Matrix


class InnerNodes(NamedTuple):
    """The inner nodes of a forest, numbered level by level."""

    order: I32  # |7 2 9|     nodes of the forest
    number: I32  # by node of the forest: its place in `order`
    chance: F64  # by number: the probability that it is true
    access: I32  # by number: the child that leads to an AND, a node of the forest; NONE for an OR


class Reach(NamedTuple):
    """Working arrays of `mark_found_nodes`."""

    is_found: Flags  # by inner node: do links lead to it?
    is_leaf_found: Flags  # by predicate: must it be found by stabbing?
    asks: F64  # by inner node: how often an event asks it, expected; zero before
    leaf_asks: F64  # by predicate: how often an event asks it, expected; zero before


class FoundNodes(NamedTuple):
    """The nodes that links lead to from below, and the predicates that are stabbed; the rest are only asked."""

    is_found: Flags  # by inner node
    is_stabbed: Flags  # by predicate


class Propagation(NamedTuple):
    """The paths by which the results of nodes reach their parents."""

    on_demand: int  # only the access child leads to an AND; else all children do
    keeps_all: int  # false results too, so that every child is looked up


class Records(NamedTuple):
    """The records of all predicates and inner nodes, as in `ATreeIndex`."""

    sizes: I64Matrix  # [records, RECORD]: the final number of tests, slots and links
    start: I64  # |0|5|9|     record r is words[start[r]:start[r+1]]
    words: I32
