"""Kernels of the trie of prefixes (OpIndex, section 6.2).

Deviation: the trie has intervals of labels instead of characters. In the order of strings, the strings with a prefix
are an interval, and the interval of a longer prefix is inside that of a shorter one. So a node of the trie is an
interval, and its parent is the smallest interval around it.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.search import find_first_above
from tellwhen.papers.op_index.arrays import PREFIX

CROSSES = -2
"""Instead of a parent: the interval overlaps an earlier one and does not lie inside it."""


@kernel
def link_parents(domain, low, high):
    """Return the smallest interval around each interval, and the most that contain one point.

    The intervals are distinct, and sorted by domain, begin and descending end. An interval without another around it
    has -1. An interval that crosses an earlier one has CROSSES, and is not the parent of any.
    """
    parent, path = np.empty(low.size, dtype=np.int32), np.empty(low.size, dtype=np.int32)
    length = depth = 0
    for i in range(low.size):
        while length and (domain[path[length - 1]] != domain[i] or high[path[length - 1]] < low[i]):
            length -= 1
        parent[i] = path[length - 1] if length else -1
        if length and high[path[length - 1]] < high[i]:
            parent[i] = CROSSES
        else:
            path[length] = i
            length += 1
            depth = max(depth, length)
    return parent, depth


@inline
def append_true_prefixes(operands, domains, events, entry, located, count):
    """Append the ranges of the prefixes that an entry makes true; returns the new number of ranges.

    Only the last prefix that is not after the value, and those around it, are visited. An interval of strings also
    makes those true that begin inside it.
    """
    group = PREFIX * domains + events.domain[entry]
    first, begin, end = operands.start[PREFIX * domains], operands.start[group], operands.start[group + 1]
    point, trie = events.low[entry], operands.trie
    above = find_first_above(operands.keys, begin, end, point)
    if events.high[entry] > point:
        inside = find_first_above(operands.keys, above, end, events.high[entry])
        if inside > above:
            count = append_range(located, count, above, inside, entry)
    k = above - 1 - first if above > begin else -1
    while k >= 0:
        if trie.end[k] >= point:
            count = append_range(located, count, first + k, first + k + 1, entry)
        k = np.int64(trie.parent[k])
    return count


@inline
def append_range(located, count, low, high, entry):
    """Append a range of true operands; returns the new number of ranges."""
    located.low[count], located.high[count], located.entry[count] = low, high, entry
    return count + 1
