"""Program -> the code of its parts, attribute by attribute."""

from __future__ import annotations

from tellwhen.compile.kernels.tree import AND_NODE, CHILD, CHILDREN, KIND, LEAF, REGISTER_LEAF, read_tree
from tellwhen.kernels.jit import inline, kernel
from tellwhen.relaxed.arrays import ALL, KEEP, OPERATIONS, RECALL, SOME


@inline
def operation(kind, count):
    """The word of an operation."""
    return -1 - (OPERATIONS * count + kind)


@inline
def count_mentions(tree, rows, attribute_of, attribute, mentions):
    """Count by node the children that mention an attribute; for a leaf, whether its predicate is on the attribute."""
    nodes, roots = tree
    for n in range(rows - 1, -1, -1):
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == LEAF:
            mentions[n] = attribute_of[child] == attribute
        elif kind == REGISTER_LEAF:
            mentions[n] = mentions[roots[child]] > 0
        else:
            mentions[n] = 0
            for c in range(child, child + nodes[n, CHILDREN]):
                mentions[n] += mentions[c] > 0


@inline
def put(code, at, word):
    """Write a word if there is room: without any, words are only counted. Returns where the next one goes."""
    if code.size:
        code[at] = word
    return at + 1


@inline
def write_tree(nodes, root, mentions, stack, code, at):
    """Write what mentions the attribute below a root, in postfix form; returns where it ends."""
    depth = 1
    stack[0] = root
    while depth:
        n = stack[depth - 1]
        if n >= 0 and nodes[n, KIND] != LEAF and nodes[n, KIND] != REGISTER_LEAF:
            stack[depth - 1] = -1 - n
            for c in range(nodes[n, CHILD], nodes[n, CHILD] + nodes[n, CHILDREN]):
                if mentions[c] > 0:
                    stack[depth] = c
                    depth += 1
            continue
        depth -= 1
        if n >= 0:
            child = nodes[n, CHILD]
            at = put(code, at, child if nodes[n, KIND] == LEAF else operation(RECALL, child))
        elif mentions[-1 - n] > 1:  # its children are written
            at = put(code, at, operation(ALL if nodes[-1 - n, KIND] == AND_NODE else SOME, mentions[-1 - n]))
    return at


@kernel
def write_parts(subscriptions, slots, attribute_of, seen, scratch, slot_of, attribute, start, code):
    """The parts of programs; returns how many parts and words of code there are. With empty arrays it only counts them.

    `seen` has an element for each attribute, of which none is one of the slots.
    """
    tree, mentions, stack = scratch
    nodes, roots = tree
    parts = at = 0
    for k in range(slots.size):
        slot = slots[k]
        begin, end = subscriptions.start[slot], subscriptions.start[slot + 1]
        rows, registers = read_tree(subscriptions.code, begin, end, tree)
        for n in range(rows):
            if nodes[n, KIND] != LEAF or seen[attribute_of[nodes[n, CHILD]]] == slot:
                continue
            mine = attribute_of[nodes[n, CHILD]]
            seen[mine] = slot
            count_mentions(tree, rows, attribute_of, mine, mentions)
            for r in range(registers):
                if mentions[roots[r]] > 0:
                    at = write_tree(nodes, roots[r], mentions, stack, code, at)
                    at = put(code, at, operation(KEEP, r))
            at = write_tree(nodes, 0, mentions, stack, code, at)
            if code.size:
                slot_of[parts], attribute[parts], start[parts + 1] = slot, mine, at
            parts += 1
    return parts, at
