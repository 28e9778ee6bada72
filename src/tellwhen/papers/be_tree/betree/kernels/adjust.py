"""The kernel that finds useless nodes by their rank: gain minus loss (BE-Tree, section 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.arrays import FREED

LOSS_MAX = 1e9
"""Limit of the loss of a p-node, so that it fits into an int32."""


class UselessMarks(NamedTuple):
    """Marks of the nodes that are to be recycled: useless l-nodes and p-nodes."""

    cnode: NDArray[np.bool_]  # by c-node: whether its l-node is useless
    pnode: NDArray[np.bool_]  # by p-node


@inline
def count_attributes(nodes, c):
    """Return the number of attributes on the path from the root to a c-node."""
    depth = 0
    while nodes.cnodes[c].pnode >= 0:
        depth += 1
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent
    return depth


@kernel
def mark_useless_nodes(nodes, window, threshold, useless):
    """Mark the l-nodes and p-nodes whose window is over and whose rank is below the threshold; start new windows.

    A window is over after a number of events that is `window` percent of the conjunctions.
    """
    state = nodes.state[0]
    rank, loss, visits = np.zeros(state.pnodes), np.zeros(state.pnodes), np.zeros(state.pnodes, dtype=np.int64)
    for c in range(1, state.cnodes):
        node = nodes.cnodes[c]
        if node.domain == FREED:
            continue
        node_loss = node.failed / node.visits if node.visits > 0 else 0.0
        # Gain: each conjunction has a covered or subsumed predicate for every attribute of the path.
        node_rank = node.count * count_attributes(nodes, c) - node_loss
        p = node.pnode
        while p >= 0:
            rank[p] += node_rank
            loss[p] += node_loss
            visits[p] = max(visits[p], node.visits)
            p = nodes.cnodes[nodes.pnodes[p].parent].pnode
        if node.count > 0 and node.visits > 0 and 100 * node.visits >= window * node.count:
            useless.cnode[c] = node_rank < threshold
            node.visits = node.failed = 0
    for p in range(state.pnodes):
        pnode = nodes.pnodes[p]
        if pnode.parent >= 0 and visits[p] > 0:
            if 100 * visits[p] >= window * nodes.cnodes[pnode.top].size:
                useless.pnode[p] = rank[p] < threshold
            pnode.loss = np.int32(min(loss[p], LOSS_MAX))
