"""The arrays of `bop`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U8, U16, keeps
from tellwhen.papers.a_tree.shared.postings import LeafPostings, LeafScratch

CONJUNCTION_CODE, DISJUNCTION_CODE, LEAF_CODE = 1, 2, 4
"""First number of a node in an encoding (A-Tree, figure 2)."""


class BoPIndex(NamedTuple):
    """A minimum of satisfied leaves for every expression, and an encoding for every tree.

    A group is encoded as its kind and the number of its children, which follow; a leaf as LEAF_CODE and its predicate.
    Numbers have 7 bits to a byte, the lowest first, and the top bit where more bytes follow (LEB128).
    """

    posted: LeafPostings  # without annotations; an expression is in a list as often as it has leaves with the predicate
    minimum: U16  # |2|1|                    by expression: with fewer leaves it is false; 1 where its code decides
    start: I64  # |0|8|10|                 by tree: its encoding is bytes start[x]:start[x+1]
    encoding: U8  # |1 2 2 2 4 5 4 6 ...|    (5 OR 6) AND ...


@keeps("counts", "effort")
class BoPScratch(NamedTuple):
    """Working arrays of a match."""

    leaf: LeafScratch
    counts: I32  # by expression: satisfied leaves; zero between events
    group: U8  # by level of one expression: the kind of the open group
    left: I32  # by level: children of that group whose values are not known yet
    effort: I64
