"""The arrays of `dewey`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U16, keeps
from tellwhen.papers.a_tree.shared.postings import ChainScratch, LeafPostings

STAR = 1
"""A component of an ID is 2 * number + STAR for the last child of an AND, which the paper marks with an asterisk."""


class DeweyIndex(NamedTuple):
    """A Dewey ID for every leaf: the numbers, from 1, of the nodes on the path from the root to the leaf.

    (a OR b) AND c: a 1.1, b 1.2, c 2*. Levels alternate; the first level has the children of an AND. A root that is not
    an AND is the only child, 1*, of an AND around it.
    """

    posted: LeafPostings  # annotated with the offset of the ID in `ids`; in the order of the IDs
    ids: U16  # |2 1 1|2 1 2|1 2*|   each with its length before it


@keeps("effort")
class DeweyScratch(NamedTuple):
    """Working arrays of a match."""

    chains: ChainScratch  # annotations are offsets in `ids`
    done: I32  # by level, for the AND there that the last ID leads through: its first children up to this one are true
    effort: I64
