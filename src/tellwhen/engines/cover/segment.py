"""Subscriptions -> an index of them: spaces, prices, covers, clusters, programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.extract import Extract
from tellwhen.containers.batches import Marginals
from tellwhen.engines.cover.arrays import (
    CHUNK,
    CHUNK_HEADER,
    CHUNK_MEMBERS,
    CHUNKS_END,
    CLUSTER_COLUMNS,
    GUARD,
    INSTRUCTION_WORDS,
    REST,
    REST_END,
    VARIANT_COLUMNS,
    Access,
    Chunks,
    CoverIndex,
    Postings,
)
from tellwhen.engines.cover.buckets import Buckets
from tellwhen.engines.cover.buckets import buckets as bucketed
from tellwhen.engines.cover.kernels.chunks import (
    COLUMNS_MAX,
    MEMBERS_MIN,
    cut_chunks,
    fill_rows,
    find_conjuncts,
    find_masks,
    size_rows,
    write_chunks,
)
from tellwhen.engines.cover.kernels.covers import find_covers
from tellwhen.engines.cover.kernels.guards import write_guards
from tellwhen.engines.cover.kernels.places import (
    ALWAYS,
    NODE_BITS,
    VARIANT_BITS,
    place,
    price_predicates,
    read_ranges,
)
from tellwhen.engines.cover.kernels.programs import write_programs
from tellwhen.engines.cover.kernels.regroup import regroup
from tellwhen.engines.cover.kernels.terms import order_parts, split_terms
from tellwhen.engines.cover.kernels.tree import NODE_COLUMNS
from tellwhen.engines.shared.spaces import Spaces, spaces
from tellwhen.kernels.arrays import CONJUNCTION, F64, I32, I64, NEVER, PROGRAM, U8, U64, I64Matrix, Predicates


class Ranges(NamedTuple):
    """The predicates in terms of spaces. A negated one is true if its domain is there, and no range is touched."""

    domain: I32
    negated: U8
    start: I64  # |0|1|3|     ranges of p are start[p]:start[p+1]
    first: I32  # ascending
    last: I32


class Conjuncts(NamedTuple):
    """By term: the predicates that all must be true, with their columns (`kernels/chunks.py`)."""

    start: I64
    column: I32
    predicate: I32


class Lists(NamedTuple):
    """A list of predicates for every subscription."""

    start: I64
    predicate: I32


def build(extract: Extract, slots: I32, domains: int, marginals: Marginals | None) -> CoverIndex:
    """The index of the subscriptions of an extract, which have these slots."""
    owner, extract = split(extract)
    predicates = extract.literals
    every = np.arange(len(predicates.domain), dtype=np.int32)
    known = spaces(predicates, every, domains)
    ranges = read(predicates, known)
    mass = expected(known, predicates, extract, marginals)
    prices, is_apart = np.empty(len(every)), np.empty(len(every), dtype=np.bool_)
    price_predicates(ranges, known.cut_start, mass, prices, is_apart)
    covers, guards = covered(extract, prices)
    extract = ordered(extract, prices, covers, guards)
    keys, terms = placed(covers, ranges, is_apart, known.cut_start, extract.kind)
    known_true = implied(covers, ranges, is_apart)
    buckets = bucketed(known, mass)
    masks, is_exact = np.empty(len(every), dtype=np.uint64), np.empty(len(every), dtype=np.bool_)
    find_masks(ranges, known.cut_start, buckets.up, buckets.down, masks, is_exact)
    conjunct, is_whole = conjuncts(extract, ranges, is_exact)
    keys, terms = regrouped(keys, terms, conjunct, ranges, known, mass, known_true)
    access, cluster_start = clustered(keys, domains)
    terms, clusters, chunks, is_rest = chunked(
        conjunct, is_whole, prices, masks, buckets, known_true, cluster_start, terms
    )
    program, words = programs(extract, ranges, prices, terms[is_rest | ~is_whole[terms]])
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
        Postings(np.where(several, -1 - slot, slot).astype(np.int32), program[terms], guard),
        words,
        np.stack([ranges.first, ranges.last], axis=1).reshape(-1),
    )


def implied(covers: Lists, ranges: Ranges, is_apart: NDArray[np.bool_]) -> I32:
    """By term: a predicate that is true whenever the term is found; -1 if there is none.

    That is so if it is the whole cover, and waits on nodes of exactly its own spaces.
    """
    wide = np.repeat(np.arange(len(ranges.domain)), np.diff(ranges.start))[ranges.first != ranges.last]
    is_exact = (ranges.negated == 0) & (is_apart | (np.diff(ranges.start) == 1))
    is_exact[wide] = False
    found = np.full(len(covers.start) - 1, -1, dtype=np.int32)
    alone = np.flatnonzero(np.diff(covers.start) == 1)
    predicate = covers.predicate[covers.start[alone]]
    found[alone] = np.where(is_exact[predicate], predicate, -1)
    return found


def regrouped(
    keys: I64, terms: I32, conjunct: Conjuncts, ranges: Ranges, known: Spaces, mass: F64, known_true: I32
) -> tuple[I64, I32]:
    """The keys and terms of all postings when those of small clusters have moved together. Changes `known_true`."""
    size = 1 << max(10, int(8 * len(known_true)).bit_length())
    table, counts = np.zeros((2, min(size, 1 << 23)), dtype=np.int64)
    chosen_key, chosen_predicate = np.empty((2, len(known_true)), dtype=np.int64)
    regroup(keys, terms, conjunct, ranges, known.cut_start, mass, table, counts, chosen_key, chosen_predicate)
    stays = chosen_key[terms] < 0
    moved = np.flatnonzero(chosen_key >= 0)
    variant = chosen_key[moved] >> NODE_BITS & ((1 << VARIANT_BITS) - 1)
    first = ranges.start[chosen_predicate[moved]]
    is_point = (variant == 0) & (ranges.first[first] == ranges.last[first])
    known_true[moved] = np.where(is_point, chosen_predicate[moved], -1)
    keys = np.concatenate([keys[stays], chosen_key[moved]])
    terms = np.concatenate([terms[stays], moved.astype(np.int32)])
    order = np.argsort(keys, kind="stable")
    return keys[order], terms[order]


def chunked(
    conjunct: Conjuncts,
    is_whole: NDArray[np.bool_],
    prices: F64,
    masks: U64,
    buckets: Buckets,
    known_true: I32,
    cluster_start: I64,
    terms: I32,
) -> tuple[I32, I64Matrix, Chunks, NDArray[np.bool_]]:
    """The terms of all postings in their new order, the clusters, their chunks, and which postings are in none."""
    conjunct = without(conjunct, known_true)
    columns_known = 2 * len(buckets.count)
    most = len(terms) // MEMBERS_MIN + len(terms) // CHUNK_MEMBERS + 1
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
        cut,
        columns,
    )
    cut, columns = cut[:made], columns[:put]
    row_start = np.empty(made + 1, dtype=np.int64)
    size_rows(cut, columns, buckets.count, row_start)
    bits = np.empty(row_start[-1], dtype=np.uint64)
    position = np.empty(columns_known, dtype=np.int64)
    fill_rows(cut, columns, buckets.count, row_start, order, conjunct, is_whole, masks, position, bits)

    offset = np.empty(made + 1, dtype=np.int64)
    words = np.empty(CHUNK_HEADER * made + int(cut[:, 3].sum()), dtype=np.int64)
    write_chunks(cut, columns, buckets.count, row_start, order, conjunct.start, words, offset)
    members = cut[:, 1] - cut[:, 0]

    is_rest = np.ones(len(terms), dtype=bool)
    clusters = np.zeros((len(cluster_start) - 1, CLUSTER_COLUMNS), dtype=np.int64)
    bounds = np.searchsorted(cut[:, 4], np.arange(len(clusters) + 1))
    clusters[:, CHUNK], clusters[:, CHUNKS_END] = offset[bounds[:-1]], offset[bounds[1:]]
    inside = np.bincount(cut[:, 4], members, len(clusters)).astype(np.int64)
    clusters[:, REST], clusters[:, REST_END] = cluster_start[:-1] + inside, cluster_start[1:]
    edges = np.zeros(len(terms) + 1, dtype=np.int64)
    np.add.at(edges, cluster_start[:-1], 1)
    np.add.at(edges, cluster_start[:-1] + inside, -1)
    is_rest[np.cumsum(edges)[:-1] > 0] = False
    rest = cluster_start[1:] - clusters[:, REST]
    clusters[:, GUARD] = np.cumsum(rest) - rest
    return order, clusters, Chunks(words, bits, buckets.bucket), is_rest


def conjuncts(extract: Extract, ranges: Ranges, is_exact: NDArray[np.bool_]) -> tuple[Conjuncts, NDArray[np.bool_]]:
    """What must be true of every event, and by term whether that is all, and told exactly by buckets."""
    count = len(extract.kind)
    found = Conjuncts(np.zeros(count + 1, dtype=np.int64), *np.empty((2, len(extract.code)), dtype=np.int32))
    nodes = np.empty((2 * _longest(extract) + 2, NODE_COLUMNS), dtype=np.int64)
    is_whole = np.empty(count, dtype=np.bool_)
    find_conjuncts(extract.kind, extract.start, extract.code, ranges, is_exact, nodes, found, is_whole)
    return found, is_whole


def without(conjunct: Conjuncts, known_true: I32) -> Conjuncts:
    """Without the predicates that are known to be true of whoever finds the term."""
    count = conjunct.start[-1]
    owner = np.repeat(np.arange(len(known_true)), np.diff(conjunct.start))
    kept = np.flatnonzero(conjunct.predicate[:count] != known_true[owner])
    start = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=len(known_true)))])
    return Conjuncts(start, conjunct.column[kept], conjunct.predicate[kept])


def split(extract: Extract) -> tuple[I32, Extract]:
    """The terms of the subscriptions, like subscriptions, and whose they are."""
    literals, kind, start, code, registers = extract
    longest = _longest(extract)
    most = len(kind) + int(np.diff(start)[kind == PROGRAM].sum()) // 3
    owner, term_kind = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint8)
    term_start, term_code = np.zeros(most + 1, dtype=np.int64), np.empty(len(code), dtype=np.int32)
    nodes = np.empty((2 * longest + 2, NODE_COLUMNS), dtype=np.int64)
    count = split_terms(kind, start, code, nodes, owner, term_kind, term_start, term_code)
    terms = Extract(literals, term_kind[:count], term_start[: count + 1], term_code[: term_start[count]], registers)
    return owner[:count], terms


def read(predicates: Predicates, known: Spaces) -> Ranges:
    """The predicates as ranges of spaces."""
    start = np.zeros(len(predicates.domain) + 1, dtype=np.int64)
    empty = np.zeros(0, dtype=np.int32)
    count = read_ranges(predicates, known.first, known.last, known.cut_start, start, empty, empty)
    first, last = np.empty((2, count), dtype=np.int32)
    read_ranges(predicates, known.first, known.last, known.cut_start, start, first, last)
    return Ranges(predicates.domain, predicates.every, start, first, last)


def expected(known: Spaces, predicates: Predicates, extract: Extract, marginals: Marginals | None) -> F64:
    """The share of the events to expect in all spaces before each: mass[b] - mass[a] for spaces a to b - 1.

    Without a profile, a domain that few predicates ask for is assumed to be one that few events carry, and its spaces
    to be equally likely.
    """
    domains = len(known.cut_start) - 1
    many = np.diff(known.cut_start) + 1
    domain = np.repeat(np.arange(domains), many)
    if marginals is None:
        carried = np.bincount(predicates.domain, minlength=domains) / max(1, len(predicates.domain))
        share = (carried / many)[domain]
    else:
        owner = np.repeat(np.arange(domains), np.diff(marginals.start))
        inside = np.zeros(len(domain))
        at = located(known, owner, marginals.point)
        np.add.at(inside, at, marginals.share)
        rest = np.maximum(0.0, marginals.carried - np.bincount(owner, marginals.share, domains))
        share = inside + (rest / many)[domain] + 1e-9
    return np.concatenate([[0.0], np.cumsum(share)])


def located(known: Spaces, domain: I64, point: I64) -> I64:
    """The space of each point; points of one domain are ascending neighbours."""
    found = np.empty(len(point), dtype=np.int64)
    begin = np.searchsorted(domain, np.arange(len(known.cut_start)))
    for d in np.flatnonzero(np.diff(begin)):
        mine = slice(begin[d], begin[d + 1])
        cuts = known.cuts[known.cut_start[d] : known.cut_start[d + 1]]
        found[mine] = known.cut_start[d] + d + np.searchsorted(cuts, point[mine], side="right")
    return found


def covered(extract: Extract, prices: F64) -> tuple[Lists, Lists]:
    """The cover and the guard of every subscription."""
    count = len(extract.kind)
    longest = _longest(extract)
    covers, guards = (
        Lists(np.zeros(count + 1, dtype=np.int64), np.empty(len(extract.code), dtype=np.int32)) for _ in range(2)
    )
    find_covers(
        extract,
        prices,
        np.empty((2 * longest + 2, NODE_COLUMNS), dtype=np.int64),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(2 * longest + 2),
        np.empty(2 * longest + 2, dtype=np.bool_),
        np.zeros(len(prices), dtype=np.bool_),
        covers,
        guards,
    )
    return covers, guards


def ordered(extract: Extract, prices: F64, covers: Lists, guards: Lists) -> Extract:
    """The same terms, their parts in the order in which they are best tested."""
    longest = _longest(extract)
    code = np.empty_like(extract.code)
    order_parts(
        extract.kind,
        extract.start,
        extract.code,
        prices,
        covers,
        guards,
        np.zeros(len(prices)),
        np.empty((2 * longest + 2, NODE_COLUMNS), dtype=np.int64),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(longest + 1),
        code,
    )
    return extract._replace(code=code)


def _longest(extract: Extract) -> int:
    """Tests of the longest program."""
    return int(np.diff(extract.start)[extract.kind == PROGRAM].max(initial=0)) // 3


def placed(covers: Lists, ranges: Ranges, is_apart: np.ndarray, cut_start: I64, kind: U8) -> tuple[I64, I32]:
    """The keys of all postings, ascending, and the subscription of each."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    count = place(covers, ranges, is_apart, cut_start, *nothing)
    keys, owners = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32)
    place(covers, ranges, is_apart, cut_start, keys, owners)
    order = np.argsort(keys, kind="stable")
    order = order[kind[owners[order]] != NEVER]
    return keys[order], owners[order]


