"""The arrays of `dewey`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U16, keeps
from tellwhen.papers.a_tree.shared.postings import Posted, PostedScratch

STAR = 1
"""A component of an ID is 2 * number + STAR for the last child of an AND, which is written with an asterisk."""


class DeweyIndex(NamedTuple):
    """Every leaf has a Dewey ID: the numbers, from 1, of the nodes on the way from the root to it.

    (a OR b) AND c: a 1.1, b 1.2, c 2*. Levels alternate, the first one has the children of an AND: if the root is none,
    it is the only child, 1*, of an AND around it.
    """

    posted: Posted  # annotated with where the ID is in `ids`; in the order of the IDs
    ids: U16  # |2 1 1|2 1 2|1 2*|   each with its length before it


@keeps("last", "effort")
class DeweyScratch(NamedTuple):
    """Working arrays of a match."""

    posted: PostedScratch
    last: I32  # by expression: the last link of its chain; zero between events
    chain: I32  # |annotation, link before|   of all expressions, from link 1 on
    leaves: I32  # where the IDs of one expression are
    done: I32  # by level, for that AND which the last ID leads through: its first children up to this number are true
    effort: I64
