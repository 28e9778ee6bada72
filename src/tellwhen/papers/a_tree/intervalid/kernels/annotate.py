"""Which interval has each leaf of a tree? (A-Tree, section 2; Fontoura et al., SIGMOD 2010.)

An expression is true if satisfied intervals lead from point 0 to its last point without a gap. So the parts of an AND
divide its interval in sequence, and each part of an OR has all of it.

Every node has a place of its own: its number in postorder, that is, the last place of the room that it and all nodes
below it take. A part of an AND ends with its own place; the last one ends where the AND does. Places are distinct, so
an AND is cut at points that no other node is cut at, also where it stands beside other ANDs below an OR:

    (a AND b) OR (c AND d)       places: a 1, b 2, AND 3, c 4, d 5, AND 6, OR 7; the whole is <1,8>
    a <1,1> b <2,8>  c <1,4> d <5,8>

If both ANDs were cut at the same point, a and d together would lead from 0 to 8. With distinct cuts the leaves are the
edges of a series-parallel graph, which has a way through exactly if the expression is true.

Deviation: the paper shows one example and no rule. This one gives the example's intervals.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.intervalid.arrays import BEGIN_SHIFT
from tellwhen.papers.a_tree.shared.kernels.expand import children_of, is_or

IS_OR, BEGIN, END, ROOM, LEFT, LEVEL_COLUMNS = range(6)
"""Of a group that is being divided: its kind, the interval that its next part begins at and must end within, where the
room of its next part begins, and how many parts are left."""


@inline
def measure_rooms(node, start, end, rooms, pending):
    """By node the room that it takes: 1, and that of its children. Children come behind their parent."""
    count = 0
    for i in range(end - 1, start - 1, -1):
        room = 1
        if node[i] < 0:
            for _ in range(children_of(node[i])):
                count -= 1
                room += pending[count]
        rooms[i - start] = room
        pending[count] = room
        count += 1


@inline
def part_of(levels, level, room):
    """The interval of the next part of a group, and where its room begins; moves on to the part behind it."""
    begin, end, place = levels[level, BEGIN], levels[level, END], levels[level, ROOM]
    levels[level, ROOM] = place + room
    levels[level, LEFT] -= 1
    if not levels[level, IS_OR]:
        if levels[level, LEFT] > 0:
            end = place + room - 1
        levels[level, BEGIN] = end + 1
    return begin, end, place


@kernel
def annotate(start, node, rooms, pending, levels, annotation, ends):
    """The intervals of all leaves of all trees, and the last point of every tree.

    `rooms`, `pending` and `levels` are scratch, for the nodes of the largest tree.
    """
    leaves = 0
    for x in range(start.size - 1):
        measure_rooms(node, start[x], start[x + 1], rooms, pending)
        ends[x] = rooms[0] + 1
        # The whole tree is the only part of an OR around it.
        levels[0, IS_OR], levels[0, BEGIN], levels[0, END], levels[0, ROOM], levels[0, LEFT] = 1, 1, ends[x], 1, 1
        level = 0
        for i in range(start[x], start[x + 1]):
            while levels[level, LEFT] == 0:
                level -= 1
            begin, end, place = part_of(levels, level, rooms[i - start[x]])
            if node[i] < 0:
                level += 1
                levels[level, IS_OR], levels[level, LEFT] = is_or(node[i]), children_of(node[i])
                levels[level, BEGIN], levels[level, END], levels[level, ROOM] = begin, end, place
            else:
                annotation[leaves] = np.int32(begin << BEGIN_SHIFT | end)
                leaves += 1
