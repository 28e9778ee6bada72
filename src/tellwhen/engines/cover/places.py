"""Terms -> clusters: the nodes that each term waits on, and the table in which an event finds them."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import VARIANT_COLUMNS, Access
from tellwhen.engines.cover.build_arrays import (
    KeyedPostings,
    KeyTable,
    NodeCandidates,
    NodeChoice,
    PredicateFacts,
    PredicateLists,
    Ranges,
    SpaceMass,
    TermColumns,
)
from tellwhen.engines.cover.kernels.places import ALWAYS, NODE_BITS, VARIANT_BITS, write_keys
from tellwhen.engines.cover.kernels.regroup import choose_nodes, count_candidates, find_movable_terms
from tellwhen.kernels.arrays import I32, I64, NEVER, U8, Flags
from tellwhen.kernels.handover import pack

TABLE_SIZE_MIN, TABLE_SIZE_MAX = 1 << 10, 1 << 23
"""The least and the greatest size of the hash table that counts the terms of every node."""


def place_terms(covers: PredicateLists, facts: PredicateFacts, cut_start: I64, kind: U8) -> KeyedPostings:
    """Place every term on the nodes of its cover."""
    arguments = pack(covers), pack(facts.ranges), facts.is_apart, cut_start
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    count = write_keys(*arguments, *nothing)
    keys, owners = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    write_keys(*arguments, keys, owners)
    order = np.argsort(keys, kind="stable")
    order = order[kind[owners[order]] != NEVER]
    return KeyedPostings(keys[order], owners[order], find_implied(covers, facts))


def find_implied(covers: PredicateLists, facts: PredicateFacts) -> I32:
    """Return for every term a predicate that is true of all events that find it, or -1.

    Such a predicate is the whole cover, and waits on nodes of exactly its own spaces.
    """
    ranges = facts.ranges
    wide = np.repeat(np.arange(len(ranges.domain)), np.diff(ranges.start))[ranges.first != ranges.last]
    is_exact = (ranges.negated == 0) & (facts.is_apart | (np.diff(ranges.start) == 1))
    is_exact[wide] = False
    implied = np.full(len(covers.start) - 1, -1, dtype=np.int32)
    alone = np.flatnonzero(np.diff(covers.start) == 1)
    predicate = covers.predicate[covers.start[alone]]
    implied[alone] = np.where(is_exact[predicate], predicate, -1)
    return implied


def move_to_always_cluster(postings: KeyedPostings, is_moved: Flags) -> KeyedPostings:
    """Move some terms to the cluster that every event opens."""
    moved, stays = np.flatnonzero(is_moved).astype(np.int32), ~is_moved[postings.term]
    keys = np.concatenate([np.full(len(moved), ALWAYS), postings.key[stays]])  # ALWAYS is the least key
    terms = np.concatenate([moved, postings.term[stays]])
    return KeyedPostings(keys, terms, np.where(is_moved, -1, postings.implied))


def regroup_terms(
    postings: KeyedPostings, conjunct: TermColumns, facts: PredicateFacts, spaces: SpaceMass
) -> KeyedPostings:
    """Move the terms of small clusters to nodes that they share with others."""
    ranges, terms = facts.ranges, len(postings.implied)
    is_movable = np.zeros(terms, dtype=np.bool_)
    find_movable_terms(pack(postings), pack(conjunct), is_movable)
    size = min(TABLE_SIZE_MAX, max(TABLE_SIZE_MIN, 1 << int(8 * terms).bit_length()))
    table = KeyTable(np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64), np.zeros(1, dtype=np.int64))
    longest = int(np.diff(conjunct.start).max(initial=0))
    levels = int(np.diff(spaces.cut_start).max(initial=0)).bit_length() + 2
    room = 2 * longest * levels
    candidates = NodeCandidates(np.empty(room, dtype=np.int64), np.empty(room), np.empty(room, dtype=np.int64))
    choice = NodeChoice(*np.full((2, terms), -1, dtype=np.int64))
    arguments = pack(postings), pack(conjunct), is_movable, pack(ranges), pack(spaces), pack(candidates), pack(table)
    count_candidates(*arguments)
    choose_nodes(*arguments, pack(choice))

    is_moved = choice.key >= 0
    moved, stays = np.flatnonzero(is_moved), ~is_moved[postings.term]
    keys = np.concatenate([postings.key[stays], choice.key[moved]])
    order = np.argsort(keys, kind="stable")
    implied = postings.implied.copy()
    implied[moved] = _find_implied_by_node(choice.key[moved], choice.predicate[moved], ranges)
    return KeyedPostings(keys[order], np.concatenate([postings.term[stays], moved.astype(np.int32)])[order], implied)


def _find_implied_by_node(key: I64, predicate: I64, ranges: Ranges) -> I64:
    """Return the predicates that are true of all values on the node around them, and -1 for the others."""
    variant = key >> NODE_BITS & ((1 << VARIANT_BITS) - 1)
    first = ranges.start[predicate]
    is_point = (variant == 0) & (ranges.first[first] == ranges.last[first])
    return np.where(is_point, predicate, -1)


def build_access(keys: I64, domains: int) -> tuple[Access, I64]:
    """Build the cluster directory of ascending keys; return it, and the offset of each cluster's postings."""
    key, first = np.unique(keys, return_index=True)
    has_always = int(len(key) > 0 and key[0] == ALWAYS)
    # Cluster 0 is that of ALWAYS, with or without postings.
    start = np.concatenate([[0], first[has_always:], [len(keys)]])
    key = key[has_always:]
    kind, node = key >> NODE_BITS, key & ((1 << NODE_BITS) - 1)
    variant, begin, count = np.unique(kind, return_index=True, return_counts=True)
    last = begin + count - 1
    variants = np.zeros((len(variant), VARIANT_COLUMNS), dtype=np.int64)
    number = variant & ((1 << VARIANT_BITS) - 1)
    level = number >> 1
    nodes = node[last] - node[begin] + 1
    table = np.concatenate([[0], np.cumsum(nodes)])
    half = np.where(number & 1, (1 << level) >> 1, 0)
    for column, values in enumerate((level, half, node[begin], nodes, table[:-1])):
        variants[:, column] = values
    cluster = np.full(table[-1], -1, dtype=np.int32)
    cluster[np.repeat(table[:-1] - node[begin], count) + node] = np.arange(1, len(key) + 1)
    variant_start = np.searchsorted(variant >> VARIANT_BITS, np.arange(domains + 1))
    return Access(variant_start, variants, cluster), start
