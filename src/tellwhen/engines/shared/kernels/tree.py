"""Recover the AND/OR tree of a program from its tests.

The tests of an AND or OR are a region of neighbours that jumps out of the region only to its two exits, *yes* and *no*.
If the tests before a cut jump to the cut and to *no*, but not to *yes*, the parts on both sides of the cut are joined
by AND. If they jump to the cut and to *yes*, but not to *no*, by OR. The parts are regions again:

    0: a  yes 1  no 2        region 0:3, yes ACCEPT, no REJECT
    1: b  yes A  no 2        cut at 2: 0 and 1 leave for 2 and for yes   ->   (a AND b) OR c
    2: c  yes A  no R

Values in registers (XOR) are computed first, each in a region of its own, with SET and CLEAR as its exits.
"""

from __future__ import annotations

from tellwhen.kernels.arrays import ACCEPT, REJECT, SET
from tellwhen.kernels.jit import inline

BEGIN, END, YES, NO, KIND, CHILD, CHILDREN, NODE_COLUMNS = range(8)
"""Columns of a node: its region and exits, its kind, its first child and the number of its children. Children are
neighbours, behind their parent. A leaf has its predicate, or its register, in CHILD."""

AND_NODE, OR_NODE, LEAF, REGISTER_LEAF, UNREADABLE = range(5)
"""Kinds of nodes. UNREADABLE is a region that no cut divides; compiled programs have none."""


@inline
def find_region_end(code, start, end, begin):
    """Return the end of the region that starts at test `begin`: the next SET, or the end of the program."""
    at = begin
    while start + 3 * at < end:
        if code[start + 3 * at] < 0 and code[start + 3 * at + 2] == SET:
            return at
        at += 1
    return at


@inline
def put_node(nodes, n, begin, end, yes, no):
    """Write node n, which is not divided yet."""
    nodes[n, BEGIN], nodes[n, END], nodes[n, YES], nodes[n, NO] = begin, end, yes, no
    nodes[n, CHILDREN] = 0


@inline
def divide(code, start, nodes, n, count):
    """Divide node n into its parts, which become the nodes from `count` on; return the new count."""
    begin, end, yes, no = nodes[n, BEGIN], nodes[n, END], nodes[n, YES], nodes[n, NO]
    if end - begin == 1:
        test = code[start + 3 * begin]
        nodes[n, KIND] = LEAF if test >= 0 else REGISTER_LEAF
        nodes[n, CHILD] = test if test >= 0 else -1 - test
        return count
    furthest, leaves_yes, leaves_no = begin, False, False
    part, kind = begin, UNREADABLE
    nodes[n, CHILD] = count
    for at in range(begin, end):
        for side in range(1, 3):
            target = code[start + 3 * at + side]
            if target == yes:
                leaves_yes = True
            elif target == no:
                leaves_no = True
            else:
                furthest = max(furthest, target)
        cut = at + 1
        if cut < end and furthest <= cut:
            if kind == UNREADABLE:
                kind = AND_NODE if not leaves_yes else OR_NODE if not leaves_no else UNREADABLE
            if (kind == AND_NODE and not leaves_yes) or (kind == OR_NODE and not leaves_no):
                put_node(nodes, count, part, cut, cut if kind == AND_NODE else yes, no if kind == AND_NODE else cut)
                part, count = cut, count + 1
    nodes[n, KIND] = kind
    if kind != UNREADABLE:
        put_node(nodes, count, part, end, yes, no)
        count += 1
        nodes[n, CHILDREN] = count - nodes[n, CHILD]
    return count


@inline
def grow_tree(code, start, end, nodes, roots):
    """Write the trees of all registers, then that of the program itself; roots[r] is the root of register r.

    `nodes` has room for two nodes per test. Return the number of registers, and of nodes.
    """
    begin = count = registers = 0
    while True:
        last = find_region_end(code, start, end, begin)
        is_register = start + 3 * last < end
        yes, no = (last, last + 1) if is_register else (ACCEPT, REJECT)
        roots[registers] = count
        put_node(nodes, count, begin, last, yes, no)
        n = count
        count += 1
        while n < count:
            count = divide(code, start, nodes, n, count)
            n += 1
        if not is_register:
            return registers, count
        registers += 1
        begin = last + 2
