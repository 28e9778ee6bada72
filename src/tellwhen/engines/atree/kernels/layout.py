"""Lay out a forest for matching: which nodes are found, which child leads to an AND, and what is tested there?"""

from __future__ import annotations

import numpy as np

from tellwhen.engines.atree.arrays import (
    ATOMS,
    CHILD,
    FIRST_CHILD,
    GUARD,
    KIND,
    LINK_WORDS,
    LINKS,
    NEXT_CHILD,
    NONE,
    OTHERS,
    RECORD,
    SLOTS,
    TARGET,
    Forest,
)
from tellwhen.engines.shared.kernels.tree import AND_NODE, LEAF
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import set_true

OFTEN, COST_RATIO = 0.6, 8.0
"""A predicate is tested where a node asks for it, instead of being found on every event that satisfies it, if most
events do (it is a complement), and it is asked for less than an eighth as often."""


@inline
def chance_of(nodes, n, leaf_chance, number, chance):
    """How probable it is that a node is true."""
    return leaf_chance[nodes[n, ATOMS]] if nodes[n, KIND] == LEAF else chance[number[n]]


@kernel
def find_chances(forest, order, number, leaf_chance, chance):
    """By inner node: how probable it is, if all children are independent. `order` has the nodes level by level."""
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    for i in range(order.size):
        is_and = nodes[order[i], KIND] == AND_NODE
        product = 1.0
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            own = chance_of(nodes, edges[edge, CHILD], leaf_chance, number, chance)
            product *= own if is_and else 1.0 - own
            edge = np.int64(edges[edge, NEXT_CHILD])
        chance[i] = product if is_and else 1.0 - product


@kernel
def choose_access(forest, order, number, leaf_chance, chance, draw, access):
    """By AND node: the child that leads to it, the least probable one or, where `draw` is not empty, a random one."""
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    for i in range(order.size):
        access[i] = NONE
        if nodes[order[i], KIND] != AND_NODE:
            continue
        count, best = 0, np.inf
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            own = chance_of(nodes, edges[edge, CHILD], leaf_chance, number, chance)
            if own < best:
                best, access[i] = own, edges[edge, CHILD]
            count += 1
            edge = np.int64(edges[edge, NEXT_CHILD])
        if draw.size > 0:
            edge = np.int64(nodes[order[i], FIRST_CHILD])
            for _ in range(np.int64(draw[i] * count)):
                edge = np.int64(edges[edge, NEXT_CHILD])
            access[i] = edges[edge, CHILD]


@kernel
def find_asked(forest, order, number, leaf_chance, chance, access, is_found, leaf_found, asks, leaf_asks):
    """Which nodes must be found, from the highest level down? Those that are subscriptions, as `is_found` and
    `leaf_found` say before; the access child of an AND that is found, and all children of an OR that is. The others are
    only asked, how often is estimated in `asks` and `leaf_asks`, zero before."""
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    for i in range(order.size - 1, -1, -1):
        rate = asks[i]
        if is_found[i] and access[i] != NONE:
            rate = chance_of(nodes, access[i], leaf_chance, number, chance)
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            is_leaf = nodes[child, KIND] == LEAF
            if is_found[i] and (access[i] == NONE or access[i] == child):
                if is_leaf:
                    leaf_found[nodes[child, ATOMS]] = True
                else:
                    is_found[number[child]] = True
            elif is_leaf:
                leaf_asks[nodes[child, ATOMS]] += rate
            else:
                asks[number[child]] += rate
            edge = np.int64(edges[edge, NEXT_CHILD])


@inline
def guard_of(nodes, edges, n, access, leaf_chance, is_stabbed):
    """The least probable predicate among the children of an AND but its access child; NONE without any."""
    best, guard = np.inf, np.int64(NONE)
    edge = np.int64(nodes[n, FIRST_CHILD])
    while edge != NONE:
        child = edges[edge, CHILD]
        if child != access and nodes[child, KIND] == LEAF:
            p = np.int64(nodes[child, ATOMS])
            if is_stabbed[p] and leaf_chance[p] < best:
                best, guard = leaf_chance[p], p
        edge = np.int64(edges[edge, NEXT_CHILD])
    return guard


