"""What do the words of a cursor mean? One int64 array per cursor, drawn here for every kind of structure.

    all        | POINT | HEADS | LEVEL | DELTA | BODY ...
    paths      BODY:  | heads of the lists on the path | next, end of each list |
    found      BODY:  | the same                       |                        | ranks found ... |
    R-tree     BODY:  | next, end of each level | nodes visited, by level | STABBED |
    IR-tree    BODY:  | heads | depth of each stack | PENDING | stacks: next, end, bits, level of blocks ... |

A kernel leaves the words that its kind does not use.
"""

from __future__ import annotations

from tellwhen.papers.ranked.kernels.heap import HEAD

POINT, HEADS, LEVEL, DELTA, BODY = range(5)
"""The point that stabs; heads in the heap, or the head of an R-tree (`r_tree.py`); the level at which an R-tree goes
on; the next of its delta; where the rest begins."""

PATH_MAX = 128
"""Nodes on a path from the root. Static trees have at most 34. An IR-tree keeps below this: a child has at most 3/4 of
the weight and 8 more (`ir_change.py`), so 2^32 shrink to 36 in 65 steps, and 36 nodes are a path of 36."""

LEVELS_MAX = 34
"""Levels of an R-tree of 2^31 intervals, with fan-out 2, and two more that a change may add before it is rebuilt."""

LISTS = BODY + HEAD * PATH_MAX
"""Where (next, end) of the lists begin, and in an IR-tree the depths of the stacks."""

FOUND = LISTS + 2 * PATH_MAX
"""Where the ranks that were found begin."""

VISITED = BODY + 2 * LEVELS_MAX
"""Where the numbers of visited nodes begin."""

STABBED = VISITED + LEVELS_MAX
"""The intervals of an R-tree's leaf that contain the point and are still to come: a word of bits."""

R_TREE_WORDS = STABBED + 1
PENDING = LISTS + PATH_MAX
"""The block that is the head of each R-tree; -1 if an interval is."""

STACKS = PENDING + PATH_MAX
FRAME = 4
"""Words of a block on a stack."""

STACK = FRAME * LEVELS_MAX
"""Words of a stack."""

IR_TREE_WORDS = STACKS + PATH_MAX * STACK
