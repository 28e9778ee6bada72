"""Which keys does a conjunction have? All combinations of a space of each of its access predicates, within limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.engines.shared.spaces import Spaces, widths
from tellwhen.kernels.arrays import I32, I64, I32Matrix, I64Matrix, Predicates
from tellwhen.papers.ps_tree.arrays import MAX_LISTS
from tellwhen.papers.ps_tree.psthash.arrays import MAX_COMBINATIONS, Cursor, KeyTable
from tellwhen.papers.ps_tree.psthash.kernels.keys import enumerate_keys, rehash

INITIAL_KEYS = 1 << 11
"""Keys that there is room for at first."""


class Keys(NamedTuple):
    """The distinct keys of conjunctions, numbered. A pair is a conjunction and one of its keys."""

    is_used: np.ndarray  # [conjunctions, access]    does this access predicate make keys?
    pair_start: I64  # |0|4|4|6|    pairs of conjunction c are pair_start[c]:pair_start[c+1]
    pairs: I32  # |0 1 2 3|2 7|    the number of the key
    keys: I32Matrix  # as in PSTHashIndex
    table: I32


def number_keys(access: I64Matrix, predicates: Predicates, spaces: Spaces) -> Keys:
    """The keys of all conjunctions. Row c of `access` has the access predicates of conjunction c, then -1."""
    depth, count = _limited(np.append(widths(spaces, predicates), MAX_LISTS + 1)[access])
    is_used = np.arange(access.shape[1]) < depth[:, None]
    used = np.where(is_used, access, -1)
    pair_start = np.concatenate([[0], np.cumsum(count)])
    pairs = np.empty(pair_start[-1], dtype=np.int32)
    predicate, interval, space = np.empty((3, access.shape[1]), dtype=np.int64)
    cursor = Cursor(predicate, interval, space, np.empty(access.shape[1], dtype=np.int32))
    known = _empty(INITIAL_KEYS, access.shape[1])
    done = enumerate_keys(used, pair_start, pairs, predicates, spaces, known, cursor, 0)
    while done < len(access):
        known = _doubled(known)
        done = enumerate_keys(used, pair_start, pairs, predicates, spaces, known, cursor, done)
    return Keys(is_used, pair_start, pairs, known.keys[: known.used[0]].copy(), known.table)


def _limited(width: I64Matrix) -> tuple[I64, I64]:
    """By conjunction: how many of its access predicates make keys, and the number of keys that makes.

    width[c, n] is the number of spaces that access predicate n of conjunction c covers.
    """
    combinations = np.cumprod(width.astype(np.float64), axis=1)
    first = combinations[:, :1]
    limit = np.where(first > MAX_LISTS, 0, np.maximum(first, MAX_COMBINATIONS))
    depth = np.count_nonzero(combinations <= limit, axis=1)
    return depth, np.where(depth > 0, combinations[np.arange(len(depth)), depth - 1], 0).astype(np.int64)


def _empty(room: int, access: int) -> KeyTable:
    return KeyTable(
        table=np.zeros(2 * room, dtype=np.int32),
        keys=np.empty((room, access), dtype=np.int32),
        used=np.zeros(1, dtype=np.int64),
    )


def _doubled(known: KeyTable) -> KeyTable:
    grown = _empty(2 * len(known.keys), known.keys.shape[1])
    grown.keys[: len(known.keys)] = known.keys
    grown.used[:] = known.used
    rehash(grown)
    return grown
