"""Kernels that find useless nodes by their rank (BE-Tree, section 5).

A node is monitored over a window of operations: insertions, deletions, and events that visit it. At the end of the
window its loss is measured, and its rank is computed from the losses of all nodes below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.arrays import FAILED, FREED, HITS, PASSED, VISITS
from tellwhen.papers.be_tree.betree.kernels.insert import choose_pnode, compute_score
from tellwhen.papers.be_tree.betree.kernels.nodes import compute_capacity
from tellwhen.papers.be_tree.betree.kernels.remove import get_node_above

COUNT_MAX = (1 << 30) - 1
"""Limit of the counts of a window, so that they fit into an int32."""


class NodeMarks(NamedTuple):
    """Marks by c-node: of the c-node, and of its l-node."""

    cnode: NDArray[np.bool_]  # about the c-node with all nodes below
    lnode: NDArray[np.bool_]  # about its l-node alone


@inline
def add_limited(count, counted):
    """Return the sum of two counts, at most COUNT_MAX."""
    return np.int32(min(np.int64(count) + max(counted, 0), COUNT_MAX))


@kernel
def add_counts(nodes, index_cnode, above, counts):
    """Add the counts of matching to the windows of the c-nodes."""
    failed = counts[:, FAILED].copy()
    for n in range(index_cnode.size - 1, -1, -1):  # the nodes below a node have higher numbers
        window = nodes.windows[index_cnode[n]]
        visits = counts[n, VISITS]
        window.visits = add_limited(window.visits, visits)
        window.missed = add_limited(window.missed, visits - counts[n, HITS])
        window.failed = add_limited(window.failed, failed[n])
        window.leaf_visits = add_limited(window.leaf_visits, visits)
        window.leaf_failed = add_limited(window.leaf_failed, counts[n, FAILED])
        if n > 0:
            failed[above[n]] += failed[n]
    nodes.state[0].events += counts[0, VISITS]
    nodes.state[0].matches += counts[:, PASSED].sum()


@kernel
def close_windows(nodes, domain_loss, percent, is_over):
    """Measure the losses of the nodes whose windows are over, mark these nodes, and start their next windows.

    A window is over after a number of operations that is `percent` of the conjunctions of the node. A window without
    visits does not change the loss.
    """
    for c in range(1, nodes.state[0].cnodes):
        node, window = nodes.cnodes[c], nodes.windows[c]
        if node.domain == FREED:
            continue
        if node.count > 0 and 100 * (window.leaf_visits + node.leaf_changes) >= percent * node.count:
            is_over.lnode[c] = True
            if window.leaf_visits > 0:
                window.leaf_loss = window.leaf_failed / window.leaf_visits
            window.leaf_visits = window.leaf_failed = node.leaf_changes = 0
        if 100 * (window.visits + node.changes) >= percent * node.size:
            is_over.cnode[c] = True
            if window.visits > 0:
                window.loss = window.missed / window.visits
                if node.whole < 0:
                    nodes.pnodes[node.pnode].loss = window.failed // window.visits
                    domain_loss[node.domain] = min(window.failed / window.visits / node.size, 1)
            window.visits = window.missed = window.failed = node.changes = 0


@kernel
def change_max_cap(nodes, max_cap):
    """Change max_cap for later divisions, and round up the capacities of all l-nodes to multiples of it."""
    state = nodes.state[0]
    state.max_cap = max_cap
    for c in range(state.cnodes):
        nodes.cnodes[c].capacity = compute_capacity(nodes, nodes.cnodes[c].count)


@inline
def estimate_loss(loss, discarded, visits):
    """Return the loss of a node in its last window or, if this was its first, in the window so far."""
    if loss >= 0.0:
        return np.float64(loss)
    return discarded / visits if visits > 0 else 0.0


@inline
def count_attributes(nodes, c):
    """Return the number of attributes on the path from the root to a c-node."""
    depth = 0
    while nodes.cnodes[c].pnode >= 0:
        depth += 1
        c = nodes.pnodes[nodes.cnodes[c].pnode].parent
    return depth


@kernel
def mark_useless_nodes(nodes, threshold, is_over, useless):
    """Mark those of the nodes `is_over` whose rank is below the threshold, and the l-nodes below them.

    The rank of an l-node is its gain minus its loss. The rank of a c-node is the sum of the ranks of its l-node, of its
    p-nodes and of its halves, minus its loss. A p-node has the rank of its top c-node.
    """
    rank = np.zeros(nodes.state[0].cnodes)
    for c in range(1, rank.size):
        node, window = nodes.cnodes[c], nodes.windows[c]
        if node.domain == FREED:
            continue
        own_rank = -estimate_loss(window.loss, window.missed, window.visits)
        if node.count > 0:
            # Gain: each conjunction has a covered or subsumed predicate for every attribute of the path.
            gain = node.count * count_attributes(nodes, c)
            leaf_rank = gain - estimate_loss(window.leaf_loss, window.leaf_failed, window.leaf_visits)
            useless.lnode[c] = is_over.lnode[c] and leaf_rank < threshold
            own_rank += leaf_rank
        above = np.int64(c)
        while above > 0:
            rank[above] += own_rank
            above = np.int64(get_node_above(nodes, above))
    for c in range(1, rank.size):
        useless.cnode[c] = is_over.cnode[c] and rank[c] < threshold
    for c in range(1, rank.size):
        above = np.int64(c)
        while above > 0 and not useless.cnode[above]:
            above = np.int64(get_node_above(nodes, above))
        useless.lnode[c] |= above > 0


@inline
def has_better_pnode(nodes, conjunctions, predicates, conjunction):
    """Return whether another p-node attracts a conjunction more than a p-node of its path, so that it would move."""
    c = np.int64(conjunctions.node[conjunction])
    while nodes.cnodes[c].pnode >= 0:
        p = nodes.cnodes[c].pnode
        c = np.int64(nodes.pnodes[p].parent)
        best = choose_pnode(nodes, conjunctions, predicates, c, conjunction)
        if compute_score(nodes, best) > compute_score(nodes, p):
            return True
    return False


@kernel
def find_movable(nodes, conjunctions, predicates, numbers, is_movable):
    """Fill `is_movable`: whether each of the conjunctions `numbers`, inserted again, would go below another p-node."""
    for k in range(numbers.size):
        is_movable[k] = has_better_pnode(nodes, conjunctions, predicates, np.int64(numbers[k]))