@inline
def put_word(words, record, column, skipped, word):
    """Write the next word of a part of a record, if it is not only being counted."""
    if words.size > 0:
        words[record + RECORD + skipped + words[record + column]] = word
        words[record + column] += 1


@kernel
def write_links(forest, order, number, access, found, leaf_chance, on_demand, keeps_all, sizes, record_start, words):
    """Write the links and others of all records.

    `found` is (is_found, is_stabbed): by inner node, and by predicate. sizes[source] counts others, slots and links;
    the first call, without any words, counts the first and the last. Without `on_demand` all children of an AND lead to
    it, and all are others; with `keeps_all` those of an OR are others too.
    """
    forest = unpack(forest, Forest)
    nodes, edges = forest.nodes, forest.edges
    is_found, is_stabbed = found
    predicates = sizes.shape[0] - order.size
    for i in range(order.size):
        n = order[i]
        is_and, own = nodes[n, KIND] == AND_NODE, predicates + i
        guard = np.int64(NONE)
        if is_found[i] and is_and and on_demand and not keeps_all:
            guard = guard_of(nodes, edges, n, access[i], leaf_chance, is_stabbed)
        edge = np.int64(nodes[n, FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            is_leaf = nodes[child, KIND] == LEAF
            p = np.int64(nodes[child, ATOMS])
            source = p if is_leaf else predicates + np.int64(number[child])
            is_linked = is_found[i] and (not (is_and and on_demand) or child == access[i])
            if is_linked:
                if words.size > 0:
                    record = record_start[source]
                    at = (
                        record
                        + RECORD
                        + sizes[source, OTHERS]
                        + sizes[source, SLOTS]
                        + LINK_WORDS * words[record + LINKS]
                    )
                    words[at + TARGET], words[at + GUARD] = i, guard
                    words[record + LINKS] += 1
                else:
                    sizes[source, LINKS] += 1
            is_settled = on_demand and (is_linked or (is_leaf and p == guard))
            if keeps_all or not is_found[i] or (is_and and not is_settled):
                if words.size > 0:
                    if is_leaf:
                        word = p if is_stabbed[p] else p + predicates
                    else:
                        other = np.int64(number[child])
                        word = ~other if is_found[other] else ~(other + order.size)
                    put_word(words, record_start[own], OTHERS, 0, word)
                else:
                    sizes[own, OTHERS] += 1
            edge = np.int64(edges[edge, NEXT_CHILD])


@kernel
def write_slots(source, slots, sizes, record_start, words):
    """Write the slots into the records of their sources."""
    for k in range(source.size):
        record = record_start[source[k]]
        put_word(words, record, SLOTS, sizes[source[k], OTHERS], slots[k])


@inline
def price_of(other, predicates, inner, leaf_chance, chance):
    """What is cheap to test and rarely true comes first."""
    if other >= predicates:
        return 1.0 + leaf_chance[other - predicates]
    if other >= 0:
        return leaf_chance[other]
    return chance[~other] if ~other < inner else 1.0 + chance[~other - inner]


@kernel
def sort_others(record_start, words, is_or, leaf_chance, chance, is_read):
    """Put the others of every inner node into the order in which they are best tested: those of an OR that is asked the
    most probable first. And note in `is_read`, zero before, which of them are inner nodes that are found."""
    inner, predicates = chance.size, leaf_chance.size
    for i in range(inner):
        record = record_start[predicates + i]
        first = record + RECORD
        for k in range(first, first + words[record + OTHERS]):
            if words[k] < 0 and ~words[k] < inner:
                set_true(is_read, ~words[k])
        for k in range(first + 1, first + words[record + OTHERS]):
            one, at = words[k], k
            own = price_of(one, predicates, inner, leaf_chance, chance)
            while at > first:
                before = price_of(words[at - 1], predicates, inner, leaf_chance, chance)
                if (before >= own) if is_or[i] else (before <= own):
                    break
                words[at] = words[at - 1]
                at -= 1
            words[at] = one
