"""The arrays of `bdd`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.compile.tree import Tree
from tellwhen.engines.shared.kernels.true_predicates import Satisfied
from tellwhen.kernels.arrays import I32, I64, U8, U64, I32Matrix, Stabbing, keeps

FALSE, TRUE, TERMINALS = 0, 1, 2
"""The two nodes without children, and their number."""

LISTED = -1
"""In place of the root of an expression whose diagram is over budget; its program runs on every event."""


class Nodes(NamedTuple):
    """A reduced, ordered binary decision diagram with many roots; every node tests a predicate.

    The predicates on every path descend, no two nodes are equal, and low[n] != high[n]. Children come before their
    parents. For (0 OR 1) AND 2, where the last node is the root:
    """

    predicate: I32  # |-1|-1|0|1|2|    -1 for FALSE and TRUE
    low: I32  # | 0| 1|0|2|0|    the child when the predicate is false
    high: I32  # | 0| 1|1|1|3|    the child when the predicate is true


class Tables(NamedTuple):
    """The unique table, the cache and the counters of a diagram in construction. Both lengths are powers of two."""

    unique: I32  # nodes by the hash of predicate, low and high; 0 for an empty place
    cache: I32Matrix  # |5 9 12|9 5 14|    5 AND 9 is 12, 5 OR 9 is 14: an OR has its larger operand first
    state: I64  # |count|count_max|steps|    see below


COUNT, COUNT_MAX, STEPS, STATE_WORDS = range(4)
"""Words of `Tables.state`: the number of nodes, its limit, and the steps that `combine` may still take."""

FIRST, SECOND, RESULT, CACHE_COLUMNS = range(4)
"""Columns of `Tables.cache`."""


class Workspace(NamedTuple):
    """Working arrays to build one expression: its tree, the diagram of each tree node, and the stack of `combine`."""

    tree: Tree  # of the expression
    function: I32  # by node of the tree: its node in the diagram
    parts: I32  # the children of one node of the tree, as nodes of the diagram
    frames: I32Matrix  # the stack of `combine`: pairs of nodes, the outermost first


class Upward(NamedTuple):
    """The diagram from below: a record of the parents of each node, at an even offset.

    A node is true if its low child is true, or if its high child and its predicate are true. `needs` is the predicate
    that a parent needs besides the node: -1 if the node is its low child. Empty if matching walks down from the roots.
    """

    seed_start: I64  # |0|1|1|3|    seeds of predicate p are seeds[seed_start[p]:seed_start[p+1]]
    seeds: I32  # |0|6|8|    records of nodes whose high child is TRUE: their predicate alone makes them true
    records: I32  # |root, parents, (record, needs), ...|...|    root is the index of the node in `roots`, or -1


ROOT, PARENTS, RECORD_HEADER = range(3)
"""Words of a record, before its parents."""


class BDDIndex(NamedTuple):
    """The diagram and the slots at its roots."""

    nodes: Nodes
    upward: Upward
    roots: I32  # |3|4|    the nodes that are roots, ascending
    slot_start: I64  # |0|1|3|    slots of root r are slots[slot_start[r]:slot_start[r+1]]: equal functions share a root
    slots: I32
    always: I32  # slots whose function is TRUE
    listed: I32  # slots over budget: their programs are run
    stabbing: Stabbing  # its members are the predicates of all nodes and of the programs that are run


@keeps("is_reached")
class BDDScratch(NamedTuple):
    """Working arrays of a match."""

    found: Satisfied
    is_reached: U64  # a bit for every two words of `records`; zero between events
    reached: I32  # halves of the offsets of the records of true nodes
    roots: I32  # true roots
    registers: U8
    effort: I64
