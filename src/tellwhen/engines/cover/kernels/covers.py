"""Choose the cover of a subscription: a few predicates of which one must be true if the subscription is.

A predicate covers itself. The cover of an AND is that of its cheapest part, the cover of an OR are those of all parts.
The price of a predicate is the share of the events that it is expected to admit.

The *guard* of a subscription is a second cover, of other predicates. An event that satisfies the cover is tested on the
guard next.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.extract import Extract
from tellwhen.compile.kernels.tree import (
    AND_NODE,
    CHILD,
    CHILDREN,
    KIND,
    LEAF,
    OR_NODE,
    REGISTER_LEAF,
    read_tree,
)
from tellwhen.engines.cover.build_arrays import CoverSearch, PredicateLists
from tellwhen.kernels.arrays import CONJUNCTION, NEVER
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

INFINITE = 1e300
"""The price of a part without a cover: it may be true of an event that satisfies none of the predicates."""


@inline
def price_nodes(count, search):
    """Compute the price of every node of a program's tree, from its last node to the root."""
    nodes, roots = search.tree.nodes, search.tree.roots
    price = search.price
    for n in range(count - 1, -1, -1):
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == LEAF:
            price[n] = INFINITE if search.is_banned[child] else search.predicate_price[child]
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
def choose_nodes(count, search):
    """Choose the nodes that cover the root: the cheapest child of an AND, all children of an OR."""
    nodes, roots = search.tree
    price, is_chosen = search.price, search.is_chosen
    for n in range(count):
        is_chosen[n] = n == 0
    for n in range(count):
        if not is_chosen[n]:
            continue
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == REGISTER_LEAF:
            is_chosen[roots[child]] = True
        elif kind == OR_NODE:
            for k in range(child, child + nodes[n, CHILDREN]):
                is_chosen[k] = True
        elif kind == AND_NODE:
            best = child
            for k in range(child, child + nodes[n, CHILDREN]):
                if price[k] < price[best]:
                    best = k
            is_chosen[best] = True


@inline
def cover_tree(count, search, out, written):
    """Write the cover of a program's tree, and ban its predicates; return the new end, or -1 if there is no cover."""
    nodes, is_banned = search.tree.nodes, search.is_banned
    price_nodes(count, search)
    if search.price[0] >= INFINITE:
        return -1
    choose_nodes(count, search)
    for n in range(count):
        if search.is_chosen[n] and nodes[n, KIND] == LEAF and not is_banned[nodes[n, CHILD]]:
            is_banned[nodes[n, CHILD]] = True
            out[written] = nodes[n, CHILD]
            written += 1
    return written


@inline
def cover_conjunction(terms, s, search, out, written):
    """Write the cheapest predicate of a conjunction, and ban it; return the new end, or -1 if all are banned."""
    best, prices, is_banned = -1, search.predicate_price, search.is_banned
    for i in range(terms.start[s], terms.start[s + 1]):
        p = terms.code[i]
        if not is_banned[p] and (best < 0 or prices[p] < prices[best]):
            best = p
    if best < 0:
        return -1
    is_banned[best] = True
    out[written] = best
    return written + 1


@inline
def lift_bans(lists, s, is_banned):
    """Allow the predicates in the list of term s again."""
    for k in range(lists.start[s], lists.start[s + 1]):
        is_banned[lists.predicate[k]] = False


@kernel
def write_covers(terms, search, covers, guards):
    """Write the cover and the guard of every term.

    A term without a cover, against which every event must be tested, has an empty one; so has one without a guard.
    """
    terms, search = unpack(terms, Extract), unpack(search, CoverSearch)
    covers, guards = unpack(covers, PredicateLists), unpack(guards, PredicateLists)
    for s in range(terms.kind.size):
        kind = terms.kind[s]
        count = 0
        if kind != CONJUNCTION and kind != NEVER:
            count, _ = read_tree(terms.code, terms.start[s], terms.start[s + 1], search.tree)
        covers.start[s + 1], guards.start[s + 1] = covers.start[s], guards.start[s]
        for is_guard in range(2):
            lists = guards if is_guard else covers
            end = np.int64(-1)
            if kind == CONJUNCTION:
                end = cover_conjunction(terms, s, search, lists.predicate, lists.start[s])
            elif kind != NEVER:
                end = cover_tree(count, search, lists.predicate, lists.start[s])
            if end < 0:
                break
            lists.start[s + 1] = end
        lift_bans(covers, s, search.is_banned)
        lift_bans(guards, s, search.is_banned)
