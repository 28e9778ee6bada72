"""Kernels that change PS-Trees, and that find the spaces of points and intervals (PS-Tree, section 4)."""

from __future__ import annotations

from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import Predicates
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above
from tellwhen.kernels.spaces import find_space
from tellwhen.papers.ps_tree.arrays import CounterChanges, PSTreeArrays


@kernel
def apply_changes(tree, changes, spare):
    """Split and merge spaces; returns the number of ids that are then not in use.

    Every block has room for the cuts of its domain. The first `spare` ids of `tree.spare` are not in use.
    """
    tree, changes = borrow(tree, PSTreeArrays), borrow(changes, CounterChanges)
    for domain in range(changes.start.size - 1):
        if changes.start[domain] < changes.start[domain + 1]:
            spare = merge_changes(tree, changes, domain, spare)
    return spare


@inline
def merge_changes(tree, changes, domain, spare):
    """Merge the sorted changes of a domain into its sorted spaces; returns the number of ids that are not in use.

    A new cut splits its space: the new space starts with the counter of the split one. A cut without any end of an
    interval is dropped: its space is merged with the space before it.
    """
    block, count = tree.block[domain], tree.used[domain]
    keys, ids = tree.keys[block : block + count].copy(), tree.ids[block : block + count].copy()
    at, k, j, end = block, 0, changes.start[domain], changes.start[domain + 1]
    covers, added = 0, 0  # the counter before all changes, and the sum of the changes up to here
    while k < count or j < end:
        if k < count and (j == end or keys[k] <= changes.cut[j]):
            key, space = keys[k], ids[k]
            covers = tree.covers[space]
            if j < end and changes.cut[j] == key:
                tree.ends[space] += changes.ends[j]
                added += changes.covers[j]
                j += 1
            k += 1
            if tree.ends[space] == 0 and k > 1:  # the first space of a domain needs no cut
                tree.covers[space] = 0
                tree.spare[spare] = space
                spare += 1
                continue
        else:
            key, ends = changes.cut[j], changes.ends[j]
            added += changes.covers[j]
            j += 1
            if ends == 0:
                continue
            spare -= 1
            space = tree.spare[spare]
            tree.ends[space] = ends
        tree.covers[space] = covers + added
        tree.keys[at], tree.ids[at] = key, space
        at += 1
    tree.used[domain] = at - block
    return spare


@kernel
def locate_points(tree, domain, point, ids):
    """Fill `ids` with the id of the space of every point: the space of the last key that is not above the point."""
    tree = borrow(tree, PSTreeArrays)
    for i in range(domain.size):
        block = tree.block[domain[i]]
        end = block + tree.used[domain[i]]
        ids[i] = tree.ids[find_first_above(tree.keys, block + 1, end, point[i]) - 1]


@kernel
def find_covered_spaces(spaces, predicates, used):
    """Fill `spaces.first` and `spaces.last`, which have an element for every interval of the predicates in use."""
    spaces, predicates = borrow(spaces, Spaces), borrow(predicates, Predicates)
    for p in used:
        domain = predicates.domain[p]
        for i in range(predicates.start[p], predicates.start[p + 1]):
            spaces.first[i] = find_space(spaces.cut_start, spaces.cuts, domain, predicates.low[i])
            spaces.last[i] = find_space(spaces.cut_start, spaces.cuts, domain, predicates.high[i])
