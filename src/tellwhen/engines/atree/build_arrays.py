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
    """The state of `mark_reached_nodes`: its input and output flags, and the estimated work on demand."""

    is_reached: Flags  # by inner node: do links lead to it?
    is_leaf_stabbed: Flags  # by predicate: must the stabbing index find it?
    evaluations: F64  # by inner node: expected evaluations on demand per event; zero before
    leaf_tests: F64  # by predicate: expected tests on demand per event; zero before


class EvaluationPlan(NamedTuple):
    """The inner nodes that links lead to, and the predicates that are stabbed; the rest are evaluated on demand."""

    is_reached: Flags  # by inner node
    is_stabbed: Flags  # by predicate


class Propagation(NamedTuple):
    """The paths by which the results of nodes reach their parents."""

    on_demand: int  # only the access child leads to an AND; else all children do
    keeps_all: int  # false results too, so that every child is looked up


class Records(NamedTuple):
    """The tests, slots and links of all predicates and inner nodes; `words` becomes `ATreeIndex.words`."""

    sizes: I64Matrix  # [records, RECORD]: the final number of tests, slots and links
    start: I64  # |0|5|9|     record r is words[start[r]:start[r+1]]
    words: I32
