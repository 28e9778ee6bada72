"""Subscriptions -> terms, each with its cover and with the predicates that must be true in any case."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.extract import Extract
from tellwhen.engines.cover.arrays import Lists, Ranges, TermColumns
from tellwhen.engines.cover.kernels.covers import write_covers
from tellwhen.engines.cover.kernels.requirements import write_requirements
from tellwhen.engines.cover.kernels.terms import write_open_tests, write_sorted_parts, write_terms
from tellwhen.engines.shared.kernels.tree import NODE_COLUMNS
from tellwhen.kernels.arrays import F64, I32, PROGRAM


def split_terms(extract: Extract) -> tuple[I32, Extract]:
    """By term the subscription that it belongs to; and all terms, in the form of subscriptions."""
    literals, kind, start, code, registers = extract
    longest = _count_longest(extract)
    most = len(kind) + int(np.diff(start)[kind == PROGRAM].sum()) // 3
    owner, term_kind = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint8)
    term_start, term_code = np.zeros(most + 1, dtype=np.int64), np.empty(len(code), dtype=np.int32)
    nodes = np.empty((2 * longest + 2, NODE_COLUMNS), dtype=np.int64)
    count = write_terms(kind, start, code, nodes, owner, term_kind, term_start, term_code)
    terms = Extract(literals, term_kind[:count], term_start[: count + 1], term_code[: term_start[count]], registers)
    return owner[:count], terms


def choose_covers(extract: Extract, prices: F64) -> tuple[Lists, Lists]:
    """The cover and the guard of every term."""
    count = len(extract.kind)
    longest = _count_longest(extract)
    covers, guards = (
        Lists(np.zeros(count + 1, dtype=np.int64), np.empty(len(extract.code), dtype=np.int32)) for _ in range(2)
    )
    write_covers(
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


def sort_parts(extract: Extract, prices: F64, covers: Lists, guards: Lists) -> Extract:
    """The same terms, their parts in the order in which they are best tested."""
    longest = _count_longest(extract)
    code = np.empty_like(extract.code)
    write_sorted_parts(
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


def find_requirements(
    extract: Extract, ranges: Ranges, is_exact: NDArray[np.bool_], span: int
) -> tuple[TermColumns, NDArray[np.bool_]]:
    """What must be true for each term; and by term whether that is all of it, and buckets tell it exactly."""
    count = len(extract.kind)
    found = TermColumns(np.zeros(count + 1, dtype=np.int64), *np.empty((2, len(extract.code)), dtype=np.int32))
    nodes = np.empty((2 * _count_longest(extract) + 2, NODE_COLUMNS), dtype=np.int64)
    is_whole = np.empty(count, dtype=np.bool_)
    write_requirements(extract.kind, extract.start, extract.code, span, ranges, is_exact, nodes, found, is_whole)
    return found, is_whole


def drop_clauses(found: TermColumns, span: int) -> TermColumns:
    """Without clauses."""
    return _select(found, found.column[: found.start[-1]] < span)


def _select(found: TermColumns, is_kept: NDArray[np.bool_]) -> TermColumns:
    upto = np.concatenate([[0], np.cumsum(is_kept)])
    count = found.start[-1]
    return TermColumns(upto[found.start], found.column[:count][is_kept], found.predicate[:count][is_kept])


def drop_settled_tests(
    extract: Extract, conjunct: TermColumns, is_exact: NDArray[np.bool_], known_true: I32
) -> Extract:
    """The terms without what bitmaps settle."""
    start, code = np.zeros_like(extract.start), np.empty_like(extract.code)
    nodes = np.empty((2 * _count_longest(extract) + 2, NODE_COLUMNS), dtype=np.int64)
    write_open_tests(extract.kind, extract.start, extract.code, conjunct, is_exact, known_true, nodes, start, code)
    return extract._replace(start=start, code=code)


def drop_implied(found: TermColumns, known_true: I32, span: int) -> TermColumns:
    """Without the predicates that are true of every event that finds the term; those of clauses stay."""
    count = found.start[-1]
    owner = np.repeat(np.arange(len(known_true)), np.diff(found.start))
    return _select(found, (found.predicate[:count] != known_true[owner]) | (found.column[:count] >= span))


def _count_longest(extract: Extract) -> int:
    """Tests of the longest program."""
    return int(np.diff(extract.start)[extract.kind == PROGRAM].max(initial=0)) // 3
