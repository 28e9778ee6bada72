"""Of which few predicates must at least one be true? The cover of a subscription.

A predicate covers itself. AND needs only one of its parts to be covered, and takes the one with the least price; OR
needs all of them. The price of a predicate is the share of the events that it is expected to admit.

The *guard* of a subscription is a second cover, of other predicates: an event that passes the first one is tested on it
next.
"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.shared.kernels.tree import (
    AND_NODE,
    CHILD,
    CHILDREN,
    KIND,
    LEAF,
    OR_NODE,
    REGISTER_LEAF,
    grow_tree,
)
from tellwhen.kernels.arrays import CONJUNCTION, NEVER
from tellwhen.kernels.jit import inline, kernel

INFINITE = 1e300
"""The price of what cannot be covered: it may be true of an event that satisfies none of the predicates."""


@inline
def price_nodes(nodes, first, end, roots, prices, banned, price):
    """The price of every node of one tree. Children come behind their parent. A banned predicate has no price."""
    for n in range(end - 1, first - 1, -1):
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == LEAF:
            price[n] = INFINITE if banned[child] else prices[child]
        elif kind == REGISTER_LEAF:
            price[n] = price[roots[child]]
        elif kind == AND_NODE or kind == OR_NODE:
            best, total = INFINITE, 0.0
            for k in range(child, child + nodes[n, CHILDREN]):
                best = min(best, price[k])
                total += price[k]
            price[n] = best if kind == AND_NODE else min(total, INFINITE)
        else:
            price[n] = INFINITE


@inline
def choose_nodes(nodes, first, end, roots, price, chosen):
    """Pass the choice of a tree's root on to its leaves, or to the roots of registers."""
    for n in range(first, end):
        if not chosen[n]:
            continue
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == REGISTER_LEAF:
            chosen[roots[child]] = True
        elif kind == OR_NODE:
            for k in range(child, child + nodes[n, CHILDREN]):
                chosen[k] = True
        elif kind == AND_NODE:
            best = child
            for k in range(child, child + nodes[n, CHILDREN]):
                if price[k] < price[best]:
                    best = k
            chosen[best] = True


@inline
def cover_tree(nodes, count, roots, registers, prices, banned, price, chosen, out, written):
    """Write the cover of a program's tree, and ban its predicates; returns the new end, or -1 if there is none."""
    for r in range(registers + 1):
        price_nodes(nodes, roots[r], roots[r + 1] if r < registers else count, roots, prices, banned, price)
    if price[roots[registers]] >= INFINITE:
        return -1
    for n in range(count):
        chosen[n] = n == roots[registers]
    for r in range(registers, -1, -1):
        choose_nodes(nodes, roots[r], roots[r + 1] if r < registers else count, roots, price, chosen)
    for n in range(count):
        if chosen[n] and nodes[n, KIND] == LEAF and not banned[nodes[n, CHILD]]:
            banned[nodes[n, CHILD]] = True
            out[written] = nodes[n, CHILD]
            written += 1
    return written


@inline
def cover_conjunction(code, start, end, prices, banned, out, written):
    """Write the predicate of a conjunction with the least price, and ban it; returns the new end, or -1 if all are."""
    best = -1
    for i in range(start, end):
        p = code[i]
        if not banned[p] and (best < 0 or prices[p] < prices[best]):
            best = p
    if best < 0:
        return -1
    banned[best] = True
    out[written] = best
    return written + 1


@kernel
def write_covers(subscriptions, prices, nodes, roots, price, chosen, banned, covers, guards):
    """The cover and the guard of every subscription: `covers` and `guards` are (start, predicate).

    One without a cover, which every event must be tested against, has an empty one; so has one without a guard.
    The arrays from `nodes` to `banned` are scratch: two nodes, and one root, for every test of the longest program.
    """
    cover_start, cover = covers
    guard_start, guard = guards
    covered = guarded = 0
    for s in range(subscriptions.kind.size):
        kind, code = subscriptions.kind[s], subscriptions.code
        start, end = subscriptions.start[s], subscriptions.start[s + 1]
        registers = count = 0
        if kind != CONJUNCTION and kind != NEVER:
            registers, count = grow_tree(code, start, end, nodes, roots)
        for is_guard in range(2):
            out = guard if is_guard else cover
            at = guarded if is_guard else covered
            after = np.int64(-1)
            if kind == CONJUNCTION:
                after = cover_conjunction(code, start, end, prices, banned, out, at)
            elif kind != NEVER:
                after = cover_tree(nodes, count, roots, registers, prices, banned, price, chosen, out, at)
            if after < 0:
                break
            if is_guard:
                guarded = after
            else:
                covered = after
        for k in range(cover_start[s], covered):
            banned[cover[k]] = False
        for k in range(guard_start[s], guarded):
            banned[guard[k]] = False
        cover_start[s + 1], guard_start[s + 1] = covered, guarded