def programs(extract: Extract, ranges: Ranges, prices: F64, owners: I32) -> tuple[I64, I32]:
    """Where the program of each term begins, -1 for one that none of `owners` is, and the words, in their order."""
    tests = np.where(extract.kind == CONJUNCTION, np.diff(extract.start), np.diff(extract.start) // 3)
    tests[(extract.kind == CONJUNCTION) & (tests == 0)] = 1
    named, first = np.unique(owners, return_index=True)
    order = named[np.argsort(first)]
    lengths = 1 + INSTRUCTION_WORDS * tests[order]
    program = np.full(len(tests), -1, dtype=np.int64)
    program[order] = np.cumsum(lengths) - lengths
    words = np.empty(int(lengths.sum()), dtype=np.int32)
    if not write_programs(extract.kind, extract.start, extract.code, ranges, prices, program, words):
        raise AssertionError("a test with two jumps")
    return program, words


def clustered(keys: I64, domains: int) -> tuple[Access, I64]:
    """How an event finds the clusters of ascending keys, and where the postings of each cluster begin."""
    key, first = np.unique(keys, return_index=True)
    has_always = int(len(key) > 0 and key[0] == ALWAYS)
    # Cluster 0 is that of ALWAYS, with or without postings.
    start = np.concatenate([[0], first[has_always:], [len(keys)]])
    key = key[has_always:]
    kind, node = key >> NODE_BITS, key & ((1 << NODE_BITS) - 1)
    variant, begin, count = np.unique(kind, return_index=True, return_counts=True)
    last = begin + count - 1
    variants = np.zeros((len(variant), VARIANT_COLUMNS), dtype=np.int64)
    number = variant & ((1 << VARIANT_BITS) - 1)
    level = number >> 1
    nodes = node[last] - node[begin] + 1
    table = np.concatenate([[0], np.cumsum(nodes)])
    half = np.where(number & 1, (1 << level) >> 1, 0)
    for column, values in enumerate((level, half, node[begin], nodes, table[:-1])):
        variants[:, column] = values
    cluster = np.full(table[-1], -1, dtype=np.int32)
    cluster[np.repeat(table[:-1] - node[begin], count) + node] = np.arange(1, len(key) + 1)
    variant_start = np.searchsorted(variant >> VARIANT_BITS, np.arange(domains + 1))
    return Access(variant_start, variants, cluster), start
