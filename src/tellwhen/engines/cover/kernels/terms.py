"""Split expressions into *terms*, the parts of their outermost OR, and order the tests of every term.

An event that satisfies a term satisfies the expression. So each term waits and is tested alone, as if it were a
subscription. A term that is an AND of predicates is a conjunction. An expression that uses registers is one term.
"""

from __future__ import annotations

from tellwhen.compile.extract import Extract
from tellwhen.compile.kernels.tree import (
    AND_NODE,
    BEGIN,
    CHILD,
    END,
    KIND,
    LEAF,
    NO,
    OR_NODE,
    YES,
    divide_node,
    read_parts,
)
from tellwhen.engines.cover.build_arrays import PartOrder, PredicateLists, TermCode, TermColumns
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, PROGRAM, REJECT
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

TERMS_MAX = 64
"""An expression with more than 64 terms is not split."""

COVER_LAST, GUARD_LAST = 1e12, 1e6
"""Penalties on the price of the parts that are tested last: those of the cover, and before them those of the guard."""


@inline
def put_term(code, start, nodes, n, count, out, written):
    """Write the code of the term that is node n; return its kind and the new end. Nodes from `count` on are free."""
    after = divide_node(code, start, nodes, n, count)
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
def write_terms(subscriptions, nodes, terms):
    """Write the terms of all subscriptions; return how many.

    `nodes` is scratch, with room for two of every test of the longest program.
    """
    subscriptions, terms = unpack(subscriptions, Extract), unpack(terms, TermCode)
    kind, start, code = subscriptions.kind, subscriptions.start, subscriptions.code
    count = written = 0
    for s in range(kind.size):
        first, last = start[s], start[s + 1]
        parts = 0
        end = read_parts(kind[s], code, first, last, nodes)
        if nodes[0, KIND] == OR_NODE and end - 1 <= TERMS_MAX:
            parts = end - 1
            for n in range(1, end):
                terms.kind[count], written = put_term(code, first, nodes, n, end, terms.code, written)
                terms.owner[count], terms.start[count + 1] = s, written
                count += 1
        if parts == 0:
            for i in range(first, last):
                terms.code[written] = code[i]
                written += 1
            terms.kind[count], terms.owner[count], terms.start[count + 1] = kind[s], s, written
            count += 1
    return count


@inline
def price_node(code, start, n, order):
    """Return roughly the share of the events that satisfy node n, a part of an AND, plus its penalties."""
    price = 0.0
    for at in range(order.nodes[n, BEGIN], order.nodes[n, END]):
        price += order.predicate_price[code[start + 3 * at]] + order.penalty[code[start + 3 * at]]
    return price


@inline
def sort_parts_by_price(code, start, count, order):
    """Sort the parts of an AND, which are the nodes from 1 to `count` - 1, by price."""
    for n in range(1, count):
        price = price_node(code, start, n, order)
        k = n - 1
        while k > 0 and order.price[k - 1] > price:
            order.price[k], order.node[k] = order.price[k - 1], order.node[k - 1]
            k -= 1
        order.price[k], order.node[k] = price, n


@inline
def set_penalty(lists, s, penalty, value):
    """Set the penalty of all predicates in the list of term s: `sort_parts_by_price` adds it to their prices."""
    for k in range(lists.start[s], lists.start[s + 1]):
        penalty[lists.predicate[k]] = value


@inline
def copy_part(code, start, nodes, n, is_last, out, written, out_start):
    """Copy one part of an AND to out[written:], with its jumps changed for its new place; return the new end.

    The program in `out` begins at `out_start`.
    """
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
def write_sorted_parts(terms, covers, guards, order, out):
    """Write the code of all terms with the parts of their AND sorted, the least probable first.

    Parts with predicates of the cover or the guard come last, because they are probably true.
    """
    terms, order = unpack(terms, Extract), unpack(order, PartOrder)
    covers, guards = unpack(covers, PredicateLists), unpack(guards, PredicateLists)
    code = terms.code
    for s in range(terms.kind.size):
        first, last = terms.start[s], terms.start[s + 1]
        for i in range(first, last):
            out[i] = code[i]
        count = read_parts(terms.kind[s], code, first, last, order.nodes)
        if order.nodes[0, KIND] != AND_NODE:
            continue
        set_penalty(covers, s, order.penalty, COVER_LAST)
        set_penalty(guards, s, order.penalty, GUARD_LAST)
        sort_parts_by_price(code, first, count, order)
        written = first
        for k in range(count - 1):
            written = copy_part(code, first, order.nodes, order.node[k], k == count - 2, out, written, first)
        set_penalty(covers, s, order.penalty, 0.0)
        set_penalty(guards, s, order.penalty, 0.0)


@inline
def is_test_decided(p, s, conjunct, is_exact, implied):
    """Return whether predicate p is true of every event that finds term s and that no bitmap rules out for it."""
    if p == implied[s]:
        return True
    if is_exact[p]:
        for k in range(conjunct.start[s], conjunct.start[s + 1]):
            if conjunct.predicate[k] == p:
                return True
    return False


@kernel
def write_open_tests(terms, conjunct, is_exact, implied, nodes, out):
    """Write the code of all terms to `out` without the tests that the bitmaps of a chunk have decided.

    `nodes` is scratch, with room for two of every test of the longest program.
    """
    terms, conjunct, out = unpack(terms, Extract), unpack(conjunct, TermColumns), unpack(out, Extract)
    code = terms.code
    written = 0
    for s in range(terms.kind.size):
        first, last = terms.start[s], terms.start[s + 1]
        begin = written
        count = read_parts(terms.kind[s], code, first, last, nodes)
        if terms.kind[s] == CONJUNCTION:
            for i in range(first, last):
                if not is_test_decided(code[i], s, conjunct, is_exact, implied):
                    out.code[written] = code[i]
                    written += 1
        elif nodes[0, KIND] == AND_NODE:
            open_parts = 0
            for n in range(1, count):
                is_leaf = nodes[n, END] - nodes[n, BEGIN] == 1
                p = code[first + 3 * nodes[n, BEGIN]]
                nodes[n, CHILD] = is_leaf and is_test_decided(p, s, conjunct, is_exact, implied)
                open_parts += nodes[n, CHILD] == 0
            for n in range(1, count):
                if nodes[n, CHILD] == 0:
                    open_parts -= 1
                    written = copy_part(code, first, nodes, n, open_parts == 0, out.code, written, begin)
        else:
            for i in range(first, last):
                out.code[written] = code[i]
                written += 1
        out.start[s + 1] = written
