"""Which spaces share a bitmap? A domain has at most 62 buckets of neighbouring spaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.engines.cover.arrays import GAP_FLAG
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, LOWEST, U8


class Buckets(NamedTuple):
    """The buckets of all domains, each numbered from 0."""

    many: I32  # by domain
    bucket: U8  # by space; of a gap, GAP + the bucket that follows, or the last one
    up: NDArray[np.int16]  # by space: its bucket or, where it is in none, that of the next space that is in one
    down: NDArray[np.int16]  # and of the one before


def build_buckets(known: Spaces, mass: F64, most: int) -> Buckets:
    """At most `most` buckets for a domain: one for each space if they suffice, else for each value, else equal shares.

    Values lie apart: between two neighbouring integers, or two strings that are asked for, there is a gap in which few
    events have a value. Where only gaps make too many spaces, they are in no bucket: what may be true there is true of
    the bucket before or behind, or in bucket 0, which is kept for what is true of gaps alone: complements, mostly.
    """
    domains = len(known.cut_start) - 1
    many = np.diff(known.cut_start) + 1
    origin = known.cut_start[:-1] + np.arange(domains)
    domain = np.repeat(np.arange(domains), many)
    is_point, is_odd = classify_spaces(known, origin, many)
    in_bucket = np.ones(len(domain), dtype=np.bool_)
    is_crowded, has_gaps = many > most, np.zeros(domains, dtype=np.bool_)
    for is_between in (is_point & is_odd, ~is_point):  # two integers; two strings
        left = many - np.bincount(domain[is_between], minlength=domains)
        helps = is_crowded & (left < most) & (3 * left >= many)  # every other space, roughly
        in_bucket[helps[domain] & is_between] = False
        is_crowded &= ~helps
        has_gaps |= helps
    before: I64 = np.cumsum(in_bucket) - in_bucket
    number: I64 = before - before[origin][domain] + has_gaps[domain]
    # What is left: buckets with equal shares of the events.
    share = (mass[:-1] - mass[origin][domain]) / np.maximum(mass[origin + many] - mass[origin], 1e-300)[domain]
    number = np.where(is_crowded[domain], np.minimum(most - 1, (share * most).astype(np.int64)), number)
    last = origin + many - 1
    count = number[last] + in_bucket[last]
    return Buckets(
        count.astype(np.int32),
        np.where(in_bucket, number, GAP_FLAG + np.minimum(number, count[domain] - 1)).astype(np.uint8),
        number.astype(np.int16),
        (number - ~in_bucket).astype(np.int16),
    )


def classify_spaces(known: Spaces, origin: I64, many: I64) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """By space: is it a single point, and is the point that it begins with odd?"""
    begins, ends = np.full(known.total, LOWEST), np.full(known.total, HIGHEST)
    has_begin, has_end = np.ones(known.total, dtype=np.bool_), np.ones(known.total, dtype=np.bool_)
    has_begin[origin], has_end[origin + many - 1] = False, False
    begins[has_begin], ends[has_end] = known.cuts, known.cuts - 1
    return begins == ends, begins & 1 == 1
