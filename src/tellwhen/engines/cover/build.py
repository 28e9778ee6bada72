"""Subscriptions -> an index of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tellwhen.compile.dictionary import Moved
from tellwhen.compile.extract import extract as extracted
from tellwhen.containers.batches import Marginals
from tellwhen.engines.cover.arrays import BUCKETS_MAX, CHUNK_MIN, CoverIndex, Postings
from tellwhen.engines.cover.buckets import bucketed
from tellwhen.engines.cover.kernels.bitmaps import find_masks
from tellwhen.engines.cover.kernels.guards import write_guards
from tellwhen.engines.cover.kernels.places import price_predicates
from tellwhen.engines.cover.layout import Asked, all_programs, chunked, together
from tellwhen.engines.cover.places import clustered, implied, placed, regrouped
from tellwhen.engines.cover.ranges import expected, read
from tellwhen.engines.cover.terms import asked, covered, left_open, ordered, plain, split
from tellwhen.engines.shared.spaces import spaces
from tellwhen.kernels.arrays import I32, Snapshot


def build(
    snapshot: Snapshot,
    slots: I32,
    marginals: Marginals | None,
    chunk_min: int = CHUNK_MIN,
    buckets_max: int = BUCKETS_MAX,
) -> CoverIndex:
    """The index of these slots."""
    domains = snapshot.domains
    owner, extract = split(extracted(snapshot, slots))
    predicates = extract.literals
    every = np.arange(len(predicates.domain), dtype=np.int32)
    known = spaces(predicates, every, domains)
    ranges = read(predicates, known)
    mass = expected(known, extract, marginals)
    prices, is_apart = np.empty(len(every)), np.empty(len(every), dtype=np.bool_)
    price_predicates(ranges, known.cut_start, mass, prices, is_apart)
    covers, guards = covered(extract, prices)
    extract = ordered(extract, prices, covers, guards)
    keys, terms = placed(covers, ranges, is_apart, known.cut_start, extract.kind)
    known_true = implied(covers, ranges, is_apart)
    buckets = bucketed(known, mass, buckets_max)
    masks, is_exact = np.empty(len(every), dtype=np.uint64), np.empty(len(every), dtype=np.bool_)
    find_masks(ranges, known.cut_start, buckets.up, buckets.down, masks, is_exact)
    span = 2 * domains
    found, is_whole = asked(extract, ranges, is_exact, span)
    conjunct = plain(found, span)
    wanted = Asked(found, conjunct, is_whole, masks, span)
    keys, terms = together(keys, terms, covers, prices, wanted, buckets, known_true)
    keys, terms = regrouped(keys, terms, conjunct, ranges, known, mass, known_true)
    access, cluster_start = clustered(keys, domains)
    terms, clusters, chunks, is_rest, is_decided = chunked(
        wanted.without(known_true), prices, ranges.negated, buckets, cluster_start, terms, chunk_min
    )
    short = left_open(extract, conjunct, is_exact, known_true)
    program, words = all_programs(extract, short, ranges, prices, terms, is_rest, is_decided)
    guard = np.empty(int(is_rest.sum()), dtype=np.uint64)
    write_guards(terms[is_rest], conjunct, guards, ranges, guard)
    slot = slots[owner[terms]]
    several = np.bincount(owner[terms], minlength=1)[owner[terms]] > 1
    return CoverIndex(
        known.cut_start,
        known.cuts,
        access,
        clusters,
        chunks,
        Postings(np.where(several, -1 - slot, slot).astype(np.int32), program, guard),
        words,
    )


def moved(index: CoverIndex, moves: Iterable[tuple[int, Moved]]) -> CoverIndex:
    """The same index after some domains were relabelled."""
    cuts = index.cuts.copy()
    for domain, relabelled in moves:
        if domain < len(index.cut_start) - 1:
            mine = cuts[index.cut_start[domain] : index.cut_start[domain + 1]]
            mine[:] = relabelled.cuts(mine)
    return index._replace(cuts=cuts)
