"""Build a `Stabbing` index: for every interval of every predicate, who waits for it."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels import stabbing as kernels
from tellwhen.kernels.arrays import I32, I64, Predicates, Stabbing


def build(predicates: Predicates, lines: int, row_start: I64, row_code: I32) -> Stabbing:
    """Rows wait for the intervals of their predicates: row r for those of row_code[row_start[r]:row_start[r+1]]."""
    used = np.zeros(len(predicates.line), dtype=np.uint8)
    used[row_code] = 1
    shape = np.empty(len(predicates.low), dtype=np.uint8)
    kernels.classify(predicates, used, shape)
    line = np.repeat(predicates.line, np.diff(predicates.start))
    where = np.zeros(len(shape), dtype=np.int64)
    upto = np.zeros(len(shape), dtype=np.int64)

    starts, keys = np.zeros((4, lines + 1), dtype=np.int64), []
    count = 0
    for kind, ends in enumerate((predicates.low, predicates.high, predicates.low)):
        chosen = np.flatnonzero(shape == kind)
        starts[kind], found, number = numbered(line[chosen], ends[chosen], lines)
        where[chosen] = count + number
        starts[kind] += count
        keys.append(found)
        count += len(found)
    chosen = np.flatnonzero(shape == kernels.SPAN)
    both = np.concatenate([predicates.low[chosen], predicates.high[chosen] + 1])
    starts[kernels.SPAN], found, number = numbered(np.tile(line[chosen], 2), both, lines)
    where[chosen], upto[chosen] = np.split(count + number, 2)
    starts[kernels.SPAN] += count
    keys.append(found)

    flat = starts.reshape(-1)
    lists = count + 2 * len(found)
    placed = kernels.place_members(row_start, row_code, predicates, shape, where, upto, flat, lines + 1, lists)
    return Stabbing(flat, np.concatenate(keys), *placed)


def build_for(predicates: Predicates, lines: int, predicate: I32) -> Stabbing:
    """Whose members are the predicates themselves, those that rows use, given with repetition."""
    in_use = np.zeros(len(predicates.line), dtype=bool)
    in_use[predicate] = True
    upto = np.concatenate([[0], np.cumsum(in_use)])
    return build(predicates, lines, upto, np.flatnonzero(in_use).astype(np.int32))


def numbered(line: I32, key: I64, lines: int) -> tuple[I64, I64, I64]:
    """Distinct keys line by line: where each line's begin, the keys, and every input's number among them."""
    order = kernels.sort_keys(line, key, lines)
    line, key = line[order], key[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (line[1:] != line[:-1]) | (key[1:] != key[:-1])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    return np.searchsorted(line[fresh], np.arange(lines + 1)), key[fresh], number


def nothing() -> Stabbing:
    """An index of no line."""
    return build(
        Predicates(*(np.zeros(n, dtype=t) for n, t in ((0, "i4"), (0, "u1"), (1, "i8"), (0, "i8"), (0, "i8")))),
        0, np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32),
    )  # fmt: skip
