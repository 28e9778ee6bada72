"""The arrays of `betree`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64


class BETreeNodes(NamedTuple):
    """A BE-Tree that grows (see kernels/betree_grow.py)."""

    cnodes: I32  # [c-nodes, columns]
    pnodes: I32  # [p-nodes, columns]
    table: I32  # p-node + 1 by c-node and domain
    work: I32
    state: I64


class BETreeIndex(NamedTuple):
    """A BE-Tree that is matched: nodes depth first, node 0 the root."""

    cut_start: I64  # |0|3|3|         cuts of domain L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # a space begins with its cut
    node: I32  # [nodes+1, columns]    see kernels/betree.py
    pdir_domain: I32  # |2 5 9|4|        domains of a node's p-nodes, ascending
    pdir_top: I32  # the nodes they lead to
    words: I32  # |2 17 5 9|0 -6|...    a conjunction: how many predicates, its slot (-1 - slot for one of several), and those
