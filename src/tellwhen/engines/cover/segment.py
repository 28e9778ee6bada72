"""Subscriptions -> an index of them: spaces, prices, covers, clusters, programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.extract import Extract
from tellwhen.containers.batches import Marginals
from tellwhen.engines.cover.arrays import (
    GUARD_WORDS,
    INSTRUCTION_WORDS,
    VARIANT_COLUMNS,
    Access,
    CoverIndex,
    Postings,
)
from tellwhen.engines.cover.kernels.covers import find_covers
from tellwhen.engines.cover.kernels.places import (
    ALWAYS,
    NODE_BITS,
    VARIANT_BITS,
    place,
    price_predicates,
    read_ranges,
)
from tellwhen.engines.cover.kernels.programs import write_guards, write_programs
from tellwhen.engines.cover.kernels.terms import order_parts, split_terms
from tellwhen.engines.cover.kernels.tree import NODE_COLUMNS
from tellwhen.engines.shared.spaces import Spaces, spaces
from tellwhen.kernels.arrays import CONJUNCTION, F64, I32, I64, NEVER, PROGRAM, U8, Predicates


class Ranges(NamedTuple):
    """The predicates in terms of spaces. A negated one is true if its domain is there, and no range is touched."""

    domain: I32
    negated: U8
    start: I64  # |0|1|3|     ranges of p are start[p]:start[p+1]
    first: I32  # ascending
    last: I32


class Lists(NamedTuple):
    """A list of predicates for every subscription."""

    start: I64
    predicate: I32


def build(extract: Extract, slots: I32, domains: int, marginals: Marginals | None) -> CoverIndex:
    """The index of the subscriptions of an extract, which have these slots."""
    owner, extract = split(extract)
    slots = slots[owner]
    predicates = extract.literals
    every = np.arange(len(predicates.domain), dtype=np.int32)
    known = spaces(predicates, every, domains)
    ranges = read(predicates, known)
    mass = expected(known, predicates, extract, marginals)
    prices, is_apart = np.empty(len(every)), np.empty(len(every), dtype=np.bool_)
    price_predicates(ranges, known.cut_start, mass, prices, is_apart)
    covers, guards = covered(extract, prices)
    extract = ordered(extract, prices, covers, guards)
    keys, owners = placed(covers, ranges, is_apart, known.cut_start, extract.kind)
    program, words = programs(extract, ranges, prices, owners)
    guard = np.empty((len(owners), GUARD_WORDS), dtype=np.int32)
    write_guards(owners, guards, ranges, prices, guard)
    access, start = clustered(keys, domains)
    slot = slots[owners]
    several = np.bincount(owner[owners])[owner[owners]] > 1
    return CoverIndex(
        known.cut_start,
        known.cuts,
        access,
        Postings(start, np.where(several, -1 - slot, slot), program[owners], guard),
        words,
        np.stack([ranges.first, ranges.last], axis=1).reshape(-1),
    )


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
    """Where the program of each term begins, and the words of all, in the order in which postings name them."""
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
