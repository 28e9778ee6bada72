"""The arrays of `atree`, drawn.

The *forest* is what changes: a graph with a node for every different predicate (l-node), part of an expression (i-node)
and expression (r-node); a node may be several of these at once. An AND or OR node has *atoms*, the parts that make it
what it is: two nodes with the same operator and the same atoms are one. Its *children* are nodes that together have
just these atoms. They are the atoms themselves, unless some of these are the atoms of a node of the same operator:

    AND {P1 P2 P3 P4}                    its atoms
       ├── AND {P1 P2 P3}                its children: another expression, reused,
       └── P4                            and an atom

From the forest the index is laid out that events are matched with, and that never changes.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.engines.shared.kernels.satisfied import Satisfied
from tellwhen.kernels.arrays import I32, I64, U8, U64, I32Matrix, Stabbing, keeps

FREE = -1
"""In place of the kind of a node (`engines/shared/kernels/tree.py`) that is not in use."""

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
"""Columns of a node: its kind; how many subscriptions and atoms it is; 1 + the highest level of its children, 1 for an
l-node; where its atoms begin, and how many they are, ascending (an l-node has its predicate in ATOMS); its first edges
to children and parents, and the number of the latter; a hash of its atoms; the next nodes in its two chains, and the
one before it in the second. A free node has the next free one in NEXT_EQUAL."""

CHILD, PARENT, NEXT_CHILD, NEXT_PARENT, BEFORE_PARENT, EDGE_COLUMNS = range(6)
"""Columns of an edge: its ends, the next edges of the same parent and of the same child, and the one before the latter.
A free edge has the next free one in NEXT_CHILD."""

NONE = -1
"""In place of a node or an edge."""

NODE_END, FREE_NODE, EDGE_END, FREE_EDGE, ATOM_END, DEAD, NODES, EDGES, WASTE, COUNTERS = range(10)
"""Counters of a forest: where its nodes and edges end, the first free ones before that, where its atoms end, how many
nodes wait to be removed, how many nodes and edges are in use, and how many atoms are of nodes that are gone."""


class Forest(NamedTuple):
    """The graph, while it changes."""

    nodes: I32Matrix  # [nodes, NODE_COLUMNS]
    edges: I32Matrix  # [edges, EDGE_COLUMNS]
    atoms: I32  # |2 5 9|0 5|...    nodes
    leaf: I32  # by predicate: its l-node, or NONE
    equal: I32  # by hash of the atoms: the first node of a chain
    pair: I32  # by hash of the two last atoms: the first node of a chain
    dead: I32  # nodes that wait to be removed
    waiting: U8  # by node: does it wait for its level to be found again?
    queue: I32  # the nodes that wait
    counters: I64


class Growth(NamedTuple):
    """Working arrays while an expression is added."""

    tree: I32Matrix  # [nodes of the expression, columns of a tree]
    roots: I32  # by register: the root of its tree
    node: I32  # by node of the tree: its node in the forest
    members: I32  # the atoms of a node
    children: I32  # and its children
    is_covered: U8  # by atom: is it in a child that was chosen?
    candidates: I32  # nodes that could be children


OTHERS, SLOTS, LINKS, RECORD = range(4)
"""Words of a record: how many others, slots and links it has. They follow, in this order; a link is two words."""

TARGET, GUARD, LINK_WORDS = range(3)
"""Words of a link: an inner node that is worth a look if the owner of the link is true, and a predicate without which
it is not, or NONE."""


class ATreeIndex(NamedTuple):
    """The graph as it was laid out. Predicates are numbered as in the store, inner nodes level by level.

    Some inner nodes are *found*: links lead to them from below. The rest are only *asked*, by ANDs that were found,
    whether they are true. Likewise, some predicates are found by stabbing, and the rest are tested where a node asks.
    """

    stabbing: Stabbing  # whose members are predicates
    record_start: I64  # by predicate, then by inner node: where its record begins in `words`
    words: I32  # |1 2 1|other|slot slot|target guard|...    others: see `kernels/match.py`
    always: I32  # slots of subscriptions that are always true
    level_start: I64  # |0|7|9|    inner nodes of a level, from the second level on
    is_or: U8  # by inner node
    leads: U64  # a bit for every predicate whose record has slots or links
    is_read: U64  # a bit for every inner node whose result another one may look up
    by_domain_start: I64  # by domain: its predicates, where false ones are propagated; else empty
    by_domain: I32


SIGNATURES = 2
"""Signatures of an event: the first marks results that are false, where these are noted, the second true ones."""


@keeps("marks", "groups", "signature")
class ATreeScratch(NamedTuple):
    """Working arrays of a match."""

    found: Satisfied
    marks: U64  # a bit for every inner node that is to be looked at; zero between events
    groups: U64  # a bit for every word of `marks` that is not zero
    leading: I32  # the predicates that are satisfied and lead somewhere
    queue: I32  # the nodes of one level that are to be looked at
    asked: I32  # a stack of nodes that are being asked
    next_other: I64  # and where each goes on
    signature: I64  # by inner node: that of the last event with a result; the last element is the clock
    effort: I64
