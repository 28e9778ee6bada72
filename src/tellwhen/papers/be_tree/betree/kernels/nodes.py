"""Functions that find, create, fill and free the nodes of a growing tree, for all kernels that change it.

Callers convert the number of a c-node to int64 before they pass it, so that each function is compiled for one type.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.be_tree.betree.arrays import FREED

# finding


@inline
def find_table_position(nodes, cnode, domain):
    """Return the position in the table of a c-node's p-node on a domain, or the empty position for it."""
    table, pnodes = nodes.table, nodes.pnodes
    mask = table.size - 1
    key = np.uint64(cnode) << np.uint64(32) | np.uint64(domain)
    at = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    # The element of a freed p-node stays until the table is filled again. It is skipped: the p-node has no parent.
    while table[at] != 0 and (pnodes[table[at] - 1].parent != cnode or pnodes[table[at] - 1].domain != domain):
        at = (at + 1) & mask
    return at


@kernel
def fill_table(nodes):
    """Enter all p-nodes into a table of zeros."""
    state = nodes.state[0]
    state.tabled = 0
    for p in range(state.pnodes):
        pnode = nodes.pnodes[p]
        if pnode.parent >= 0:
            nodes.table[find_table_position(nodes, pnode.parent, pnode.domain)] = p + 1
            state.tabled += 1


@kernel
def find_first_missing(nodes):
    """Return the first p-node that the table does not find; -1 if it finds all. For `verify`."""
    for p in range(nodes.state[0].pnodes):
        pnode = nodes.pnodes[p]
        if pnode.parent >= 0 and nodes.table[find_table_position(nodes, pnode.parent, pnode.domain)] != p + 1:
            return p
    return -1


@inline
def get_predicate_on(conjunctions, predicates, conjunction, domain):
    """Return the first predicate of a conjunction on a domain. The conjunction must have one."""
    i = conjunctions.start[conjunction]
    while predicates.domain[conjunctions.predicate[i]] != domain:
        i += 1
    return conjunctions.predicate[i]


# creating


@inline
def has_room(nodes, pnodes):
    """Return whether there is room for this many new p-nodes with their top buckets, and for two halves of a bucket.

    A kernel calls this before each step, so that it stops between two steps. `wanted` tells Python the number.
    """
    state = nodes.state[0]
    state.wanted = pnodes
    return (
        state.cnodes + pnodes + 2 <= nodes.cnodes.size
        and state.pnodes + pnodes <= nodes.pnodes.size
        and state.waiting + pnodes + 2 <= nodes.stack.size
        and 2 * (state.tabled + pnodes) <= nodes.table.size
    )


@inline
def create_cnode(nodes):
    """Create an empty c-node; the caller sets its bucket and its parent."""
    state = nodes.state[0]
    c = state.freed_cnode
    if c >= 0:
        state.freed_cnode = nodes.cnodes[c].whole
    else:
        c = state.cnodes
        state.cnodes += 1
    node = nodes.cnodes[c]
    node.left = node.right = node.whole = node.first = node.directory = -1
    node.is_split = node.count = node.size = node.changes = node.leaf_changes = 0
    node.capacity = state.max_cap
    window = nodes.windows[c]
    window.visits = window.missed = window.failed = window.leaf_visits = window.leaf_failed = 0
    window.loss = window.leaf_loss = -1
    return c


@inline
def create_pnode(nodes, parent, domain, low, high):
    """Create a p-node in the p-directory of a c-node; its top bucket has all spaces of the domain, low..high."""
    state = nodes.state[0]
    p = state.freed_pnode
    if p >= 0:
        state.freed_pnode = nodes.pnodes[p].next
    else:
        p = state.pnodes
        state.pnodes += 1
    pnode, top = nodes.pnodes[p], create_cnode(nodes)
    pnode.domain, pnode.parent, pnode.top, pnode.loss = domain, parent, top, 0
    pnode.next = nodes.cnodes[parent].directory
    nodes.cnodes[parent].directory = p
    bucket = nodes.cnodes[top]
    bucket.domain, bucket.low, bucket.high, bucket.pnode = domain, low, high, p
    nodes.table[find_table_position(nodes, parent, domain)] = p + 1
    state.tabled += 1
    return p


# filling


@inline
def put_conjunction(nodes, conjunctions, c, conjunction):
    """Put a conjunction into the l-node of a c-node."""
    node = nodes.cnodes[c]
    conjunctions.next[conjunction] = node.first
    conjunctions.node[conjunction] = c
    node.first = conjunction
    node.count += 1


@inline
def clear_leaf(nodes, c):
    """Empty an l-node; returns its first conjunction, from which `next` leads to the others."""
    node = nodes.cnodes[c]
    first = node.first
    node.first, node.count = -1, 0
    return first


@inline
def push_cnode(nodes, c):
    """Push a c-node whose l-node may overflow on the stack."""
    state = nodes.state[0]
    nodes.stack[state.waiting] = c
    state.waiting += 1


@inline
def compute_capacity(nodes, count):
    """Return the capacity of an l-node with `count` conjunctions, after a split or a merge (section 4.2)."""
    max_cap = nodes.state[0].max_cap
    return max(1, -(-count // max_cap)) * max_cap


# freeing


@inline
def free_cnode(nodes, c):
    """Free the record of a c-node."""
    node, state = nodes.cnodes[c], nodes.state[0]
    node.domain, node.directory, node.count, node.size = FREED, -1, 0, 0
    node.whole = state.freed_cnode
    state.freed_cnode = c


@inline
def free_pnode(nodes, p):
    """Take a p-node out of the p-directory of its c-node, and free its record."""
    pnode, state = nodes.pnodes[p], nodes.state[0]
    parent = nodes.cnodes[pnode.parent]
    if parent.directory == p:
        parent.directory = pnode.next
    else:
        before = parent.directory
        while nodes.pnodes[before].next != p:
            before = nodes.pnodes[before].next
        nodes.pnodes[before].next = pnode.next
    pnode.parent, pnode.next = -1, state.freed_pnode
    state.freed_pnode = p
