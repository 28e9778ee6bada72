"""How selective are predicates? What engines choose pivots and access predicates by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.subscriptions import Store
from tellwhen.engines.stabbing import numbered
from tellwhen.kernels.arrays import I32, I64, Predicates


class Statistics(NamedTuple):
    """Guessed from the subscriptions, as OpIndex 4.1 allows where no event log is known.

    An attribute that few subscriptions ask for is taken for one that few events carry.
    """

    line: np.ndarray  # by line: the share of all predicates that are on it
    points: I64  # by predicate, as `points` says
    values: I64  # by line: the different single values that predicates on it have


def statistics(store: Store, predicate: I32) -> Statistics:
    """Of the predicates that rows use, given with repetition."""
    view = store.view()
    line_of, _, start, low, high = view.predicates
    used = np.bincount(line_of[predicate], minlength=view.lines)
    single = low == high
    starts, _, _ = numbered(np.repeat(line_of, np.diff(start))[single], low[single], view.lines)
    return Statistics(used / max(1, len(predicate)), points(view.predicates), np.diff(starts))


def points(predicates: Predicates) -> I64:
    """By predicate: its values, if it is a set of single values; 0 for all others."""
    _, _, start, low, high = predicates
    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    return np.where(np.bincount(owner[low == high], minlength=len(many)) == many, many, 0)
