"""Subscriptions -> an index of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.extract import extract
from tellwhen.containers.batches import Marginals
from tellwhen.engines.cover.arrays import BUCKETS_MAX, CHUNK_MIN, Chunks, CoverIndex, Postings
from tellwhen.engines.cover.buckets import Buckets, build_buckets
from tellwhen.engines.cover.build_arrays import ChunkLayout, PredicateFacts, PredicateLists, SpaceMass, TermColumns
from tellwhen.engines.cover.kernels.bitmaps import write_masks
from tellwhen.engines.cover.kernels.guards import write_guards
from tellwhen.engines.cover.kernels.places import price_predicates
from tellwhen.engines.cover.layout import SHARED_CHUNK_MIN, lay_out_chunks, move_clause_terms, write_all_programs
from tellwhen.engines.cover.places import build_access, place_terms, regroup_terms
from tellwhen.engines.cover.ranges import estimate_mass, read_ranges
from tellwhen.engines.cover.terms import (
    choose_covers,
    drop_decided_tests,
    drop_implied,
    find_requirements,
    sort_parts,
    split_terms,
)
from tellwhen.engines.shared.spaces import Spaces, cut_spaces
from tellwhen.kernels.arrays import I32, U64, Predicates, Snapshot
from tellwhen.kernels.handover import pack


def build_index(
    snapshot: Snapshot,
    slots: I32,
    marginals: Marginals | None,
    chunk_min: int = CHUNK_MIN,
    buckets_max: int = BUCKETS_MAX,
    shared_chunk_min: int = SHARED_CHUNK_MIN,
) -> CoverIndex:
    """Build the index of some slots, for events with these marginals if they are known."""
    domains = snapshot.domains
    owner, terms = split_terms(extract(snapshot, slots))
    cuts = cut_spaces(terms.literals, np.arange(len(terms.literals.domain), dtype=np.int32), domains)
    known = SpaceMass(cuts.cut_start, estimate_mass(cuts, terms, marginals))
    buckets = build_buckets(cuts, known.mass, buckets_max)
    facts = describe_predicates(terms.literals, cuts, known, buckets)
    covers, guards = choose_covers(terms, facts.price)
    terms = sort_parts(terms, facts.price, covers, guards)
    requirements = find_requirements(terms, facts, span=2 * domains)

    postings = place_terms(covers, facts, known.cut_start, terms.kind)
    postings = move_clause_terms(postings, covers, facts, requirements, shared_chunk_min)
    postings = regroup_terms(postings, requirements.plain, facts, known)
    access, cluster_start = build_access(postings.key, domains)
    layout = lay_out_chunks(
        drop_implied(requirements, postings.implied), facts, buckets.counts, cluster_start, postings.term, chunk_min
    )
    open_terms = drop_decided_tests(terms, requirements.plain, facts.is_exact, postings.implied)
    program, words = write_all_programs(terms, open_terms, facts, layout)
    guard = build_guards(layout, requirements.plain, guards, facts)
    posted = owner[layout.terms]
    return CoverIndex(
        cuts.cut_start,
        cuts.cuts,
        access,
        layout.clusters,
        Chunks(layout.words, layout.bits, buckets.bucket),
        Postings(encode_slots(slots[posted], posted), program, guard),
        words,
    )


def describe_predicates(predicates: Predicates, cuts: Spaces, mass: SpaceMass, buckets: Buckets) -> PredicateFacts:
    """Compute the ranges, the price and the buckets of every predicate."""
    count = len(predicates.domain)
    ranges = read_ranges(predicates, cuts)
    price, is_apart = np.empty(count), np.empty(count, dtype=np.bool_)
    price_predicates(pack(ranges), pack(mass), price, is_apart)
    masks, is_exact = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.bool_)
    write_masks(pack(ranges), mass.cut_start, buckets.up, buckets.down, masks, is_exact)
    return PredicateFacts(ranges, price, is_apart, masks, is_exact)


def build_guards(layout: ChunkLayout, conjunct: TermColumns, covers: PredicateLists, facts: PredicateFacts) -> U64:
    """Build the guards of the postings in no chunk."""
    guard = np.empty(int(layout.is_single.sum()), dtype=np.uint64)
    write_guards(layout.terms[layout.is_single], pack(conjunct), pack(covers), pack(facts.ranges), guard)
    return guard


def encode_slots(slot: I32, owner: I32) -> I32:
    """Return the slots of all postings, as -1 - slot where the subscription has several postings."""
    has_several = np.bincount(owner, minlength=1)[owner] > 1
    return np.where(has_several, -1 - slot, slot).astype(np.int32)


def relabel_index(index: CoverIndex, moves: Iterable[tuple[int, LabelMoves]]) -> CoverIndex:
    """Return the same index after some domains were relabelled."""
    cuts = index.cuts.copy()
    for domain, relabelled in moves:
        if domain < len(index.cut_start) - 1:
            mine = cuts[index.cut_start[domain] : index.cut_start[domain + 1]]
            mine[:] = relabelled.map_cuts(mine)
    return index._replace(cuts=cuts)
