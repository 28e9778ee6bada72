"""Stabbing index: it finds the intervals that contain a value, on all domains, without testing each interval.

An interval is a point, a ray (`<= b` or `>= a`) or a span with two ends. Points and rays are sorted by their end; spans
are on the nodes of an implicit segment tree. A *member*, which is a conjunction or a predicate, waits for an interval
in the list of the interval's end, or in the lists of its nodes. All lists are in one array, so the members that a value
stabs are a few contiguous *runs*:

    members  | lists of points ... | of rays <= b ... | of rays >= a ... | of tree nodes ... |
                  ^^^^^                     ^^^^^^^^^^  ^^^^^^^^            ^^    ^^^^   ^
"""

from __future__ import annotations

from tellwhen.kernels.jit import inline
from tellwhen.kernels.search import find_first_at_least

POINT, UPTO, SINCE, SPAN, UNUSED = 0, 1, 2, 3, 4
"""Shapes of intervals: [a, a], <= b, >= a, [a, b]; and the mark of an interval whose predicate is not in use."""

MAX_RUNS = 3 + 64
"""Runs of one entry: one for each of the other three shapes, and one for every level of a segment tree."""


@inline
def add_run(runs, count, begin, end):
    """Add a run unless it is empty. Return the new count."""
    runs.begin[count] = begin
    runs.end[count] = end
    return count + (end > begin)


@inline
def find_runs(stabbing, domain, low, high, runs):
    """Find the runs of members whose intervals touch low..high. Return how many.

    A member may be in several runs.
    """
    key_start, keys, list_start = stabbing.key_start, stabbing.keys, stabbing.list_start
    stride = key_start.size // 4  # domains + 1: the distance between the parts of two shapes
    at = domain
    first = find_first_at_least(keys, key_start[at], key_start[at + 1], low)
    last = first
    while last < key_start[at + 1] and keys[last] <= high:
        last += 1
    count = add_run(runs, 0, list_start[first], list_start[last])

    at += stride
    first = find_first_at_least(keys, key_start[at], key_start[at + 1], low)
    count = add_run(runs, count, list_start[first], list_start[key_start[at + 1]])

    at += stride
    last = find_first_at_least(keys, key_start[at], key_start[at + 1], high)
    last += last < key_start[at + 1] and keys[last] == high
    count = add_run(runs, count, list_start[key_start[at]], list_start[last])

    at += stride
    left, right = key_start[at], key_start[at + 1]
    if right > left and high >= keys[left] and low < keys[right - 1]:
        # Segment i is keys[i] <= x < keys[i+1]: the first and the last one that low..high touches.
        leaves = right - left
        first = 0
        if low > keys[left]:
            first = find_first_at_least(keys, left, right, low) - left
            first -= keys[left + first] > low
        last = first
        if high > low:
            last = find_first_at_least(keys, left, right, high) - left
            last -= last == leaves or keys[left + last] > high
            last = min(last, leaves - 2)
        node, other = first + leaves, last + leaves
        nodes = 2 * left - key_start[SPAN * stride]
        while other > 1:  # the root is never used: the last leaf, behind the last cut, belongs to no span
            count = add_run(runs, count, list_start[nodes + node], list_start[nodes + other + 1])
            node >>= 1
            other >>= 1
    return count


@inline
def find_tree_nodes(left, right, leaves, out):
    """Write the fewest nodes that make up segments left:right of a tree. Return how many."""
    count = 0
    left += leaves
    right += leaves
    while left < right:
        if left & 1:
            out[count] = left
            count += 1
            left += 1
        if right & 1:
            right -= 1
            out[count] = right
            count += 1
        left >>= 1
        right >>= 1
    return count


@inline
def convert_to_offsets(lengths):
    """Replace lengths of lists by the offset at which each list begins. Return the end of the last list."""
    total = 0
    for k in range(lengths.size):
        length = lengths[k]
        lengths[k] = total
        total += length
    return total
