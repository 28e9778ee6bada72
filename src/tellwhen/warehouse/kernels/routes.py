"""Stretches of domains: their shares of the events, their union, and the shards whose routes events touch."""

from __future__ import annotations

from tellwhen.kernels.arrays import HIGHEST
from tellwhen.kernels.jit import kernel
from tellwhen.kernels.search import find_first_above, find_first_at_least


@kernel
def sum_shares(cut_start, cuts, mass, domain, low, high, out):
    """Sum the expected share of the events with a value in the spaces that low..high touches; 0 on an unknown domain.

    Domain d has the spaces cut_start[d] + d to cut_start[d+1] + d; mass[s] is the share in all spaces before s.
    """
    for i in range(domain.size):
        d = domain[i]
        if d >= cut_start.size - 1:
            out[i] = 0.0
            continue
        end = cut_start[d + 1]
        first = find_first_above(cuts, cut_start[d], end, low[i])
        last = find_first_above(cuts, first, end, high[i])
        out[i] = mass[last + d + 1] - mass[first + d]


@kernel
def sum_shares_without_overlap(cut_start, cuts, mass, domain, low, high, out):
    """Sum shares as `sum_shares` does, but count a space only for the first stretch that touches it.

    The stretches are ordered by domain and ascending.
    """
    current, counted = -1, -1
    for i in range(domain.size):
        d = domain[i]
        out[i] = 0.0
        if d >= cut_start.size - 1:
            continue
        if d != current:
            current, counted = d, -1
        end = cut_start[d + 1]
        first = find_first_above(cuts, cut_start[d], end, low[i])
        last = find_first_above(cuts, first, end, high[i])
        first = max(first, counted + 1)
        if first <= last:
            out[i] = mass[last + d + 1] - mass[first + d]
            counted = last


@kernel
def find_taking_stages(start, widest, domain, share, out):
    """Find the first stage of each domain that takes a stretch of this share; -1 if no stage does.

    The stages of domain d are start[d]:start[d+1], with ascending `widest`.
    """
    for i in range(domain.size):
        d = domain[i]
        out[i] = -1
        if d < start.size - 1:
            at = find_first_at_least(widest, start[d], start[d + 1], share[i])
            if at < start[d + 1]:
                out[i] = at


@kernel
def merge_sorted_stretches(domain, low, high):
    """Merge stretches that overlap or touch, in place, and return their number. They are ordered by domain and low."""
    count = 0
    for i in range(domain.size):
        last = count - 1
        if count > 0 and domain[last] == domain[i] and (high[last] == HIGHEST or low[i] <= high[last] + 1):
            high[last] = max(high[last], high[i])
        else:
            domain[count], low[count], high[count] = domain[i], low[i], high[i]
            count += 1
    return count


@kernel
def mark_shards(start, domain, low, high, row_start, shard, begin, stretch_low, stretch_high, met):
    """Mark in met[shard, event] the shards that events meet: those with a stretch that an entry of the event touches.

    The rows of domain d are row_start[d]:row_start[d+1]. Row r has the stretches begin[r]:begin[r+1] of shard[r] on
    that domain, ascending and disjoint.
    """
    for e in range(start.size - 1):
        for i in range(start[e], start[e + 1]):
            d = domain[i]
            for r in range(row_start[d], row_start[d + 1]):
                if met[shard[r], e] == 0:
                    at = find_first_at_least(stretch_high, begin[r], begin[r + 1], low[i])
                    if at < begin[r + 1] and stretch_low[at] <= high[i]:
                        met[shard[r], e] = 1
