"""Placement of members into the lists of a stabbing index."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import kernel
from tellwhen.kernels.stabbing import MAX_RUNS, SPAN, convert_to_offsets, find_tree_nodes


@kernel
def place_members(owner_start, owner_code, predicates, shape, first_key, last_key, key_start, lists):
    """Put every owner into the lists of its predicates' intervals: count, then place, owners ascending in each list.

    Owner o has the predicates owner_code[owner_start[o]:owner_start[o+1]]. first_key[i] is the key of interval i; for a
    span it is its first cut, and last_key[i] the cut behind its last segment. Returns the lists and their members.
    """
    tree = SPAN * (key_start.size // 4)
    list_start = np.zeros(lists + 2, dtype=np.int64)
    nodes = np.empty(2 * MAX_RUNS, dtype=np.int64)
    members = np.empty(0, dtype=np.int32)
    for placing in range(2):
        for owner in range(owner_start.size - 1):
            for j in range(owner_start[owner], owner_start[owner + 1]):
                p = owner_code[j]
                for i in range(predicates.start[p], predicates.start[p + 1]):
                    base, count = 0, 1
                    nodes[0] = first_key[i]
                    if shape[i] == SPAN:
                        at = tree + predicates.domain[p]
                        left = key_start[at]
                        count = find_tree_nodes(
                            first_key[i] - left, last_key[i] - left, key_start[at + 1] - left, nodes
                        )
                        base = 2 * left - key_start[tree]
                    for n in range(count):
                        k = base + nodes[n] + 1
                        if placing:
                            members[list_start[k]] = owner
                        list_start[k] += 1
        if not placing:
            # Shifted by one: placing then moves the begin of each list to its end.
            members = np.empty(convert_to_offsets(list_start), dtype=np.int32)
    return list_start[:-1], members
