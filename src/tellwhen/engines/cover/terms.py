"""Subscriptions -> terms, each with its cover, its guard and the predicates that it requires."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.extract import Extract
from tellwhen.compile.tree import Tree, allocate_tree
from tellwhen.engines.cover.build_arrays import (
    CoverSearch,
    PartOrder,
    PredicateFacts,
    PredicateLists,
    Requirements,
    TermCode,
    TermColumns,
)
from tellwhen.engines.cover.kernels.covers import write_covers
from tellwhen.engines.cover.kernels.requirements import write_requirements
from tellwhen.engines.cover.kernels.terms import write_open_tests, write_sorted_parts, write_terms
from tellwhen.kernels.arrays import F64, I32, PROGRAM, Flags
from tellwhen.kernels.handover import pack


def split_terms(subscriptions: Extract) -> tuple[I32, Extract]:
    """Return the subscription of every term, and all terms in the form of subscriptions."""
    tests = int(np.diff(subscriptions.start)[subscriptions.kind == PROGRAM].sum()) // 3
    room = len(subscriptions.kind) + tests
    terms = TermCode(
        np.empty(room, dtype=np.int32),
        np.empty(room, dtype=np.uint8),
        np.zeros(room + 1, dtype=np.int64),
        np.empty(len(subscriptions.code), dtype=np.int32),
    )
    count = write_terms(pack(subscriptions), _make_tree(subscriptions).nodes, pack(terms))
    start, code = terms.start[: count + 1], terms.code[: terms.start[count]]
    return terms.owner[:count], subscriptions._replace(kind=terms.kind[:count], start=start, code=code)


def choose_covers(terms: Extract, prices: F64) -> tuple[PredicateLists, PredicateLists]:
    """Return the cover and the guard of every term, for prices by predicate."""
    count, tree = len(terms.kind), _make_tree(terms)
    covers, guards = (
        PredicateLists(np.zeros(count + 1, dtype=np.int64), np.empty(len(terms.code), dtype=np.int32)) for _ in range(2)
    )
    search = CoverSearch(
        prices,
        tree,
        price=np.empty(len(tree.nodes)),
        is_chosen=np.empty(len(tree.nodes), dtype=np.bool_),
        is_banned=np.zeros(len(prices), dtype=np.bool_),
    )
    write_covers(pack(terms), pack(search), pack(covers), pack(guards))
    return covers, guards


def sort_parts(terms: Extract, prices: F64, covers: PredicateLists, guards: PredicateLists) -> Extract:
    """Return the same terms with the parts of every AND in the order in which they are best tested."""
    nodes = _make_tree(terms).nodes
    parts = len(nodes) // 2
    order = PartOrder(prices, nodes, np.empty(parts, dtype=np.int64), np.empty(parts), penalty=np.zeros(len(prices)))
    code = np.empty_like(terms.code)
    write_sorted_parts(pack(terms), pack(covers), pack(guards), pack(order), code)
    return terms._replace(code=code)


def find_requirements(terms: Extract, facts: PredicateFacts, span: int) -> Requirements:
    """Find the predicates and clauses that must be true for each term; `span` is the number of columns of a group."""
    count = len(terms.kind)
    columns = TermColumns(np.zeros(count + 1, dtype=np.int64), *np.empty((2, len(terms.code)), dtype=np.int32))
    is_whole = np.empty(count, dtype=np.bool_)
    write_requirements(pack(terms), pack(facts), span, _make_tree(terms).nodes, pack(columns), is_whole)
    plain = _select(columns, columns.column[: columns.start[-1]] < span)
    return Requirements(columns, plain, is_whole, span)


def drop_implied(requirements: Requirements, implied: I32) -> Requirements:
    """Drop the predicates that are true of every event that finds the term, but not those of clauses."""

    def select_not_implied(columns: TermColumns) -> TermColumns:
        count = columns.start[-1]
        owner = np.repeat(np.arange(len(implied)), np.diff(columns.start))
        is_implied = columns.predicate[:count] == implied[owner]
        return _select(columns, ~is_implied | (columns.column[:count] >= requirements.span))

    return requirements._replace(all=select_not_implied(requirements.all), plain=select_not_implied(requirements.plain))


def drop_decided_tests(terms: Extract, conjunct: TermColumns, is_exact: Flags, implied: I32) -> Extract:
    """Return the terms without the tests that the bitmaps of a chunk have decided."""
    out = terms._replace(start=np.zeros_like(terms.start), code=np.empty_like(terms.code))
    write_open_tests(pack(terms), pack(conjunct), is_exact, implied, _make_tree(terms).nodes, pack(out))
    return out


def _select(columns: TermColumns, is_selected: Flags) -> TermColumns:
    upto = np.concatenate([[0], np.cumsum(is_selected)])
    count = columns.start[-1]
    return TermColumns(upto[columns.start], columns.column[:count][is_selected], columns.predicate[:count][is_selected])


def _make_tree(terms: Extract) -> Tree:
    """Return working arrays for the tree of the longest program."""
    return allocate_tree(int(np.diff(terms.start)[terms.kind == PROGRAM].max(initial=0)) // 3)
