"""Meaning of the words of a cursor: one int64 array per cursor, drawn for every kind of structure.

    all        | POINT | HEADS | LEVEL | DELTA | BODY ...
    paths      BODY:  | heads of the lists on the path | next, end of each list |
    unscored   BODY:  | the same                       |                        | ranks of stabbed intervals ... |
    R-tree     BODY:  | next, end of each level | nodes visited, by level | STABBED |
    IR-tree    BODY:  | heads | depth of each stack | PENDING | stacks: next, end, bits, level of blocks ... |

A kernel does not write the words that its kind does not use.
"""

from __future__ import annotations

from tellwhen.papers.ranked.kernels.heap import HEAD

POINT, HEADS, LEVEL, DELTA, BODY = range(5)
"""Words of every cursor.

POINT: the point that stabs. HEADS: the number of heads in the heap; of an R-tree, its head (`r_tree.py`). LEVEL: the
level at which the walk of an R-tree goes on. DELTA: the next interval of the R-tree's delta. BODY: begin of the rest.
"""

PATH_MAX = 128
"""Most nodes on a path from the root.

Static trees have at most 34. An IR-tree stays below the limit: a child has at most 3/4 of the weight and 8 more
(`ir_change.py`), so a weight of 2^32 shrinks to 36 in 65 steps, and 36 nodes are a path of at most 36.
"""

LEVELS_MAX = 34
"""Levels of an R-tree of 2^31 intervals with fan-out 2, and two that changes may add before it is rebuilt."""

LISTS = BODY + HEAD * PATH_MAX
"""First word of the (next, end) of the lists; of an IR-tree, of the depths of the stacks."""

FOUND = LISTS + 2 * PATH_MAX
"""First word of the ranks of stabbed intervals."""

VISITED = BODY + 2 * LEVELS_MAX
"""First word of the numbers of visited nodes, by level."""

STABBED = VISITED + LEVELS_MAX
"""Word of the bits of the intervals in the current leaf that contain the point and are not returned yet."""

R_TREE_WORDS = STABBED + 1
PENDING = LISTS + PATH_MAX
"""First word of the blocks that are heads, by R-tree; -1 if the head of the R-tree is an interval."""

STACKS = PENDING + PATH_MAX
FRAME = 4
"""Words of a block on a stack."""

STACK = FRAME * LEVELS_MAX
"""Words of a stack."""

IR_TREE_WORDS = STACKS + PATH_MAX * STACK

LINE = 8
"""int64 elements in a cache line."""
