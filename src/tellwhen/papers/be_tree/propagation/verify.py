"""Check of a `propagation` index: every conjunction is once in the cluster of one of its predicates."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.selectivity import count_points
from tellwhen.kernels.arrays import Predicates
from tellwhen.papers.be_tree.propagation.arrays import PropagationIndex


def check_index(index: PropagationIndex, predicates: Predicates, conjunctions: Conjunctions) -> None:
    """Raise AssertionError at the first difference between the index and its conjunctions."""
    without_predicate = len(index.cluster) - 2
    assert index.cluster[[0, -1]].tolist() == [0, len(index.slot)], "a conjunction is in no cluster"
    assert np.all(np.diff(index.cluster) >= 0), "the clusters overlap"
    is_eligible = count_points(predicates) > 0
    access = np.repeat(np.arange(without_predicate + 1), np.diff(index.cluster)).tolist()
    actual: Counter[tuple[int, ...]] = Counter()
    starts = pairwise(index.code_start.tolist())
    for slot, p, (begin, end) in zip(index.slot.tolist(), access, starts, strict=True):
        tested = index.code[begin:end].tolist()
        if p < without_predicate:
            assert is_eligible[p], f"the access predicate of slot {slot} is not a set of single values"
            tested.append(p)
        else:
            assert not np.any(is_eligible[tested]), f"slot {slot} has no access predicate, but could have one"
        actual[slot, *sorted(tested)] += 1
    members = [conjunctions.predicate[begin:end] for begin, end in pairwise(conjunctions.start.tolist())]
    expected = Counter((s, *sorted(m.tolist())) for s, m in zip(conjunctions.slot.tolist(), members, strict=True))
    assert actual == expected, f"the clusters have {actual - expected} instead of {expected - actual}"
