"""Terms -> clusters: on which nodes does each term wait, and how does an event find them?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tellwhen.engines.cover.arrays import VARIANT_COLUMNS, Access, Lists, Ranges, TermColumns
from tellwhen.engines.cover.kernels.places import ALWAYS, NODE_BITS, VARIANT_BITS, write_keys
from tellwhen.engines.cover.kernels.regroup import regroup
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import F64, I32, I64, NEVER, U8


def place_terms(covers: Lists, ranges: Ranges, is_apart: np.ndarray, cut_start: I64, kind: U8) -> tuple[I64, I32]:
    """The keys of all postings, ascending, and the subscription of each."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    count = write_keys(covers, ranges, is_apart, cut_start, *nothing)
    keys, owners = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    write_keys(covers, ranges, is_apart, cut_start, keys, owners)
    order = np.argsort(keys, kind="stable")
    order = order[kind[owners[order]] != NEVER]
    return keys[order], owners[order]


def find_implied(covers: Lists, ranges: Ranges, is_apart: NDArray[np.bool_]) -> I32:
    """By term: a predicate that is true whenever the term is found; -1 if there is none.

    That is so if it is the whole cover, and waits on nodes of exactly its own spaces.
    """
    wide = np.repeat(np.arange(len(ranges.domain)), np.diff(ranges.start))[ranges.first != ranges.last]
    is_exact = (ranges.negated == 0) & (is_apart | (np.diff(ranges.start) == 1))
    is_exact[wide] = False
    found = np.full(len(covers.start) - 1, -1, dtype=np.int32)
    alone = np.flatnonzero(np.diff(covers.start) == 1)
    predicate = covers.predicate[covers.start[alone]]
    found[alone] = np.where(is_exact[predicate], predicate, -1)
    return found


def regroup_terms(
    keys: I64, terms: I32, conjunct: TermColumns, ranges: Ranges, known: Spaces, mass: F64, known_true: I32
) -> tuple[I64, I32]:
    """Move terms of small clusters together; returns the keys and terms of all postings. Changes `known_true`."""
    size = 1 << max(10, int(8 * len(known_true)).bit_length())
    table, counts = np.zeros((2, min(size, 1 << 23)), dtype=np.int64)
    chosen_key, chosen_predicate = np.empty((2, len(known_true)), dtype=np.int64)
    regroup(keys, terms, conjunct, ranges, known.cut_start, mass, table, counts, chosen_key, chosen_predicate)
    stays = chosen_key[terms] < 0
    moved = np.flatnonzero(chosen_key >= 0)
    variant = chosen_key[moved] >> NODE_BITS & ((1 << VARIANT_BITS) - 1)
    first = ranges.start[chosen_predicate[moved]]
    is_point = (variant == 0) & (ranges.first[first] == ranges.last[first])
    known_true[moved] = np.where(is_point, chosen_predicate[moved], -1)
    keys = np.concatenate([keys[stays], chosen_key[moved]])
    terms = np.concatenate([terms[stays], moved.astype(np.int32)])
    order = np.argsort(keys, kind="stable")
    return keys[order], terms[order]


def build_access(keys: I64, domains: int) -> tuple[Access, I64]:
    """How an event finds the clusters of ascending keys, and where the postings of each cluster begin."""
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
