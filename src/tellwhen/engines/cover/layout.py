"""Clusters -> chunks and programs: the layout of the terms of each cluster."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.extract import Extract
from tellwhen.engines.cover.arrays import (
    CHUNK,
    CHUNK_HEADER,
    CHUNK_MEMBERS,
    CHUNKS_END,
    CLUSTER_COLUMNS,
    GUARD,
    REST,
    REST_END,
)
from tellwhen.engines.cover.build_arrays import (
    CURSOR_WORDS,
    CUT_BEGIN,
    CUT_CLUSTER,
    CUT_COLUMN,
    CUT_COLUMNS,
    CUT_END,
    CUT_PLAIN,
    CUT_WORDS,
    Bitmaps,
    ChunkLayout,
    Cut,
    CutScratch,
    KeyedPostings,
    PredicateFacts,
    PredicateLists,
    ProgramWords,
    Ranges,
    Requirements,
)
from tellwhen.engines.cover.kernels.bitmaps import fill_bitmaps, write_bitmap_starts, write_chunks
from tellwhen.engines.cover.kernels.chunks import ALTERNATIVES_MAX, COLUMNS_MAX, cut_chunks
from tellwhen.engines.cover.kernels.programs import NEAR_MAX, measure_programs, write_lists, write_programs
from tellwhen.engines.cover.kernels.requirements import GROUPS_MAX
from tellwhen.engines.cover.places import move_to_always_cluster
from tellwhen.kernels.arrays import I32, I64, Flags, I64Matrix
from tellwhen.kernels.handover import pack

FREQUENT_SHARE = 0.01
"""A term that is a candidate of more than 1 % of the events is better tested on all events, together with others."""

SHARED_CHUNK_MIN = 256
"""The fewest terms with the same columns that are worth testing together on every event."""


def cut_clusters(
    requirements: Requirements, facts: PredicateFacts, cluster_start: I64, terms: I32, members_min: int
) -> Cut:
    """Cut clusters into chunks of at least `members_min` terms.

    The terms of cluster c are terms[cluster_start[c]:cluster_start[c+1]].
    """
    columns = _count_columns(requirements)
    chunks = len(terms) // members_min + len(terms) // CHUNK_MEMBERS + 1
    cut = Cut(
        np.empty_like(terms),
        np.empty((chunks, CUT_WORDS), dtype=np.int64),
        np.empty(chunks * (COLUMNS_MAX + ALTERNATIVES_MAX), dtype=np.int32),
    )
    scratch = CutScratch(
        counts=np.zeros(columns, dtype=np.int64),
        weight=np.zeros(columns),
        is_chosen=np.zeros(columns, dtype=np.bool_),
        touched=np.empty(columns, dtype=np.int32),
        waiting=np.empty_like(terms),
        cursor=np.zeros(CURSOR_WORDS, dtype=np.int64),
    )
    made = cut_chunks(cluster_start, terms, pack(requirements), pack(facts), members_min, pack(scratch), pack(cut))
    chunk_columns = cut.chunks[:made, CUT_COLUMN] + cut.chunks[:made, CUT_COLUMNS]
    return cut._replace(chunks=cut.chunks[:made], columns=cut.columns[: chunk_columns.max(initial=0)])


def move_clause_terms(
    postings: KeyedPostings,
    covers: PredicateLists,
    facts: PredicateFacts,
    requirements: Requirements,
    shared_chunk_min: int = SHARED_CHUNK_MIN,
) -> KeyedPostings:
    """Move terms with clauses on few domains to the cluster that every event opens, where they are tested together.

    In dense data a clause is true of many events, so a term that waits for it is a candidate of many events, in several
    clusters. Testing it on every event costs less, because 512 terms are tested at a time.
    """
    count = len(postings.implied)
    owner = np.repeat(np.arange(count), np.diff(covers.start))
    share = np.bincount(owner, facts.price[covers.predicate[: covers.start[-1]]], count)
    frequent = np.flatnonzero(requirements.has_clauses & (share > FREQUENT_SHARE)).astype(np.int32)
    if len(frequent) < shared_chunk_min:
        return postings
    cut = cut_clusters(requirements, facts, np.array([0, len(frequent)]), frequent, shared_chunk_min)
    is_moved = np.zeros(count, dtype=np.bool_)
    for begin, end, *_, is_plain in cut.chunks.tolist():
        if not is_plain:
            is_moved[cut.terms[begin:end]] = True
    return move_to_always_cluster(postings, is_moved)


def lay_out_chunks(
    requirements: Requirements, facts: PredicateFacts, buckets: I32, cluster_start: I64, terms: I32, chunk_min: int
) -> ChunkLayout:
    """Cut all clusters into chunks, and fill their bitmaps; buckets[d] is the number of buckets of domain d."""
    cut = cut_clusters(requirements, facts, cluster_start, terms, chunk_min)
    is_decided = _find_decided(cut, requirements)
    bitmap_start = np.empty(len(cut.chunks) + 1, dtype=np.int64)
    write_bitmap_starts(pack(cut), requirements.span, buckets, bitmap_start)
    columns = _count_columns(requirements)
    bitmaps = Bitmaps(
        bits=np.empty(bitmap_start[-1], dtype=np.uint64),
        start=bitmap_start,
        buckets=buckets,
        column_start=np.empty(columns, dtype=np.int64),
        group_start=np.empty(GROUPS_MAX + 1, dtype=np.int64),
    )
    fill_bitmaps(pack(cut), pack(requirements), facts.buckets, is_decided, pack(bitmaps))
    offset = np.empty(len(cut.chunks) + 1, dtype=np.int64)
    words = np.empty(CHUNK_HEADER * len(cut.chunks) + int(cut.chunks[:, CUT_COLUMNS].sum()), dtype=np.int64)
    is_negated = np.zeros(columns, dtype=np.bool_)
    write_chunks(pack(cut), pack(requirements), facts.ranges.negated, buckets, bitmap_start, is_negated, words, offset)
    clusters, is_single = _lay_out_clusters(cut, cluster_start, offset)
    return ChunkLayout(cut.terms, clusters, words, bitmaps.bits, is_single, is_decided)


def _count_columns(requirements: Requirements) -> int:
    """Return the number of columns of all groups."""
    return (GROUPS_MAX + 1) * requirements.span


def _find_decided(cut: Cut, requirements: Requirements) -> Flags:
    """Return by posting whether it is in a chunk whose bitmaps decide it."""
    begin = cut.chunks[:, CUT_BEGIN]
    members = cut.chunks[:, CUT_END] - begin
    inside = np.repeat(begin - np.cumsum(members) + members, members) + np.arange(members.sum())
    term = cut.terms[inside]
    has_bitmaps = np.repeat(cut.chunks[:, CUT_PLAIN] == 0, members) | ~requirements.has_clauses[term]
    is_decided = np.zeros(len(cut.terms), dtype=np.bool_)
    is_decided[inside] = requirements.is_whole[term] & has_bitmaps
    return is_decided


def _lay_out_clusters(cut: Cut, cluster_start: I64, offset: I64) -> tuple[I64Matrix, Flags]:
    """Return the table of clusters, and by posting whether it is in no chunk; offset[c] is where chunk c begins."""
    clusters = np.zeros((len(cluster_start) - 1, CLUSTER_COLUMNS), dtype=np.int64)
    first = np.searchsorted(cut.chunks[:, CUT_CLUSTER], np.arange(len(clusters) + 1))
    clusters[:, CHUNK], clusters[:, CHUNKS_END] = offset[first[:-1]], offset[first[1:]]
    members = cut.chunks[:, CUT_END] - cut.chunks[:, CUT_BEGIN]
    inside = np.bincount(cut.chunks[:, CUT_CLUSTER], members, len(clusters)).astype(np.int64)
    clusters[:, REST], clusters[:, REST_END] = cluster_start[:-1] + inside, cluster_start[1:]
    rest = clusters[:, REST_END] - clusters[:, REST]
    clusters[:, GUARD] = np.cumsum(rest) - rest
    is_single = np.repeat(np.tile([False, True], len(clusters)), np.stack([inside, rest], axis=1).reshape(-1))
    return clusters, is_single


def write_all_programs(
    terms: Extract, open_terms: Extract, facts: PredicateFacts, layout: ChunkLayout
) -> tuple[I64, I32]:
    """Return where the program of every posting begins, -1 if it needs none, and the words of all programs.

    A posting in a chunk runs its program in `open_terms`, which has only the tests that bitmaps leave open.
    """
    is_open = ~layout.is_single & ~layout.is_decided
    shared, lists = write_shared_lists(facts.ranges)
    begin, single_words = write_term_programs(terms, facts, layout.terms[layout.is_single], shared, len(lists))
    base = len(lists) + len(single_words)
    open_begin, open_words = write_term_programs(open_terms, facts, layout.terms[is_open], shared, base)
    begin, open_begin = begin[layout.terms], open_begin[layout.terms]
    program = np.where(layout.is_single, len(lists) + begin, np.where(is_open, base + open_begin, -1))
    return program, np.concatenate([lists, single_words, open_words])


def write_shared_lists(ranges: Ranges) -> tuple[I64, I32]:
    """Return where the shared list of every predicate begins, -1 for none, and the words of all shared lists."""
    ranges_of = np.diff(ranges.start)
    lengths = np.where(ranges_of > NEAR_MAX, 2 * ranges_of, 0)
    shared = np.where(ranges_of > NEAR_MAX, np.cumsum(lengths) - lengths, -1)
    words = np.empty(int(lengths.sum()), dtype=np.int32)
    write_lists(pack(ranges), shared, words)
    return shared, words


def write_term_programs(
    terms: Extract, facts: PredicateFacts, postings: I32, shared: I64, base: int
) -> tuple[I64, I32]:
    """Write the programs of the terms of some postings, in this order, once each.

    Return where the program of every term begins, -1 for none, and the words. The words will begin at `base` in the
    index.
    """
    length = np.empty(len(terms.kind), dtype=np.int64)
    measure_programs(pack(terms), pack(facts.ranges), length)
    named, first = np.unique(postings, return_index=True)
    order = named[np.argsort(first)]
    lengths = length[order]
    program = np.full(len(length), -1, dtype=np.int64)
    program[order] = np.cumsum(lengths) - lengths
    out = ProgramWords(np.empty(int(lengths.sum()), dtype=np.int32), base, shared)
    if not write_programs(pack(terms), pack(facts), program, pack(out)):
        raise AssertionError("a compiled test has two jumps")
    return program, out.words
