"""The arrays of `atree`, drawn.

The *forest* is the graph that changes. It has a node for every distinct predicate (l-node), part of an expression
(i-node) and expression (r-node); a node may be several of these at once. An AND or OR node is identified by its
operator and its *atoms*: two nodes with the same operator and the same atoms are one. Its *children* are nodes that
together have exactly these atoms. The children are the atoms themselves, unless a node of the same operator has some
of them as its own atoms:

    AND {P1 P2 P3 P4}                    its atoms
       ├── AND {P1 P2 P3}                its children: another expression, reused,
       └── P4                            and an atom

The index for matching is laid out from the forest, and never changes.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.compile.tree import Tree
from tellwhen.engines.shared.kernels.true_predicates import Satisfied
from tellwhen.kernels.arrays import I32, I64, U8, U64, I32Matrix, Stabbing, keeps

FREE = -1
"""The kind of a node that is not in use; `compile/kernels/tree.py` has the other kinds."""

(
    KIND,
    USES,
    LEVEL,
    ATOMS,
    ATOM_COUNT,
    FIRST_CHILD,
    FIRST_PARENT,
    PARENT_COUNT,
    HASH,
    NEXT_EQUAL,
    NEXT_PAIR,
    BEFORE_PAIR,
    NODE_COLUMNS,
) = range(13)
"""Columns of a node: its kind; how many subscriptions are this node, and how many nodes have it as an atom; 1 + the
highest level of its children, 1 for an l-node; where its atoms begin, and how many there are, ascending (an l-node has
its predicate in ATOMS); its first edges to children and parents, and the number of parents; a hash of its atoms; the
next nodes in its two chains, and the previous node in the second chain. A free node has the next free node in
NEXT_EQUAL."""

CHILD, PARENT, NEXT_CHILD, NEXT_PARENT, BEFORE_PARENT, EDGE_COLUMNS = range(6)
"""Columns of an edge: its two nodes, the next edges of the same parent and of the same child, and the previous edge of
the same child. A free edge has the next free edge in NEXT_CHILD."""

NONE = -1
"""The number of a node or an edge that does not exist."""

NODE_END, FREE_NODE, EDGE_END, FREE_EDGE, ATOM_END, DEAD, NODES, EDGES, WASTE, COUNTERS = range(10)
"""Counters of a forest: where its nodes end, its first free node, where its edges end, its first free edge, where its
atoms end, how many nodes wait to be removed, how many nodes and edges are in use, and how many atoms belong to removed
nodes."""


class Forest(NamedTuple):
    """The graph, which only the writer sees."""

    nodes: I32Matrix  # [nodes, NODE_COLUMNS]
    edges: I32Matrix  # [edges, EDGE_COLUMNS]
    atoms: I32  # |2 5 9|0 5|...    nodes
    leaf: I32  # by predicate: its l-node, or NONE
    equal: I32  # by hash of the atoms: the first node of a chain
    pair: I32  # by hash of the two last atoms: the first node of a chain
    dead: I32  # nodes that wait to be removed
    waiting: U8  # by node: is it in the queue?
    queue: I32  # nodes whose level must be corrected
    counters: I64


class Growth(NamedTuple):
    """Working arrays for adding an expression."""

    tree: Tree  # of the expression
    node: I32  # by node of the tree: its node in the forest
    members: I32  # the atoms of a node
    children: I32  # the children of a node
    is_covered: U8  # by atom: is it in a chosen child?
    candidates: I32  # nodes that could be children


TESTS, SLOTS, LINKS, RECORD = range(4)
"""Words of a record: the numbers of its tests, slots and links, which follow in this order."""

TARGET, GUARD, LINK_WORDS = range(3)
"""Words of a link: the inner node to evaluate if the owner of the link is true, and a predicate without which the inner
node is false, or NONE."""


class ATreeIndex(NamedTuple):
    """The graph laid out for matching. Predicates are numbered as in the store, inner nodes level by level.

    Some inner nodes are *reached*: links lead to them from below. The rest are evaluated *on demand*: only when the
    evaluation of another node needs their result. Likewise, some predicates are found by stabbing, and the rest are
    tested on demand.
    """

    stabbing: Stabbing  # its members are predicates
    record_start: I64  # by predicate, then by inner node: where its record begins in `words`
    words: I32  # |1 2 1|test|slot slot|target guard|...    tests: see `kernels/match.py`
    always: I32  # slots of subscriptions that are always true
    level_start: I64  # |0|7|9|    inner nodes of a level, from the second level on
    is_or: U8  # by inner node
    leads: U64  # a bit for every predicate whose record has slots or links
    is_read: U64  # a bit for every inner node whose result another node may look up
    by_domain_start: I64  # by domain: its predicates, if false results are propagated; else empty
    by_domain: I32


SIGNATURES = 2
"""Signatures per event: the first marks false results, if these are noted, and the second true results."""


@keeps("marks", "groups", "signature")
class ATreeScratch(NamedTuple):
    """Working arrays of a match."""

    found: Satisfied
    marks: U64  # a bit for every queued inner node; zero between events
    groups: U64  # a bit for every word of `marks` that is not zero
    leading: I32  # the satisfied predicates whose record has slots or links
    queue: I32  # the queued nodes of one level
    node_stack: I32  # a stack of nodes that are being evaluated on demand
    next_test: I64  # by entry of the stack: the next of its tests
    signature: I64  # by inner node: the signature of its last result; the last element is the clock
    effort: I64
