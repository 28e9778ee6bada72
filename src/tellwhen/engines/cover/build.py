"""Subscriptions -> an index of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tellwhen.compile.dictionary import Moved
from tellwhen.compile.extract import extract as extracted
from tellwhen.containers.batches import Marginals
from tellwhen.engines.cover.arrays import BUCKETS_MAX, CHUNK_MIN, CoverIndex, Postings
from tellwhen.engines.cover.buckets import build_buckets
from tellwhen.engines.cover.kernels.bitmaps import write_masks
from tellwhen.engines.cover.kernels.guards import write_guards
from tellwhen.engines.cover.kernels.places import price_predicates
from tellwhen.engines.cover.layout import Requirements, lay_out_chunks, move_clause_terms, write_all_programs
from tellwhen.engines.cover.places import build_access, find_implied, place_terms, regroup_terms
from tellwhen.engines.cover.ranges import estimate_mass, read_ranges
from tellwhen.engines.cover.terms import (
    choose_covers,
    drop_clauses,
    drop_settled_tests,
    find_requirements,
    sort_parts,
    split_terms,
)
from tellwhen.engines.shared.spaces import spaces
from tellwhen.kernels.arrays import I32, Snapshot


def build_index(
    snapshot: Snapshot,
    slots: I32,
    marginals: Marginals | None,
    chunk_min: int = CHUNK_MIN,
    buckets_max: int = BUCKETS_MAX,
) -> CoverIndex:
    """The index of these slots."""
    domains = snapshot.domains
    owner, extract = split_terms(extracted(snapshot, slots))
    predicates = extract.literals
    every = np.arange(len(predicates.domain), dtype=np.int32)
    known = spaces(predicates, every, domains)
    ranges = read_ranges(predicates, known)
    mass = estimate_mass(known, extract, marginals)
    prices, is_apart = np.empty(len(every)), np.empty(len(every), dtype=np.bool_)
    price_predicates(ranges, known.cut_start, mass, prices, is_apart)
    covers, guards = choose_covers(extract, prices)
    extract = sort_parts(extract, prices, covers, guards)
    keys, terms = place_terms(covers, ranges, is_apart, known.cut_start, extract.kind)
    known_true = find_implied(covers, ranges, is_apart)
    buckets = build_buckets(known, mass, buckets_max)
    masks, is_exact = np.empty(len(every), dtype=np.uint64), np.empty(len(every), dtype=np.bool_)
    write_masks(ranges, known.cut_start, buckets.up, buckets.down, masks, is_exact)
    span = 2 * domains
    found, is_whole = find_requirements(extract, ranges, is_exact, span)
    conjunct = drop_clauses(found, span)
    wanted = Requirements(found, conjunct, is_whole, masks, span)
    keys, terms = move_clause_terms(keys, terms, covers, prices, wanted, buckets, known_true)
    keys, terms = regroup_terms(keys, terms, conjunct, ranges, known, mass, known_true)
    access, cluster_start = build_access(keys, domains)
    terms, clusters, chunks, is_rest, is_decided = lay_out_chunks(
        wanted.without(known_true), prices, ranges.negated, buckets, cluster_start, terms, chunk_min
    )
    short = drop_settled_tests(extract, conjunct, is_exact, known_true)
    program, words = write_all_programs(extract, short, ranges, prices, terms, is_rest, is_decided)
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


def relabel_index(index: CoverIndex, moves: Iterable[tuple[int, Moved]]) -> CoverIndex:
    """The same index after some domains were relabelled."""
    cuts = index.cuts.copy()
    for domain, relabelled in moves:
        if domain < len(index.cut_start) - 1:
            mine = cuts[index.cut_start[domain] : index.cut_start[domain + 1]]
            mine[:] = relabelled.cuts(mine)
    return index._replace(cuts=cuts)
