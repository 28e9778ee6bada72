"""Lay out a forest: decide which nodes links reach, which child leads to an AND, and what is tested at an AND."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.kernels.tree import AND_NODE, LEAF
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
    RECORD,
    SLOTS,
    TARGET,
    TESTS,
    Forest,
)
from tellwhen.engines.atree.build_arrays import EvaluationPlan, InnerNodes, Propagation, Reach, Records
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel
from tellwhen.kernels.truth import set_true

FREQUENT_CHANCE, COST_RATIO = 0.6, 8.0
"""Limits for a predicate that is tested on demand, instead of being found by stabbing.

More than 60 % of the events must satisfy it (such a predicate is mostly a complement), and it must be tested on demand
less than an eighth as often.
"""


@inline
def get_chance(nodes, n, inner, leaf_chance):
    """Return the probability that a node is true."""
    return leaf_chance[nodes[n, ATOMS]] if nodes[n, KIND] == LEAF else inner.chance[inner.number[n]]


@kernel
def compute_chances(forest, inner, leaf_chance):
    """Compute the probability of every inner node in inner.chance, as if all children were independent."""
    forest, inner = unpack(forest, Forest), unpack(inner, InnerNodes)
    nodes, edges, order = forest.nodes, forest.edges, inner.order
    for i in range(order.size):
        is_and = nodes[order[i], KIND] == AND_NODE
        product = 1.0
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            chance = get_chance(nodes, edges[edge, CHILD], inner, leaf_chance)
            product *= chance if is_and else 1.0 - chance
            edge = np.int64(edges[edge, NEXT_CHILD])
        inner.chance[i] = product if is_and else 1.0 - product


@kernel
def choose_access_children(forest, inner, leaf_chance, draw):
    """Choose the access child of each AND: the least probable child or, where `draw` is not empty, a random one."""
    forest, inner = unpack(forest, Forest), unpack(inner, InnerNodes)
    nodes, edges, order, access = forest.nodes, forest.edges, inner.order, inner.access
    for i in range(order.size):
        access[i] = NONE
        if nodes[order[i], KIND] != AND_NODE:
            continue
        count, least = 0, np.inf
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            chance = get_chance(nodes, edges[edge, CHILD], inner, leaf_chance)
            if chance < least:
                least, access[i] = chance, edges[edge, CHILD]
            count += 1
            edge = np.int64(edges[edge, NEXT_CHILD])
        if draw.size > 0:
            edge = np.int64(nodes[order[i], FIRST_CHILD])
            for _ in range(np.int64(draw[i] * count)):
                edge = np.int64(edges[edge, NEXT_CHILD])
            access[i] = edges[edge, CHILD]


@kernel
def mark_reached_nodes(forest, inner, leaf_chance, reach):
    """Mark the nodes that links must lead to, from the highest level down; estimate how often the rest are evaluated.

    Before, `reach` marks the nodes that are subscriptions. A reached AND marks its access child, and a reached OR marks
    all of its children. The remaining children are evaluated on demand.
    """
    forest, inner, reach = unpack(forest, Forest), unpack(inner, InnerNodes), unpack(reach, Reach)
    nodes, edges, order = forest.nodes, forest.edges, inner.order
    for i in range(order.size - 1, -1, -1):
        rate, access = reach.evaluations[i], inner.access[i]
        if reach.is_reached[i] and access != NONE:
            rate = get_chance(nodes, access, inner, leaf_chance)
        edge = np.int64(nodes[order[i], FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            is_leaf = nodes[child, KIND] == LEAF
            if reach.is_reached[i] and (access == NONE or access == child):
                if is_leaf:
                    reach.is_leaf_stabbed[nodes[child, ATOMS]] = True
                else:
                    reach.is_reached[inner.number[child]] = True
            elif is_leaf:
                reach.leaf_tests[nodes[child, ATOMS]] += rate
            else:
                reach.evaluations[inner.number[child]] += rate
            edge = np.int64(edges[edge, NEXT_CHILD])


@inline
def choose_guard(i, forest, inner, leaf_chance, plan, propagation):
    """Return the guard of inner node i: the least probable stabbed predicate among the children of a reached AND.

    The access child cannot be the guard. Return NONE for other nodes, and for an AND without such a child.
    """
    nodes, edges, n = forest.nodes, forest.edges, inner.order[i]
    least, guard = np.inf, np.int64(NONE)
    is_guarded = propagation.on_demand and not propagation.keeps_all
    if not (is_guarded and plan.is_reached[i] and nodes[n, KIND] == AND_NODE):
        return guard
    edge = np.int64(nodes[n, FIRST_CHILD])
    while edge != NONE:
        child = edges[edge, CHILD]
        if child != inner.access[i] and nodes[child, KIND] == LEAF:
            p = np.int64(nodes[child, ATOMS])
            if plan.is_stabbed[p] and leaf_chance[p] < least:
                least, guard = leaf_chance[p], p
        edge = np.int64(edges[edge, NEXT_CHILD])
    return guard


@inline
def get_record_number(child, forest, inner, predicates):
    """Return the number of a node's record: its predicate, or `predicates` + its number among the inner nodes."""
    if forest.nodes[child, KIND] == LEAF:
        return np.int64(forest.nodes[child, ATOMS])
    return predicates + np.int64(inner.number[child])


@inline
def is_linked(i, child, forest, inner, plan, propagation):
    """Return whether a link leads from a child to inner node i."""
    if not plan.is_reached[i]:
        return False
    is_and = forest.nodes[inner.order[i], KIND] == AND_NODE
    return not (is_and and propagation.on_demand) or child == inner.access[i]


