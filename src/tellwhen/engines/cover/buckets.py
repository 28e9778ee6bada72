"""Which spaces share a row of bits? A domain has at most 62 buckets of neighbouring spaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.engines.cover.arrays import BUCKETS_MAX, NO_BUCKET
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import F64, HIGHEST, I32, I64, LOWEST, U8


class Buckets(NamedTuple):
    """The buckets of all domains, each numbered from 0."""

    count: I32  # by domain
    bucket: U8  # by space, or NO_BUCKET
    up: NDArray[np.int16]  # by space: its bucket or, where it is in none, that of the next space that is in one
    down: NDArray[np.int16]  # and of the one before


def buckets(known: Spaces, mass: F64) -> Buckets:
    """Every space has its own bucket where there are few enough; else every single value; else shares of the events.

    Values lie apart: between two neighbouring integers, or two strings that are asked for, there is a space that hardly
    any event has a value in. Where only these make too many spaces, they are in no bucket.
    """
    domains = len(known.cut_start) - 1
    origin = known.cut_start[:-1] + np.arange(domains)
    many = np.diff(known.cut_start) + 1
    domain = np.repeat(np.arange(domains), many)
    is_single = single_points(known, origin, many)
    singles = np.bincount(domain[is_single], minlength=domains)
    is_even = singles_are_even(known, is_single, domain)
    chosen = np.ones(len(domain), dtype=bool)
    crowded = many > BUCKETS_MAX
    evens = np.bincount(domain[is_single & is_even], minlength=domains)
    wide = many - singles
    # Integers: all but the odd points, if that is enough; strings: only the single points.
    by_even = crowded & (wide + evens <= BUCKETS_MAX)
    by_single = crowded & ~by_even & (singles <= BUCKETS_MAX)
    chosen[by_even[domain] & is_single & ~is_even] = False
    chosen[by_single[domain] & ~is_single] = False
    shared = crowded & ~by_even & ~by_single
    upto = np.cumsum(chosen)
    before = upto - chosen  # chosen spaces before this one
    number = before - before[origin][domain]
    if shared.any():
        whole = np.maximum(mass[origin + many] - mass[origin], 1e-300)
        part = (mass[:-1] - mass[origin][domain]) / whole[domain]
        number = np.where(shared[domain], np.minimum(BUCKETS_MAX - 1, (part * BUCKETS_MAX).astype(np.int64)), number)
    bucket = np.where(chosen, number, NO_BUCKET).astype(np.uint8)
    count = number[origin + many - 1] + chosen[origin + many - 1]
    return Buckets(
        count.astype(np.int32), bucket, number.astype(np.int16), np.where(chosen, number, number - 1).astype(np.int16)
    )


def single_points(known: Spaces, origin: I64, many: I64) -> NDArray[np.bool_]:
    """By space: is it one point?"""
    first = np.full(known.total, LOWEST)
    last = np.full(known.total, HIGHEST)
    inner = np.ones(known.total, dtype=bool)
    inner[origin] = False
    first[inner] = known.cuts
    ending = np.ones(known.total, dtype=bool)
    ending[origin + many - 1] = False
    last[ending] = known.cuts - 1
    return first == last


def singles_are_even(known: Spaces, is_single: NDArray[np.bool_], domain: I64) -> NDArray[np.bool_]:
    """By space: does it begin with an even point?"""
    found = np.ones(len(domain), dtype=bool)
    origin = known.cut_start[:-1] + np.arange(len(known.cut_start) - 1)
    inner = np.ones(len(domain), dtype=bool)
    inner[origin] = False
    found[inner] = known.cuts & 1 == 0
    return found
