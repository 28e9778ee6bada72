"""Do all structures of intervals find what testing each interval finds?"""

import numpy as np
import pytest
from bench.intervals.structures import ElementLists, IntervalScan, IntervalTree, SegmentTree, SpaceLists
from hypothesis import given
from hypothesis import strategies as st

from tellwhen.kernels.arrays import HIGHEST, LOWEST

STRUCTURES = [IntervalScan, IntervalTree, SegmentTree, SpaceLists, ElementLists]

ENDS = st.integers(-12, 12) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST])

INTERVALS = st.tuples(ENDS, ENDS).map(sorted)


def check(structure, intervals, points):
    low, high = (np.array([i[k] for i in intervals], dtype=np.int64) for k in range(2))
    instance = structure(low, high)
    found = instance.stab(np.array(points, dtype=np.int64))
    wanted = [[k for k, (a, b) in enumerate(intervals) if a <= x <= b] for x in points]
    got = [sorted(found.number[a:b].tolist()) for a, b in zip(found.start[:-1], found.start[1:], strict=True)]
    assert got == wanted, structure.__name__
    assert instance.count(np.array(points, dtype=np.int64)).tolist() == [len(numbers) for numbers in wanted]


@pytest.mark.slow  # structures to compare with, which no engine uses
@pytest.mark.parametrize("structure", STRUCTURES)
@given(st.lists(INTERVALS, max_size=30), st.lists(ENDS, max_size=30))
def test_any_intervals(structure, intervals, points):
    check(structure, intervals, points)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_many_intervals(structure):
    rng = np.random.default_rng(2)
    low = rng.integers(0, 10_000, 3000)
    intervals = list(zip(low.tolist(), (low + rng.integers(0, 800, 3000)).tolist(), strict=True))
    check(structure, intervals, rng.integers(-100, 11_000, 300).tolist())
