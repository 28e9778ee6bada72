"""The predicates as ranges of spaces, and the share of the events that is expected in each space."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.extract import Extract
from tellwhen.containers.batches import Marginals
from tellwhen.engines.cover.build_arrays import Ranges
from tellwhen.engines.cover.kernels.places import write_ranges
from tellwhen.engines.shared.spaces import Spaces
from tellwhen.kernels.arrays import F64, I64, Predicates

LEAST_SHARE = 1e-9
"""The share of the events that is assumed in a space without known events."""


def read_ranges(predicates: Predicates, spaces: Spaces) -> Ranges:
    """Convert the intervals of predicates to ranges of spaces."""
    start = np.zeros(len(predicates.domain) + 1, dtype=np.int64)
    empty = np.zeros(0, dtype=np.int32)
    count = write_ranges(predicates, spaces.first, spaces.last, spaces.cut_start, start, empty, empty)
    first, last = np.empty((2, count), dtype=np.int32)
    write_ranges(predicates, spaces.first, spaces.last, spaces.cut_start, start, first, last)
    return Ranges(predicates.domain, predicates.every, start, first, last)


def estimate_mass(spaces: Spaces, extract: Extract, marginals: Marginals | None) -> F64:
    """Estimate the cumulative share of the events in the spaces: mass[b] - mass[a] is that in spaces a to b - 1.

    Without marginals, a domain in few predicates is assumed to be in few events, and its spaces to be equally likely.
    """
    domains = len(spaces.cut_start) - 1
    space_count = np.diff(spaces.cut_start) + 1
    domain = np.repeat(np.arange(domains), space_count)
    if marginals is None:
        asked = np.bincount(extract.literals.domain[extract.list_tested_predicates()], minlength=domains)
        share = (np.minimum(1.0, asked / max(1, len(extract.kind))) / space_count)[domain]
    else:
        owner = np.repeat(np.arange(domains), np.diff(marginals.start))
        inside = np.zeros(len(domain))
        at = locate_points(spaces, owner, marginals.point)
        np.add.at(inside, at, marginals.share)
        rest = np.maximum(0.0, marginals.carried - np.bincount(owner, marginals.share, domains))
        share = inside + (rest / space_count)[domain] + LEAST_SHARE
    return np.concatenate([[0.0], np.cumsum(share)])


def locate_points(spaces: Spaces, domain: I64, point: I64) -> I64:
    """Return the space of each point. The points of one domain are neighbours."""
    found = np.empty(len(point), dtype=np.int64)
    begin = np.searchsorted(domain, np.arange(len(spaces.cut_start)))
    for d in np.flatnonzero(np.diff(begin)):
        mine = slice(begin[d], begin[d + 1])
        cuts = spaces.cuts[spaces.cut_start[d] : spaces.cut_start[d + 1]]
        found[mine] = spaces.cut_start[d] + d + np.searchsorted(cuts, point[mine], side="right")
    return found
