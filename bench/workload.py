"""Conjunctions with a chosen share of matches, as arrays: 7 predicates on average over a small domain.

30 % equality; the rest <=, >=, BETWEEN over an eighth of the domain, and IN of up to 6 values. Every subscription is
derived from one of 1/p base events so that it matches that one; events are base events. So an event matches a share p
of all subscriptions, and a few by chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates

CARDINALITY = 48
WIDTH = 6  # of a BETWEEN: 12 % of the domain


class Workload(NamedTuple):
    """Subscriptions as rows of predicates, each a set of values: bit v of `mask` says that v satisfies it."""

    start: I64  # |0|7|13|        predicates of subscription s are start[s]:start[s+1]
    attribute: I32
    mask: np.ndarray  # uint64
    low: I64
    high: I64
    is_set: np.ndarray  # IN: the mask counts, not low..high
    events: np.ndarray  # int32[events, attributes], -1 for an attribute that is missing
    attributes: int


def make(subscriptions: int, events: int, attributes: int, present: int, share: float, seed: int = 7) -> Workload:
    """A workload of that many subscriptions; an event has `present` of the attributes."""
    rng = np.random.default_rng(seed)
    bases = max(1, round(1 / share))
    used = np.argsort(rng.random((bases, attributes)), axis=1)[:, :present]
    value = rng.integers(0, CARDINALITY, (bases, present))

    size = rng.integers(4, 11, subscriptions)
    start = np.zeros(subscriptions + 1, dtype=np.int64)
    np.cumsum(size, out=start[1:])
    total = int(start[-1])
    base = np.repeat(rng.integers(0, bases, subscriptions), size)
    # A random choice of `size` of the base's attributes: the smallest of random keys, 100k subscriptions at a time.
    which = np.concatenate(
        [
            np.argsort(rng.random((len(block), present)), axis=1)[np.arange(present) < block[:, None]]
            for block in np.array_split(size, max(1, subscriptions // 100_000))
        ]
    )
    v = value[base, which]

    kind = rng.choice(5, total, p=[0.3, 0.175, 0.175, 0.175, 0.175])
    low = np.where(kind == 0, v, 0)
    high = np.where(kind == 0, v, CARDINALITY - 1)
    high = np.where(kind == 1, v + (rng.random(total) * (CARDINALITY - v)).astype(int), high)  # <=
    low = np.where(kind == 2, (rng.random(total) * (v + 1)).astype(int), low)  # >=
    begin = np.clip(v - rng.integers(0, WIDTH, total), 0, CARDINALITY - WIDTH)
    low, high = np.where(kind == 3, begin, low), np.where(kind == 3, begin + WIDTH - 1, high)
    one = np.uint64(1)
    full = (one << (high - low + 1).astype(np.uint64)) - one
    mask = full << low.astype(np.uint64)
    members = one << v.astype(np.uint64)
    for extra in range(5):
        more = one << rng.integers(0, CARDINALITY, total).astype(np.uint64)
        members = np.where(rng.integers(0, 6, total) > extra, members | more, members)
    mask = np.where(kind == 4, members, mask)

    chosen = rng.integers(0, bases, events)
    table = np.full((events, attributes), -1, dtype=np.int32)
    table[np.arange(events)[:, None], used[chosen]] = value[chosen]
    return Workload(
        start,
        used[base, which].astype(np.int32),
        mask,
        low.astype(np.int64),
        high.astype(np.int64),
        kind == 4,
        table,
        attributes,
    )


def literals(work: Workload) -> Predicates:
    """Its predicates on int lines: line a is attribute a, value v is the point 2v."""
    bits = (work.mask[work.is_set, None] >> np.arange(CARDINALITY, dtype=np.uint64)) & np.uint64(1) != 0
    lengths = np.ones(len(work.mask), dtype=np.int64)
    lengths[work.is_set] = bits.sum(axis=1)
    start = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    low, high = np.empty(start[-1], dtype=np.int64), np.empty(start[-1], dtype=np.int64)
    single = start[:-1][~work.is_set]
    low[single] = np.where(work.low > 0, 2 * work.low, LOWEST)[~work.is_set]
    high[single] = np.where(work.high < CARDINALITY - 1, 2 * work.high, HIGHEST)[~work.is_set]
    # A point at the edge of the domain is a point, not a half-line.
    points = (work.low == work.high)[~work.is_set]
    low[single[points]] = high[single[points]] = 2 * work.low[~work.is_set][points]
    inside = np.repeat(work.is_set, lengths)
    low[inside] = high[inside] = 2 * np.nonzero(bits)[1]
    return Predicates(work.attribute, np.zeros(len(lengths), dtype=np.uint8), start, low, high)


def texts(work: Workload, limit: int) -> list[str]:
    """The first subscriptions as text."""
    found = []
    for s in range(limit):
        parts = []
        for i in range(work.start[s], work.start[s + 1]):
            name, low, high = f"a{work.attribute[i]}", work.low[i], work.high[i]
            if work.is_set[i]:
                members = [v for v in range(CARDINALITY) if int(work.mask[i]) >> v & 1]
                parts.append(f"{name} IN ({', '.join(map(str, members))})")
            elif low == high:
                parts.append(f"{name} = {low}")
            elif low == 0:
                parts.append(f"{name} <= {high}")
            elif high == CARDINALITY - 1:
                parts.append(f"{name} >= {low}")
            else:
                parts.append(f"{name} BETWEEN {low} AND {high}")
        found.append(" AND ".join(parts))
    return found
