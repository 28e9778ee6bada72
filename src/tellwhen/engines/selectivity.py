"""How selective are lines and predicates? What engines choose pivots and access predicates by.

From typical events, if the store has seen some (`Index.observe`). If not, it is guessed from the subscriptions.
"""

from __future__ import annotations

import numpy as np

from tellwhen.compile.subscriptions import Store, View
from tellwhen.engines.pstree import PSTree, intervals_of
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates

EQUAL, ONE_OF, BETWEEN, ONE_SIDED, NONE_OF, NOT_EQUAL, ANY = range(7)
"""Operators, as points and intervals show them, the most selective first (PS-Tree, section 3.3)."""


def frequency(store: Store, predicate: I32) -> np.ndarray:
    """By line: the share of events that carry it (OpIndex, section 4.1).

    Without events, one that few predicates ask for is taken for one that few events carry. `predicate` has those that
    rows use, with repetition.
    """
    view, seen = store.view(), store.history
    if len(seen.plain):
        fresh = np.ones(len(seen.line), dtype=bool)  # a line may have several neighbouring entries
        fresh[1:] = seen.line[1:] != seen.line[:-1]
        fresh[seen.start[:-1][np.diff(seen.start) > 0]] = True
        known = fresh & (seen.line < view.lines)
        return np.bincount(seen.line[known], minlength=view.lines) / len(seen.plain)
    return np.bincount(view.predicates.line[predicate], minlength=view.lines) / max(1, len(predicate))


def ranking(store: Store, predicate: I32) -> I32:
    """By predicate: its place in the order of selectivity, the most selective first.

    The fewer of the typical events satisfy it, the more selective it is. Without events, and among equals, the operator
    decides, then how wide it is, then how rare its line.
    """
    view = store.view()
    line, _, start, low, high = view.predicates
    width = (high.astype(np.float64) - low) / 2
    breadth = np.bincount(np.repeat(np.arange(len(line)), np.diff(start)), width, len(line))
    keys = [frequency(store, predicate)[line], breadth, operators(view.predicates)]
    if len(store.history.plain):
        keys.append(_matching(store, view, predicate))
    rank = np.empty(len(line), dtype=np.int32)
    rank[np.lexsort(keys)] = np.arange(len(line))
    return rank


def _matching(store: Store, view: View, predicate: I32) -> np.ndarray:
    """By predicate: the typical events that satisfy it, as PS-Trees count them."""
    used = np.zeros(len(view.predicates.line), dtype=np.int64)
    used[predicate] = 1
    line, low, high, _ = intervals_of(view.predicates, used)
    trees = PSTree()
    trees.know(view.lines)
    trees.insert(line, low, high)
    trees.observe(store.history)
    owner = np.repeat(np.flatnonzero(used), np.diff(view.predicates.start)[used > 0])
    return np.bincount(owner, trees.matching(line, low, high), len(used))


def operators(predicates: Predicates) -> I64:
    """By predicate: which of the operators above it is, or is most like."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    single = points(predicates)
    bounded = (low[start[:-1]] != LOWEST).astype(np.int64) + (high[start[1:] - 1] != HIGHEST)
    both_open = np.select([many == 1, many == 2], [ANY, NOT_EQUAL], NONE_OF)
    return np.select(
        [single == 1, single > 1, bounded == 2, bounded == 1], [EQUAL, ONE_OF, BETWEEN, ONE_SIDED], both_open
    )


def points(predicates: Predicates) -> I64:
    """By predicate: its values, if it is a set of single values; 0 for all others."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    return np.where(np.bincount(owner[low == high], minlength=len(many)) == many, many, 0)


def least(score: I64, start: I64) -> I64:
    """By row: the place of its least score, the first of equals; -1 for a row without predicates."""
    found = np.full(len(start) - 1, -1, dtype=np.int64)
    some = np.flatnonzero(np.diff(start))
    if len(some):
        found[some] = np.minimum.reduceat(score << 36 | np.arange(len(score)), start[some]) & ((1 << 36) - 1)
    return found
