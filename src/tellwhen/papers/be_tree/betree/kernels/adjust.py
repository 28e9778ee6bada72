"""Which nodes are not worth what they cost? Rank, gain and loss (BE-Tree, section 5)."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.arrays import FREED

MAX_LOSS = 1e9
"""A p-node's loss is at most this, so that it fits into an int32."""


@inline
def depth_of(nodes, c):
    """The number of attributes on the path from the root to a c-node."""
    depth = 0
    while nodes.cnodes[c].pnode >= 0:
        depth += 1
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent
    return depth


@kernel
def judge(nodes, window, threshold, is_unfit_cnode, is_unfit_pnode):
    """Mark the l-nodes and p-nodes whose window is over and whose rank is below the threshold; new windows begin.

    A window is over after a number of events that is `window` percent of the conjunctions.
    """
    state = nodes.state[0]
    rank, loss, visits = np.zeros(state.pnodes), np.zeros(state.pnodes), np.zeros(state.pnodes, dtype=np.int64)
    for c in range(1, state.cnodes):
        node = nodes.cnodes[c]
        if node.domain == FREED:
            continue
        node_loss = node.failed / node.visits if node.visits > 0 else 0.0
        # Gain: each conjunction has a predicate, covered or subsumed, for every attribute of the path.
        node_rank = node.count * depth_of(nodes, c) - node_loss
        p = node.pnode
        while p >= 0:
            rank[p] += node_rank
            loss[p] += node_loss
            visits[p] = max(visits[p], node.visits)
            p = nodes.cnodes[nodes.pnodes[p].parent].pnode
        if node.count > 0 and node.visits > 0 and 100 * node.visits >= window * node.count:
            is_unfit_cnode[c] = node_rank < threshold
            node.visits = node.failed = 0
    for p in range(state.pnodes):
        pnode = nodes.pnodes[p]
        if pnode.parent >= 0 and visits[p] > 0:
            if 100 * visits[p] >= window * nodes.cnodes[pnode.top].size:
                is_unfit_pnode[p] = rank[p] < threshold
            pnode.loss = np.int32(min(loss[p], MAX_LOSS))