@inline
def needs_test(i, child, guard, has_link, forest, inner, plan, propagation):
    """Return whether the evaluation of inner node i must test this child.

    If only true results are propagated, a reached OR tests nothing, because a true child has led to it. If they are
    propagated on demand too, a reached AND tests neither its access child, which has led to it, nor its guard, which
    was true when the AND was queued.
    """
    if propagation.keeps_all or not plan.is_reached[i]:
        return True
    is_guard = forest.nodes[child, KIND] == LEAF and np.int64(forest.nodes[child, ATOMS]) == guard
    is_settled = propagation.on_demand and (has_link or is_guard)
    return forest.nodes[inner.order[i], KIND] == AND_NODE and not is_settled


@kernel
def count_links(forest, inner, leaf_chance, plan, propagation, sizes):
    """Count the tests and the links of all records."""
    forest, inner = unpack(forest, Forest), unpack(inner, InnerNodes)
    plan, propagation = unpack(plan, EvaluationPlan), unpack(propagation, Propagation)
    nodes, edges, predicates = forest.nodes, forest.edges, leaf_chance.size
    for i in range(inner.order.size):
        guard = choose_guard(i, forest, inner, leaf_chance, plan, propagation)
        edge = np.int64(nodes[inner.order[i], FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            has_link = is_linked(i, child, forest, inner, plan, propagation)
            sizes[get_record_number(child, forest, inner, predicates), LINKS] += has_link
            sizes[predicates + i, TESTS] += needs_test(i, child, guard, has_link, forest, inner, plan, propagation)
            edge = np.int64(edges[edge, NEXT_CHILD])


@inline
def append_link(source, target, guard, records):
    """Write the next link of a record."""
    words, sizes = records.words, records.sizes
    record = records.start[source]
    links = record + RECORD + sizes[source, TESTS] + sizes[source, SLOTS]
    at = links + LINK_WORDS * words[record + LINKS]
    words[at + TARGET], words[at + GUARD] = target, guard
    words[record + LINKS] += 1


@inline
def encode_test(child, forest, inner, plan, predicates):
    """Encode a child as one of the tests of a node: the word that `kernels/match.py` describes."""
    if forest.nodes[child, KIND] == LEAF:
        p = np.int64(forest.nodes[child, ATOMS])
        return p if plan.is_stabbed[p] else p + predicates
    number = np.int64(inner.number[child])
    return ~number if plan.is_reached[number] else ~(number + inner.order.size)


@inline
def append_word(words, record, count_column, offset, word):
    """Append a word to the tests or the slots of a record, which begin `offset` words behind its header.

    `count_column` is TESTS or SLOTS: the header word that counts them.
    """
    words[record + RECORD + offset + words[record + count_column]] = word
    words[record + count_column] += 1


@kernel
def write_links(forest, inner, leaf_chance, plan, propagation, records):
    """Write the links and tests of all records, which are zero before."""
    forest, inner = unpack(forest, Forest), unpack(inner, InnerNodes)
    plan, propagation = unpack(plan, EvaluationPlan), unpack(propagation, Propagation)
    records = unpack(records, Records)
    nodes, edges, predicates = forest.nodes, forest.edges, leaf_chance.size
    for i in range(inner.order.size):
        guard = choose_guard(i, forest, inner, leaf_chance, plan, propagation)
        edge = np.int64(nodes[inner.order[i], FIRST_CHILD])
        while edge != NONE:
            child = edges[edge, CHILD]
            has_link = is_linked(i, child, forest, inner, plan, propagation)
            if has_link:
                append_link(get_record_number(child, forest, inner, predicates), i, guard, records)
            if needs_test(i, child, guard, has_link, forest, inner, plan, propagation):
                word = encode_test(child, forest, inner, plan, predicates)
                append_word(records.words, records.start[predicates + i], TESTS, 0, word)
            edge = np.int64(edges[edge, NEXT_CHILD])


@kernel
def write_slots(source, slots, records):
    """Write the slots into the records of their sources."""
    records = unpack(records, Records)
    for k in range(source.size):
        append_word(records.words, records.start[source[k]], SLOTS, records.sizes[source[k], TESTS], slots[k])


@inline
def price_test(test, predicates, inner, leaf_chance, chance):
    """Return the price by which tests are sorted: low for a child that is cheap to test and rarely true."""
    if test >= predicates:
        return 1.0 + leaf_chance[test - predicates]
    if test >= 0:
        return leaf_chance[test]
    return chance[~test] if ~test < inner else 1.0 + chance[~test - inner]


@kernel
def sort_tests(records, is_or, leaf_chance, chance, is_read):
    """Sort the tests of every inner node by price, the lowest first.

    The tests of an OR are sorted with the most probable first. Sets the bits in `is_read`, zero before, of the reached
    inner nodes that some node tests.
    """
    records = unpack(records, Records)
    words = records.words
    inner, predicates = chance.size, leaf_chance.size
    for i in range(inner):
        record = records.start[predicates + i]
        first = record + RECORD
        end = first + words[record + TESTS]
        for k in range(first, end):
            if words[k] < 0 and ~words[k] < inner:
                set_true(is_read, ~words[k])
        for k in range(first + 1, end):
            word, at = words[k], k
            price = price_test(word, predicates, inner, leaf_chance, chance)
            while at > first:
                before = price_test(words[at - 1], predicates, inner, leaf_chance, chance)
                if (before >= price) if is_or[i] else (before <= price):
                    break
                words[at] = words[at - 1]
                at -= 1
            words[at] = word
