"""The AND/OR tree of a program, recovered from its jumps.

A store keeps programs only (`compile/program.py`): matching runs them, and files contain them. Whatever needs the tree
of an expression calls `read_tree`, or `read_parts` for the parts of the outermost group.

A group of AND or OR is a region of neighboring tests that is left only for its two exits, *yes* and *no*. Where the
tests before a cut leave for the cut and for *no*, but not for *yes*, AND joins the parts on both sides of the cut;
where they leave for the cut and for *yes*, OR joins them. The parts are regions again:

    0: a  yes 1  no 2        region 0:3, yes ACCEPT, no REJECT
    1: b  yes A  no 2        cut at 2: 0 and 1 leave for 2 and for yes   ->   (a AND b) OR c
    2: c  yes A  no R

The code of each register (XOR) is a region in front of those that read the register. Its exits are SET and CLEAR.
"""

from __future__ import annotations

from tellwhen.kernels.arrays import ACCEPT, PROGRAM, REJECT, SET
from tellwhen.kernels.jit import inline

BEGIN, END, YES, NO, KIND, CHILD, CHILDREN, TREE_COLUMNS = range(8)
"""Columns of a node: its region and exits, its kind, its first child and the number of its children.

Children are neighbors. A leaf has its predicate, or the number of its register, in CHILD.
"""

AND_NODE, OR_NODE, LEAF, REGISTER_LEAF, UNREADABLE = range(5)
"""Kinds of nodes. UNREADABLE is a region that no cut divides; no compiled program has one."""


@inline
def put_node(nodes, n, begin, end, yes, no):
    """Write node n, which is not divided yet."""
    nodes[n, BEGIN], nodes[n, END], nodes[n, YES], nodes[n, NO] = begin, end, yes, no
    nodes[n, CHILDREN] = 0


@inline
def divide_node(code, start, nodes, n, count):
    """Divide node n into its parts, which become the nodes from `count` on. Return the new count."""
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
def find_register_regions(code, start, end, region_begin):
    """Find the region of tests of every register, and of the expression itself, which comes last.

    Write the first test of each region to region_begin. Return the number of registers.
    """
    registers = at = 0
    region_begin[0] = 0
    while start + 3 * at < end:
        if code[start + 3 * at] < 0 and code[start + 3 * at + 2] == SET:
            registers += 1
            at += 1  # the CLEAR behind the SET
            region_begin[registers] = at + 1
        at += 1
    return registers


@inline
def read_tree(code, start, end, tree):
    """Recover the tree of the program in code[start:end]. Return the numbers of its nodes and of its registers.

    Node 0 is the root. What a node depends on comes behind it: its children, and the trees of the registers that it
    reads. So one loop from the last node to the first goes bottom-up through everything, and one from the first to the
    last goes top-down. tree.roots[r] is the root of register r.
    """
    nodes, roots = tree
    registers = find_register_regions(code, start, end, roots)
    region_end = (end - start) // 3
    yes, no = ACCEPT, REJECT
    count = 0
    for r in range(registers, -1, -1):
        n, begin = count, roots[r]
        put_node(nodes, n, begin, region_end, yes, no)
        roots[r] = n
        count += 1
        while n < count:
            count = divide_node(code, start, nodes, n, count)
            n += 1
        region_end = begin - 2  # SET and CLEAR lie between two regions
        yes, no = region_end, region_end + 1
    return count, registers


@inline
def has_registers(code, start, end):
    """Return whether the program in code[start:end] uses registers."""
    for i in range(start, end, 3):
        if code[i] < 0:
            return True
    return False


@inline
def read_parts(kind, code, start, end, nodes):
    """Divide a subscription into the parts of its outermost AND or OR, the nodes from 1 on. Return their end.

    nodes[0, KIND] is UNREADABLE for a conjunction, and for a program with registers.
    """
    nodes[0, KIND] = UNREADABLE
    if kind != PROGRAM or has_registers(code, start, end):
        return 1
    put_node(nodes, 0, 0, (end - start) // 3, ACCEPT, REJECT)
    return divide_node(code, start, nodes, 0, 1)
