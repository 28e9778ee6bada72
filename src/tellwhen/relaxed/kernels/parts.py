"""Split a program into its parts, and write the code of each."""

from __future__ import annotations

from tellwhen.compile.kernels.tree import AND_NODE, CHILD, CHILDREN, KIND, LEAF, REGISTER_LEAF, read_tree
from tellwhen.kernels.jit import inline, kernel
from tellwhen.relaxed.arrays import AND, LOAD, OPERATIONS, OR, STORE


@inline
def encode_operation(kind, operand):
    """Return the word of an operation on the last n values, or on register n."""
    return -1 - (OPERATIONS * operand + kind)


@inline
def count_mentions(tree, rows, attribute_of, attribute, mentions):
    """Count the children of each node that mention an attribute; for a leaf, 1 if its predicate is on the attribute."""
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
def append_word(code, at, word):
    """Write a word unless `code` is empty, which only counts words; return the position of the next word."""
    if code.size:
        code[at] = word
    return at + 1


@inline
def write_tree(nodes, root, mentions, stack, code, at):
    """Write the nodes below a root that mention the attribute, in postfix form; return the end of the code."""
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
            at = append_word(code, at, child if nodes[n, KIND] == LEAF else encode_operation(LOAD, child))
        elif mentions[-1 - n] > 1:  # its children have been written
            kind = AND if nodes[-1 - n, KIND] == AND_NODE else OR
            at = append_word(code, at, encode_operation(kind, mentions[-1 - n]))
    return at


@kernel
def write_parts(subscriptions, slots, attribute_of, last_slot, scratch, slot_of, attribute, start, code):
    """Write the parts of programs; return the numbers of parts and of words of code. With empty arrays, only count.

    `last_slot` has the last slot with a part on each attribute, by attribute; at first a number that is no slot.
    """
    tree, mentions, stack = scratch
    nodes, roots = tree
    parts = at = 0
    for k in range(slots.size):
        slot = slots[k]
        begin, end = subscriptions.start[slot], subscriptions.start[slot + 1]
        rows, registers = read_tree(subscriptions.code, begin, end, tree)
        for n in range(rows):
            if nodes[n, KIND] != LEAF or last_slot[attribute_of[nodes[n, CHILD]]] == slot:
                continue
            rank = attribute_of[nodes[n, CHILD]]
            last_slot[rank] = slot
            count_mentions(tree, rows, attribute_of, rank, mentions)
            for r in range(registers):
                if mentions[roots[r]] > 0:
                    at = write_tree(nodes, roots[r], mentions, stack, code, at)
                    at = append_word(code, at, encode_operation(STORE, r))
            at = write_tree(nodes, 0, mentions, stack, code, at)
            if code.size:
                slot_of[parts], attribute[parts], start[parts + 1] = slot, rank, at
            parts += 1
    return parts, at
