"""Which parts of an expression can be looked for one by one? The parts of its outermost OR: its *terms*.

An event that makes a term true makes the expression true. So each term waits and is tested alone, as a subscription of
its own. One that is an AND of predicates is a conjunction. An expression that uses registers stays whole.
"""

from __future__ import annotations

from tellwhen.engines.shared.kernels.tree import (
    AND_NODE,
    BEGIN,
    CHILD,
    CHILDREN,
    END,
    KIND,
    LEAF,
    NO,
    OR_NODE,
    YES,
    divide,
    put_node,
)
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, PROGRAM, REJECT
from tellwhen.kernels.jit import inline, kernel

TERMS_MAX = 64
"""The most terms of an expression; one with more stays whole."""

COVER_LAST, GUARD_LAST = 1e12, 1e6
"""Added to the prices of parts that come last: those of the cover, and before them those of the guard."""


@inline
def has_registers(code, start, end):
    """Does the program use registers?"""
    for i in range(start, end, 3):
        if code[i] < 0:
            return True
    return False


@inline
def put_term(code, start, nodes, n, count, out, written):
    """Write the code of the term that is node n; returns its kind and the new end. Nodes from `count` on are free."""
    after = divide(code, start, nodes, n, count)
    is_conjunction = nodes[n, KIND] == LEAF or nodes[n, KIND] == AND_NODE
    for k in range(count, after):
        is_conjunction &= nodes[k, END] - nodes[k, BEGIN] == 1
    begin = nodes[n, BEGIN]
    for at in range(begin, nodes[n, END]):
        i = start + 3 * at
        out[written] = code[i]
        written += 1
        if is_conjunction:
            continue
        for side in range(1, 3):
            target = code[i + side]
            if target == nodes[n, YES]:
                target = ACCEPT
            elif target == nodes[n, NO]:
                target = REJECT
            elif target >= 0:
                target -= begin
            out[written] = target
            written += 1
    return CONJUNCTION if is_conjunction else PROGRAM, written


@kernel
def write_terms(kind, start, code, nodes, terms, term_kind, term_start, term_code):
    """Write the terms of all subscriptions, each like a subscription; `terms` gets their numbers. Returns how many.

    `nodes` is scratch, with room for two of every test of the longest program.
    """
    count = written = 0
    for s in range(kind.size):
        first, last = start[s], start[s + 1]
        parts = 0
        if kind[s] == PROGRAM and not has_registers(code, first, last):
            put_node(nodes, 0, 0, (last - first) // 3, ACCEPT, REJECT)
            end = divide(code, first, nodes, 0, 1)
            if nodes[0, KIND] == OR_NODE and nodes[0, CHILDREN] <= TERMS_MAX:
                parts = nodes[0, CHILDREN]
                for n in range(nodes[0, CHILD], nodes[0, CHILD] + parts):
                    term_kind[count], written = put_term(code, first, nodes, n, end, term_code, written)
                    terms[count], term_start[count + 1] = s, written
                    count += 1
        if parts == 0:
            for i in range(first, last):
                term_code[written] = code[i]
                written += 1
            term_kind[count], terms[count], term_start[count + 1] = kind[s], s, written
            count += 1
    return count


@inline
def price_part(code, start, nodes, n, prices, known):
    """The expected share of events that make a part true, roughly; more for one that was tested before."""
    price = 0.0
    for at in range(nodes[n, BEGIN], nodes[n, END]):
        price += prices[code[start + 3 * at]] + known[code[start + 3 * at]]
    return price


@inline
def move_part(code, start, nodes, n, is_last, out, written, out_start):
    """Write the tests of a part of an AND to out[written], of a program from `out_start` on; returns the new end."""
    begin, yes = nodes[n, BEGIN], nodes[n, YES]
    shift = (written - out_start) // 3 - begin
    after = nodes[n, END] + shift
    for at in range(begin, nodes[n, END]):
        out[written] = code[start + 3 * at]
        for side in range(1, 3):
            target = code[start + 3 * at + side]
            if target == yes:
                target = ACCEPT if is_last else after
            elif target >= 0:
                target += shift
            out[written + side] = target
        written += 3
    return written


@kernel
def write_sorted_parts(kind, start, code, prices, covers, guards, known, nodes, order, part_price, out):
    """Write the code of all terms with the parts of their AND in another order: the least probable first.

    Parts with predicates of the cover or the guard come last, because they are probably true. `known` is scratch, zero
    for every predicate; so are `nodes`, `order` and `part_price`, for the longest program.
    """
    for s in range(kind.size):
        first, last = start[s], start[s + 1]
        for i in range(first, last):
            out[i] = code[i]
        if kind[s] != PROGRAM or has_registers(code, first, last):
            continue
        put_node(nodes, 0, 0, (last - first) // 3, ACCEPT, REJECT)
        end = divide(code, first, nodes, 0, 1)
        if nodes[0, KIND] != AND_NODE:
            continue
        for which in range(2):
            list_start, predicate = covers if which == 0 else guards
            for k in range(list_start[s], list_start[s + 1]):
                known[predicate[k]] = COVER_LAST if which == 0 else GUARD_LAST
        for n in range(1, end):
            price = price_part(code, first, nodes, n, prices, known)
            k = n - 1
            while k > 0 and part_price[k - 1] > price:
                part_price[k], order[k] = part_price[k - 1], order[k - 1]
                k -= 1
            part_price[k], order[k] = price, n
        written = first
        for k in range(end - 1):
            written = move_part(code, first, nodes, order[k], k == end - 2, out, written, first)
        for which in range(2):
            list_start, predicate = covers if which == 0 else guards
            for k in range(list_start[s], list_start[s + 1]):
                known[predicate[k]] = 0.0


@inline
def is_settled(p, s, conjunct, is_exact, known_true):
    """Is predicate p of term s certainly true once the bitmaps of a chunk have not ruled the term out?"""
    if p == known_true[s]:
        return True
    conjunct_start, _, predicate = conjunct
    if is_exact[p]:
        for k in range(conjunct_start[s], conjunct_start[s + 1]):
            if predicate[k] == p:
                return True
    return False


@kernel
def write_open_tests(kind, start, code, conjunct, is_exact, known_true, nodes, after_start, after_code):
    """Write the code of all terms without what the bitmaps of a chunk settle.

    `nodes` is scratch, with room for two of every test of the longest program.
    """
    written = 0
    for s in range(kind.size):
        first, last = start[s], start[s + 1]
        begin = written
        end = 1
        nodes[0, KIND] = OR_NODE
        if kind[s] == PROGRAM and not has_registers(code, first, last):
            put_node(nodes, 0, 0, (last - first) // 3, ACCEPT, REJECT)
            end = divide(code, first, nodes, 0, 1)
        if kind[s] == CONJUNCTION:
            for i in range(first, last):
                if not is_settled(code[i], s, conjunct, is_exact, known_true):
                    after_code[written] = code[i]
                    written += 1
        elif nodes[0, KIND] == AND_NODE:
            open_parts = 0
            for n in range(1, end):
                is_leaf = nodes[n, END] - nodes[n, BEGIN] == 1
                p = code[first + 3 * nodes[n, BEGIN]]
                nodes[n, CHILD] = is_leaf and is_settled(p, s, conjunct, is_exact, known_true)
                open_parts += nodes[n, CHILD] == 0
            for n in range(1, end):
                if nodes[n, CHILD] == 0:
                    open_parts -= 1
                    written = move_part(code, first, nodes, n, open_parts == 0, after_code, written, begin)
        else:
            for i in range(first, last):
                after_code[written] = code[i]
                written += 1
        after_start[s + 1] = written
