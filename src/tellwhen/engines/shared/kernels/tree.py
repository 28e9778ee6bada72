"""What is the AND/OR tree of a program? Read back from its tests.

A group of AND or OR is a region of neighbouring tests that is left only for its two exits, *yes* and *no*. Where the
tests before a cut leave for the cut and for *no*, but not for *yes*, the parts on both sides of it are joined by AND;
where they leave for the cut and for *yes*, by OR. The parts are regions again:

    0: a  yes 1  no 2        region 0:3, yes ACCEPT, no REJECT
    1: b  yes A  no 2        cut at 2: 0 and 1 leave for 2 and for yes   ->   (a AND b) OR c
    2: c  yes A  no R

Values in registers (XOR) are computed first, each in a region of its own, with SET and CLEAR as its exits.
"""

from __future__ import annotations

from tellwhen.kernels.arrays import ACCEPT, REJECT, SET
from tellwhen.kernels.jit import inline

BEGIN, END, YES, NO, KIND, CHILD, CHILDREN, NODE_COLUMNS = range(8)
"""Columns of a node: its region and exits, its kind, its first child and how many there are. Children are neighbours,
and come behind their parent. A leaf has its predicate, or its register, in CHILD."""

AND_NODE, OR_NODE, LEAF, REGISTER_LEAF, UNREADABLE = range(5)
"""Kinds of nodes. UNREADABLE is a region that no cut divides; no compiled program has one."""


@inline
def find_region_end(code, start, end, begin):
    """Where the region that starts at test `begin` ends: at the next SET, or with the program."""
    at = begin
    while start + 3 * at < end:
        if code[start + 3 * at] < 0 and code[start + 3 * at + 2] == SET:
            return at
        at += 1
    return at


@inline
def put_node(nodes, n, begin, end, yes, no):
    """Write node n, not divided yet."""
    nodes[n, BEGIN], nodes[n, END], nodes[n, YES], nodes[n, NO] = begin, end, yes, no
    nodes[n, CHILDREN] = 0


@inline
def divide(code, start, nodes, n, count):
    """Divide node n into its parts, which become nodes from `count` on; returns the new count."""
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
    """The trees of all registers, then that of the program itself; roots[r] is the root of register r.

    `nodes` has room for two of every test. Returns the number of registers, and of nodes.
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
