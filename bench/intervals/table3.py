"""Measurement of Table 3 of PS-Tree: find the intervals that contain a point, with several structures."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bench.claims import Row
from bench.intervals import structures
from bench.timing import time_interleaved


class IntervalShape(NamedTuple):
    """Shape of random intervals: their ends are 0 to `values` - 1, and a value lies in `share` of them on average."""

    suffix: str  # of the name of the variant
    values: int
    share: float
    bits: int  # of the integers that the element tree is built for


def _list_interval_shapes(count: int) -> list[IntervalShape]:
    """Return two shapes of intervals for Table 3. The paper gives neither the values nor the lengths of its intervals.

    The first shape has many values, so almost every end begins a space, and a point is in 30 intervals.

    The second shape has few values and long intervals, which fit the sizes and times of the paper. Its interval tree
    takes 25 us per point. If an interval takes 2 to 25 ns, a point is in 1,000 to 10,000 of the 100,000 intervals. Its
    PS-Tree takes 54 MB, which are 3.4 million links of 16 bytes, or 6.8 million of 8 bytes. Divided by the intervals in
    a list, these are at most a few thousand predicate spaces. 1,000 is the highest cardinality in the paper's Table 1.
    """
    return [IntervalShape("", 1 << 40, 30 / count, 64), IntervalShape(", 1,000 values", 1_000, 0.034, 32)]


LISTED_MAX = 3_000_000
"""Intervals that one run lists, at most. With few values, every point is in thousands of intervals."""


def measure_stabbing(count: int) -> list[Row]:
    """Count and list the intervals, of `count` random ones, that contain each of as many random points.

    `ps-tree` is the paper's tree of elements, `sorted-spaces` the sorted array of spaces that the engines use. In the
    paper a PS-Tree takes 7 ns per point. This is enough to find a list, but not to read it.
    """
    return [row for shape in _list_interval_shapes(count) for row in _measure_shape(shape, count)]


def _measure_shape(shape: IntervalShape, count: int) -> list[Row]:
    structure_by_name: dict[str, Any] = {
        "ps-tree": partial(structures.ElementLists, bits=shape.bits),
        "sorted-spaces": structures.SpaceLists,
        "segment-tree": structures.SegmentTree,
        "interval-tree": structures.IntervalTree,
        "scan": structures.IntervalScan,
    }
    rng = np.random.default_rng(1)
    low = rng.integers(0, shape.values, count)
    high = low + rng.integers(0, int(2 * shape.share * shape.values), count)
    high = np.minimum(high, shape.values - 1)
    points = rng.integers(0, shape.values, count)
    listed_points = points[: int(LISTED_MAX / (shape.share * count))]
    rows: list[Row] = []
    for name, structure in structure_by_name.items():
        instance = structure(low, high)
        build = time_interleaved({"": partial(structure, low, high)}, 5)[""]
        for variant, query, queried in (
            ("counted", instance.count, points),
            ("listed", instance.stab, listed_points),
        ):
            timed_points = queried if name != "scan" else queried[:1_000]  # in a scan, all points take the same time
            match = time_interleaved({"": partial(query, timed_points)}, 5)[""]
            row = {"match": match.median / len(timed_points) * 1e6, "noise": match.noise, "build": build.median}
            rows.append(
                {
                    "variant": variant + shape.suffix,
                    "x": count,
                    "engine": name,
                    "status": "ok",
                    "index": instance.nbytes / count,
                    **row,
                }
            )
    return rows
