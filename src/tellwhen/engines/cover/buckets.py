"""Buckets: neighbouring spaces of a domain that share a bitmap, at most 62."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.engines.cover.arrays import GAP_FLAG
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, LOWEST, U8


class Buckets(NamedTuple):
    """The assignment of spaces to buckets. The buckets of each domain are numbered from 0."""

    counts: I32  # by domain
    bucket: U8  # by space; of a gap, GAP_FLAG + the bucket that follows, or + the last one
    up: NDArray[np.int16]  # by space: its bucket or, for a gap, that of the next space in a bucket
    down: NDArray[np.int16]  # by space: its bucket or, for a gap, that of the space before it in a bucket


def build_buckets(spaces: Spaces, mass: F64, buckets_max: int) -> Buckets:
    """Build at most `buckets_max` buckets per domain: one per space if they suffice, else per value, else equal shares.

    Values lie apart: between two neighbouring integers, or two strings that predicates name, there is a *gap* in which
    few events have a value. If a domain has too many spaces only because of its gaps, gaps are in no bucket. A
    predicate that may be true in a gap is true in the bucket before or behind it, or it is in bucket 0, which is
    reserved for predicates that are true of gaps alone, mostly complements.
    """
    domains = len(spaces.cut_start) - 1
    space_count = np.diff(spaces.cut_start) + 1
    origin = spaces.cut_start[:-1] + np.arange(domains)
    domain = np.repeat(np.arange(domains), space_count)
    is_point, is_odd = classify_spaces(spaces, origin, space_count)
    in_bucket = np.ones(len(domain), dtype=np.bool_)
    is_crowded, has_gaps = space_count > buckets_max, np.zeros(domains, dtype=np.bool_)
    for is_between in (is_point & is_odd, ~is_point):  # two integers; two strings
        left = space_count - np.bincount(domain[is_between], minlength=domains)
        helps = is_crowded & (left < buckets_max) & (3 * left >= space_count)  # every other space, roughly
        in_bucket[helps[domain] & is_between] = False
        is_crowded &= ~helps
        has_gaps |= helps
    before: I64 = np.cumsum(in_bucket) - in_bucket
    number: I64 = before - before[origin][domain] + has_gaps[domain]
    # Domains that are still too large: buckets with equal shares of the events.
    share = (mass[:-1] - mass[origin][domain]) / np.maximum(mass[origin + space_count] - mass[origin], 1e-300)[domain]
    number = np.where(is_crowded[domain], np.minimum(buckets_max - 1, (share * buckets_max).astype(np.int64)), number)
    last = origin + space_count - 1
    count = number[last] + in_bucket[last]
    return Buckets(
        count.astype(np.int32),
        np.where(in_bucket, number, GAP_FLAG + np.minimum(number, count[domain] - 1)).astype(np.uint8),
        number.astype(np.int16),
        (number - ~in_bucket).astype(np.int16),
    )


def classify_spaces(spaces: Spaces, origin: I64, space_count: I64) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return two flags by space: whether it is a single point, and whether its first point is odd.

    On a domain of integers, an odd point lies between two integers (`compile/domains.py`).
    """
    begins, ends = np.full(spaces.total, LOWEST), np.full(spaces.total, HIGHEST)
    has_begin, has_end = np.ones(spaces.total, dtype=np.bool_), np.ones(spaces.total, dtype=np.bool_)
    has_begin[origin], has_end[origin + space_count - 1] = False, False
    begins[has_begin], ends[has_end] = spaces.cuts, spaces.cuts - 1
    return begins == ends, begins & 1 == 1
