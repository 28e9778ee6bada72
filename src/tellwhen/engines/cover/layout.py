"""Clusters -> chunks and programs: how are the terms of a cluster laid out?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    Chunks,
    Cut,
    CutScratch,
    Lists,
    Ranges,
    TermColumns,
)
from tellwhen.engines.cover.buckets import Buckets
from tellwhen.engines.cover.kernels.bitmaps import fill_bitmaps, write_bitmap_starts, write_chunks
from tellwhen.engines.cover.kernels.chunks import (
    ALTERNATIVES_MAX,
    COLUMNS_MAX,
    CUT_BEGIN,
    CUT_CLUSTER,
    CUT_COLUMNS,
    CUT_END,
    CUT_PLAIN,
    CUT_WORDS,
    cut_chunks,
)
from tellwhen.engines.cover.kernels.places import ALWAYS
from tellwhen.engines.cover.kernels.programs import NEAR_MAX, measure_programs, write_lists, write_programs
from tellwhen.engines.cover.kernels.requirements import GROUPS_MAX
from tellwhen.engines.cover.terms import drop_implied
from tellwhen.kernels.arrays import F64, I32, I64, U8, U64, I64Matrix

Flags = NDArray[np.bool_]

FREQUENT_SHARE = 0.01
"""A term that is a candidate of more than this share of the events is better tested together with others, on all."""

SHARED_CHUNK_MIN = 256
"""The fewest terms with the same columns that are worth testing together on every event."""


class Requirements(NamedTuple):
    """What terms ask for, and in which buckets it may be true."""

    all: TermColumns
    plain: TermColumns  # without clauses
    is_whole: Flags  # by term: is that all there is to it, and do buckets tell it exactly?
    masks: U64  # by predicate: a bit for every bucket that it may be true of
    span: int  # of the columns of a group

    @property
    def has_clauses(self) -> Flags:
        """By term: does it ask for clauses?"""
        return np.diff(self.all.start) > np.diff(self.plain.start)

    def without(self, known_true: I32) -> Requirements:
        """Without the predicates that are true of every event that finds the term."""
        return self._replace(
            all=drop_implied(self.all, known_true, self.span), plain=drop_implied(self.plain, known_true, self.span)
        )


def cut_clusters(asked: Requirements, prices: F64, buckets: Buckets, cluster_start: I64, terms: I32, least: int) -> Cut:
    """Cut clusters into chunks of at least `least` terms."""
    known = (GROUPS_MAX + 1) * asked.span
    most = len(terms) // least + len(terms) // CHUNK_MEMBERS + 1
    order, chunks = np.empty_like(terms), np.empty((most, CUT_WORDS), dtype=np.int64)
    columns = np.empty(most * (COLUMNS_MAX + ALTERNATIVES_MAX), dtype=np.int32)
    scratch = CutScratch(
        np.zeros(known, dtype=np.int64),
        np.zeros(known),
        np.zeros(known, dtype=np.bool_),
        np.empty(known, dtype=np.int32),
        np.empty_like(terms),
    )
    all_, plain, is_whole, _, span = asked
    made, put = cut_chunks(
        cluster_start, terms, all_, plain, is_whole, prices, span, least, scratch, order, chunks, columns
    )
    return Cut(order, chunks[:made], columns[:put], span, buckets.many)


def move_clause_terms(
    keys: I64, terms: I32, covers: Lists, prices: F64, asked: Requirements, buckets: Buckets, known_true: I32
) -> tuple[I64, I32]:
    """Move terms with clauses on few domains to the cluster that every event opens, where they are tested together.

    In dense data a clause is true of many events, so a term that waits for it is a candidate of many events, in several
    clusters. Testing it on every event costs less, because 512 terms are tested at a time. Returns the keys and terms
    of all postings; changes `known_true`.
    """
    owner = np.repeat(np.arange(len(known_true)), np.diff(covers.start))
    often = np.bincount(owner, prices[covers.predicate[: covers.start[-1]]], len(known_true))
    some = np.flatnonzero(asked.has_clauses & (often > FREQUENT_SHARE)).astype(np.int32)
    if len(some) < SHARED_CHUNK_MIN:
        return keys, terms
    order, chunks, *_ = cut_clusters(asked, prices, buckets, np.array([0, len(some)]), some, SHARED_CHUNK_MIN)
    is_together = np.zeros(len(known_true), dtype=np.bool_)
    for begin, end, *_, is_plain in chunks.tolist():
        if not is_plain:
            is_together[order[begin:end]] = True
    known_true[is_together] = -1
    moved = np.flatnonzero(is_together).astype(np.int32)
    stays = ~is_together[terms]
    keys = np.concatenate([np.full(len(moved), ALWAYS), keys[stays]])
    by_key = np.argsort(keys, kind="stable")
    return keys[by_key], np.concatenate([moved, terms[stays]])[by_key]


def lay_out_chunks(
    asked: Requirements, prices: F64, negated: U8, buckets: Buckets, cluster_start: I64, terms: I32, chunk_min: int
) -> tuple[I32, I64Matrix, Chunks, Flags, Flags]:
    """The terms of all postings in their new order, the clusters, their chunks, which postings are in none, and which
    are in one whose bitmaps decide them."""
    made = cut_clusters(asked, prices, buckets, cluster_start, terms, chunk_min)
    order, chunks = made.order, made.chunks
    members = chunks[:, CUT_END] - chunks[:, CUT_BEGIN]
    is_decided = np.zeros(len(order), dtype=np.bool_)
    inside = np.repeat(chunks[:, CUT_BEGIN] - np.cumsum(members) + members, members) + np.arange(members.sum())
    is_told = np.repeat(chunks[:, CUT_PLAIN] == 0, members) | ~asked.has_clauses[order[inside]]
    is_decided[inside] = asked.is_whole[order[inside]] & is_told

    bitmap_start = np.empty(len(chunks) + 1, dtype=np.int64)
    write_bitmap_starts(made, bitmap_start)
    bits = np.empty(bitmap_start[-1], dtype=np.uint64)
    known = (GROUPS_MAX + 1) * asked.span
    scratch = np.empty(known, dtype=np.int64), np.empty(GROUPS_MAX + 1, dtype=np.int64)
    fill_bitmaps(made, bitmap_start, asked.all, asked.plain, is_decided, asked.masks, scratch, bits)
    offset = np.empty(len(chunks) + 1, dtype=np.int64)
    words = np.empty(CHUNK_HEADER * len(chunks) + int(chunks[:, CUT_COLUMNS].sum()), dtype=np.int64)
    is_mixed = np.zeros(known, dtype=np.bool_)
    write_chunks(made, bitmap_start, asked.all, asked.plain.start, negated, is_mixed, words, offset)

    clusters = np.zeros((len(cluster_start) - 1, CLUSTER_COLUMNS), dtype=np.int64)
    first = np.searchsorted(chunks[:, CUT_CLUSTER], np.arange(len(clusters) + 1))
    clusters[:, CHUNK], clusters[:, CHUNKS_END] = offset[first[:-1]], offset[first[1:]]
    inside = np.bincount(chunks[:, CUT_CLUSTER], members, len(clusters)).astype(np.int64)
    clusters[:, REST], clusters[:, REST_END] = cluster_start[:-1] + inside, cluster_start[1:]
    rest = clusters[:, REST_END] - clusters[:, REST]
    clusters[:, GUARD] = np.cumsum(rest) - rest
    is_rest = np.repeat(np.tile([False, True], len(clusters)), np.stack([inside, rest], axis=1).reshape(-1))
    return order, clusters, Chunks(words, bits, buckets.bucket), is_rest, is_decided


def write_all_programs(
    extract: Extract, short: Extract, ranges: Ranges, prices: F64, terms: I32, is_rest: Flags, is_decided: Flags
) -> tuple[I64, I32]:
    """By posting: where its program begins, -1 if it needs none; and the words of all programs.

    In a chunk it is the `short` one, which has only the tests that bitmaps leave open.
    """
    in_chunk = ~is_rest & ~is_decided
    shared, lists = write_shared_lists(ranges)
    whole, whole_words = write_some_programs(extract, ranges, prices, terms[is_rest], shared, len(lists))
    base = len(lists) + len(whole_words)
    rest, rest_words = write_some_programs(short, ranges, prices, terms[in_chunk], shared, base)
    program = np.where(is_rest, len(lists) + whole[terms], np.where(in_chunk, base + rest[terms], -1))
    return program, np.concatenate([lists, whole_words, rest_words])


def write_shared_lists(ranges: Ranges) -> tuple[I64, I32]:
    """By predicate: where its list begins, -1 if it is not shared; and the words of all shared lists."""
    many = np.diff(ranges.start)
    lengths = np.where(many > NEAR_MAX, 2 * many, 0)
    shared = np.where(many > NEAR_MAX, np.cumsum(lengths) - lengths, -1)
    words = np.empty(int(lengths.sum()), dtype=np.int32)
    write_lists(ranges, shared, words)
    return shared, words


def write_some_programs(
    extract: Extract, ranges: Ranges, prices: F64, owners: I32, shared: I64, base: int
) -> tuple[I64, I32]:
    """Where the program of each term begins, -1 for one that none of `owners` is, and the words, in their order.

    The words will begin at `base` in the index.
    """
    each = np.empty(len(extract.kind), dtype=np.int64)
    measure_programs(extract.kind, extract.start, extract.code, ranges, each)
    named, first = np.unique(owners, return_index=True)
    order = named[np.argsort(first)]
    lengths = each[order]
    program = np.full(len(each), -1, dtype=np.int64)
    program[order] = np.cumsum(lengths) - lengths
    words = np.empty(int(lengths.sum()), dtype=np.int32)
    if not write_programs(extract.kind, extract.start, extract.code, ranges, prices, shared, base, program, words):
        raise AssertionError("a test with two jumps")
    return program, words
