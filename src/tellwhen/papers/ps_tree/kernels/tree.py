"""How do PS-Trees change, and which spaces do intervals cover? (PS-Tree, section 4.)"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import Predicates
from tellwhen.kernels.handover import borrow
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import first_above
from tellwhen.kernels.spaces import space_of
from tellwhen.kernels.stabbing import to_begins
from tellwhen.papers.ps_tree.arrays import Changes, PSTreeArrays


@kernel
def apply_changes(tree, changes, spare):
    """Split and merge spaces. Every block has room for the cuts of its domain.

    The first `spare` ids of `tree.spare` are not in use. Returns how many are not in use afterwards.
    """
    tree, changes = borrow(tree, PSTreeArrays), borrow(changes, Changes)
    for domain in range(changes.start.size - 1):
        if changes.start[domain] < changes.start[domain + 1]:
            spare = change_block(tree, changes, domain, spare)
    return spare


@inline
def change_block(tree, changes, domain, spare):
    """Merge the sorted changes of a domain with its sorted spaces.

    A new cut splits its space: the new space starts with the counter of the old one. A cut at which no interval begins
    or ends any more is dropped: its space is merged with the one before.
    """
    block, count = tree.block[domain], tree.used[domain]
    keys, ids = tree.keys[block : block + count].copy(), tree.ids[block : block + count].copy()
    at, k, j, end = block, 0, changes.start[domain], changes.start[domain + 1]
    covers, added = 0, 0  # the old counter here, and what all changes so far add to it
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
def locate(tree, domain, point, found):
    """For every point the id of its space: that of the last key that is not above the point."""
    tree = borrow(tree, PSTreeArrays)
    for i in range(domain.size):
        block = tree.block[domain[i]]
        end = block + tree.used[domain[i]]
        found[i] = tree.ids[first_above(tree.keys, block + 1, end, point[i]) - 1]


@kernel
def cover(spaces, predicates, used):
    """Fill in the first and the last space of every interval of the predicates in use."""
    spaces, predicates = borrow(spaces, Spaces), borrow(predicates, Predicates)
    for p in used:
        domain = predicates.domain[p]
        for i in range(predicates.start[p], predicates.start[p + 1]):
            spaces.first[i] = space_of(spaces.cut_start, spaces.cuts, domain, predicates.low[i])
            spaces.last[i] = space_of(spaces.cut_start, spaces.cuts, domain, predicates.high[i])


@kernel
def list_by_space(access, begin, predicate_start, spaces):
    """Posting lists of spaces: count, then place. A conjunction is in the lists of all spaces of its access predicate.

    access[c] is the access predicate of conjunction c, and begin[c] what stands for it in the lists. Returns where the
    lists begin, and the postings.
    """
    spaces = borrow(spaces, Spaces)
    list_start = np.zeros(spaces.cuts.size + spaces.cut_start.size + 1, dtype=np.int64)
    postings = np.empty(0, dtype=np.int64)
    for placing in range(2):
        for c in range(access.size):
            for i in range(predicate_start[access[c]], predicate_start[access[c] + 1]):
                for space in range(spaces.first[i], spaces.last[i] + 1):
                    if placing:
                        postings[list_start[space + 1]] = begin[c]
                    list_start[space + 1] += 1
        if not placing:
            # Shifted by one: placing then moves the begin of each list to its end.
            postings = np.empty(to_begins(list_start), dtype=np.int64)
    return list_start[:-1], postings
