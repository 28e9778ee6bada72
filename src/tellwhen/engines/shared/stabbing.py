"""Build stabbing indexes: for every interval of every predicate, the members that wait for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.engines.shared.calls import make_sizes
from tellwhen.engines.shared.kernels.stabbing import place_members
from tellwhen.engines.shared.kernels.true_predicates import Satisfied
from tellwhen.kernels import stabbing as kernels
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, U8, Predicates, Runs, Snapshot, Stabbing

RUNS_SIZE = make_sizes(Runs, begin=kernels.MAX_RUNS, end=kernels.MAX_RUNS)
"""Sizes of the scratch for stabbing."""


def make_satisfied_sizes(snapshot: Snapshot) -> Any:
    """Return the sizes of `Satisfied` for a snapshot."""
    predicates = len(snapshot.predicates.domain)
    return make_sizes(
        Satisfied,
        runs=RUNS_SIZE,
        first_entry=snapshot.domains,
        truth=predicates // 64 + 1,
        listed=predicates + 1,
    )


def build_stabbing(
    predicates: Predicates, domains: int, owner_start: I64, owner_code: I32, in_one_tree: bool = False
) -> Stabbing:
    """Build an index whose members are owners: o waits for the predicates owner_code[owner_start[o]:owner_start[o+1]].

    With `in_one_tree`, one segment tree per domain has all intervals but those without an end, as in textbooks, instead
    of sorted lists for points and for intervals without a beginning.
    """
    if not len(owner_code):
        return make_empty_stabbing(domains)
    used = np.zeros(len(predicates.domain), dtype=bool)
    used[owner_code] = True
    shape = _classify_shapes(predicates, used)
    if in_one_tree:
        shape[(shape == kernels.POINT) | (shape == kernels.UPTO)] = kernels.SPAN
    domain = np.repeat(predicates.domain, np.diff(predicates.start))
    first_key, last_key = np.zeros(len(shape), dtype=np.int64), np.zeros(len(shape), dtype=np.int64)

    key_start, keys = np.zeros((4, domains + 1), dtype=np.int64), []
    count = 0
    for kind, ends in enumerate((predicates.low, predicates.high, predicates.low)):
        chosen = np.flatnonzero(shape == kind)
        key_start[kind], found, number = number_keys(domain[chosen], ends[chosen], domains)
        first_key[chosen] = count + number
        key_start[kind] += count
        keys.append(found)
        count += len(found)
    chosen = np.flatnonzero(shape == kernels.SPAN)
    both = np.concatenate([predicates.low[chosen], predicates.high[chosen] + 1])
    key_start[kernels.SPAN], found, number = number_keys(np.tile(domain[chosen], 2), both, domains)
    first_key[chosen], last_key[chosen] = np.split(count + number, 2)
    key_start[kernels.SPAN] += count
    keys.append(found)

    flat = key_start.reshape(-1)
    lists = count + 2 * len(found)
    placed = place_members(owner_start, owner_code, predicates, shape, first_key, last_key, flat, lists)
    return Stabbing(flat, np.concatenate(keys), *placed)


def _classify_shapes(predicates: Predicates, used: np.ndarray) -> U8:
    """Return the shape of every interval."""
    low, high = predicates.low, predicates.high
    unused = np.repeat(~used, np.diff(predicates.start))
    return np.select(
        [unused, high == HIGHEST, low == LOWEST, low == high],
        [kernels.UNUSED, kernels.SINCE, kernels.UPTO, kernels.POINT],
        kernels.SPAN,
    ).astype(np.uint8)


def build_predicate_stabbing(
    predicates: Predicates, domains: int, predicate: I32, in_one_tree: bool = False
) -> Stabbing:
    """Build an index whose members are predicates: those in `predicate`, which may repeat."""
    in_use = np.zeros(len(predicates.domain), dtype=bool)
    in_use[predicate] = True
    upto = np.concatenate([[0], np.cumsum(in_use)])
    return build_stabbing(predicates, domains, upto, np.flatnonzero(in_use).astype(np.int32), in_one_tree)


def relabel_stabbing(stabbing: Stabbing, moves: Iterable[tuple[int, LabelMoves]]) -> Stabbing:
    """Return the same index after some domains were relabelled."""
    key_start, keys = stabbing.key_start.reshape(4, -1), stabbing.keys.copy()
    for domain, relabelled in moves:
        if domain < key_start.shape[1] - 1:
            for shape in key_start:
                mine = slice(shape[domain], shape[domain + 1])
                keys[mine] = relabelled.map_points(keys[mine])
    return stabbing._replace(keys=keys)


def number_keys(domain: I32, key: I64, domains: int) -> tuple[I64, I64, I64]:
    """Sort and number the distinct keys, domain by domain.

    Return where the keys of each domain begin, the keys, and the number of every input key.
    """
    order = _sort_by_domain(domain, key, domains)
    domain, key = domain[order], key[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (domain[1:] != domain[:-1]) | (key[1:] != key[:-1])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    return np.searchsorted(domain[fresh], np.arange(domains + 1)), key[fresh], number


def _sort_by_domain(domain: I32, key: I64, domains: int) -> I64:
    """Sort by domain, then by key, as np.lexsort((key, domain)) does, in half the time; equal pairs may swap."""
    if domains > 1 << 16:
        return np.lexsort((key, domain))
    order = np.argsort(key)
    by_domain: I64 = np.argsort(domain[order].astype(np.uint16), kind="stable")  # NumPy sorts 16 bits by radix
    return order[by_domain]


def make_empty_stabbing(domains: int = 0) -> Stabbing:
    """Return a stabbing index without intervals."""
    wide, narrow = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    return Stabbing(np.zeros(4 * (domains + 1), dtype=np.int64), wide, np.zeros(1, dtype=np.int64), narrow)
