"""Clusters -> chunks and programs: how are the terms of a cluster laid out?"""

from __future__ import annotations

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
    Conjuncts,
    Ranges,
)
from tellwhen.engines.cover.buckets import Buckets
from tellwhen.engines.cover.kernels.chunks import COLUMNS_MAX, cut_chunks, fill_bitmaps, size_bitmaps, write_chunks
from tellwhen.engines.cover.kernels.programs import NEAR_MAX, measure_programs, write_lists, write_programs
from tellwhen.engines.cover.terms import left_open, without
from tellwhen.kernels.arrays import F64, I32, I64, U64, I64Matrix


def chunked(
    conjunct: Conjuncts,
    is_whole: NDArray[np.bool_],
    prices: F64,
    masks: U64,
    buckets: Buckets,
    known_true: I32,
    cluster_start: I64,
    terms: I32,
    chunk_min: int,
) -> tuple[I32, I64Matrix, Chunks, NDArray[np.bool_]]:
    """The terms of all postings in their new order, the clusters, their chunks, and which postings are in none."""
    conjunct = without(conjunct, known_true)
    columns_known = 2 * len(buckets.many)
    most = len(terms) // chunk_min + len(terms) // CHUNK_MEMBERS + 1
    order, cut = np.empty_like(terms), np.empty((most, 5), dtype=np.int64)
    columns = np.empty(most * COLUMNS_MAX, dtype=np.int32)
    made, put = cut_chunks(
        cluster_start,
        terms,
        conjunct,
        is_whole,
        prices,
        np.zeros(columns_known, dtype=np.int64),
        np.zeros(columns_known),
        np.zeros(columns_known, dtype=np.bool_),
        np.empty(columns_known, dtype=np.int32),
        np.empty_like(terms),
        order,
        chunk_min,
        cut,
        columns,
    )
    cut, columns = cut[:made], columns[:put]
    bitmap_start = np.empty(made + 1, dtype=np.int64)
    size_bitmaps(cut, columns, buckets.many, bitmap_start)
    bits = np.empty(bitmap_start[-1], dtype=np.uint64)
    position = np.empty(columns_known, dtype=np.int64)
    fill_bitmaps(cut, columns, buckets.many, bitmap_start, order, conjunct, is_whole, masks, position, bits)

    offset = np.empty(made + 1, dtype=np.int64)
    words = np.empty(CHUNK_HEADER * made + int(cut[:, 3].sum()), dtype=np.int64)
    write_chunks(cut, columns, buckets.many, bitmap_start, order, conjunct.start, words, offset)
    members = cut[:, 1] - cut[:, 0]

    clusters = np.zeros((len(cluster_start) - 1, CLUSTER_COLUMNS), dtype=np.int64)
    first = np.searchsorted(cut[:, 4], np.arange(len(clusters) + 1))
    clusters[:, CHUNK], clusters[:, CHUNKS_END] = offset[first[:-1]], offset[first[1:]]
    inside = np.bincount(cut[:, 4], members, len(clusters)).astype(np.int64)
    clusters[:, REST], clusters[:, REST_END] = cluster_start[:-1] + inside, cluster_start[1:]
    rest = clusters[:, REST_END] - clusters[:, REST]
    clusters[:, GUARD] = np.cumsum(rest) - rest
    is_rest = np.repeat(np.tile([False, True], len(clusters)), np.stack([inside, rest], axis=1).reshape(-1))
    return order, clusters, Chunks(words, bits, buckets.bucket), is_rest


def all_programs(
    extract: Extract,
    conjunct: Conjuncts,
    is_exact: NDArray[np.bool_],
    known_true: I32,
    ranges: Ranges,
    prices: F64,
    terms: I32,
    is_rest: NDArray[np.bool_],
    is_whole: NDArray[np.bool_],
) -> tuple[I64, I32]:
    """By posting: where its program begins, -1 if it needs none; and the words of all programs.

    In a chunk, a program has only the tests that bitmaps leave open.
    """
    in_chunk = ~is_rest & ~is_whole[terms]
    shared, lists = shared_lists(ranges)
    whole, whole_words = programs(extract, ranges, prices, terms[is_rest], shared, len(lists))
    short = left_open(extract, conjunct, is_exact, known_true)
    base = len(lists) + len(whole_words)
    rest, rest_words = programs(short, ranges, prices, terms[in_chunk], shared, base)
    program = np.where(is_rest, len(lists) + whole[terms], np.where(in_chunk, base + rest[terms], -1))
    return program, np.concatenate([lists, whole_words, rest_words])


def shared_lists(ranges: Ranges) -> tuple[I64, I32]:
    """By predicate: where its list begins, -1 if it is not shared; and the words of all shared lists."""
    many = np.diff(ranges.start)
    lengths = np.where(many > NEAR_MAX, 2 * many, 0)
    shared = np.where(many > NEAR_MAX, np.cumsum(lengths) - lengths, -1)
    words = np.empty(int(lengths.sum()), dtype=np.int32)
    write_lists(ranges, shared, words)
    return shared, words


def programs(extract: Extract, ranges: Ranges, prices: F64, owners: I32, shared: I64, base: int) -> tuple[I64, I32]:
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
