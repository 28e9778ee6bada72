"""Kernels that write the interval of every leaf of a tree (A-Tree, section 2; Fontoura et al., SIGMOD 2010).

An expression is true if satisfied intervals lead from point 0 to its last point without a gap. So the parts of an AND
divide its interval in sequence, and each part of an OR has the whole interval.

Every node has a number in postorder. The numbers of a node and of all nodes below it are a contiguous run, whose length
is the *width* of the node, and the node's own number is the last one. A part of an AND ends at its own number; the last
part ends where the AND does. Numbers are distinct, so an AND is cut at points where no other node is cut, also if it
stands beside other ANDs below an OR:

    (a AND b) OR (c AND d)       numbers: a 1, b 2, AND 3, c 4, d 5, AND 6, OR 7; the whole is <1,8>
    a <1,1> b <2,8>  c <1,4> d <5,8>

If both ANDs were cut at the same point, a and d together would lead from 0 to 8. With distinct cuts the leaves are the
edges of a series-parallel graph, which has a path to its last point exactly if the expression is true.

Deviation: the paper shows one example (figure 1) and no rule. This rule gives the intervals of the example.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT
from tellwhen.papers.a_tree.shared.kernels.expand import count_children, is_or

IS_OR, BEGIN, END, NUMBER, LEFT, LEVEL_COLUMNS = range(6)
"""Columns of a group that is being divided: its kind, the begin of its next part, the end of the group, the first
postorder number of its next part, and how many parts are left."""


@inline
def measure_widths(node, start, end, widths, pending):
    """Write the width of every node of a tree: 1 and the widths of its children. Children come after their parent."""
    count = 0
    for i in range(end - 1, start - 1, -1):
        width = 1
        if node[i] < 0:
            for _ in range(count_children(node[i])):
                count -= 1
                width += pending[count]
        widths[i - start] = width
        pending[count] = width
        count += 1


@inline
def take_next_interval(levels, level, width):
    """Return the interval and the first number of the next part of a group, and advance to the part after it."""
    begin, end, number = levels[level, BEGIN], levels[level, END], levels[level, NUMBER]
    levels[level, NUMBER] = number + width
    levels[level, LEFT] -= 1
    if not levels[level, IS_OR]:
        if levels[level, LEFT] > 0:
            end = number + width - 1
        levels[level, BEGIN] = end + 1
    return begin, end, number


@kernel
def write_intervals(start, node, widths, pending, levels, annotation, ends):
    """Write the intervals of all leaves of all trees, and the last point of every tree.

    `widths`, `pending` and `levels` are scratch, for the nodes of the largest tree.
    """
    leaves = 0
    for x in range(start.size - 1):
        measure_widths(node, start[x], start[x + 1], widths, pending)
        ends[x] = widths[0] + 1
        # The whole tree is the only part of an OR around it.
        levels[0, IS_OR], levels[0, BEGIN], levels[0, END], levels[0, NUMBER], levels[0, LEFT] = 1, 1, ends[x], 1, 1
        level = 0
        for i in range(start[x], start[x + 1]):
            while levels[level, LEFT] == 0:
                level -= 1
            begin, end, number = take_next_interval(levels, level, widths[i - start[x]])
            if node[i] < 0:
                level += 1
                levels[level, IS_OR], levels[level, LEFT] = is_or(node[i]), count_children(node[i])
                levels[level, BEGIN], levels[level, END], levels[level, NUMBER] = begin, end, number
            else:
                annotation[leaves] = np.int32(begin << BEGIN_SHIFT | end)
                leaves += 1
