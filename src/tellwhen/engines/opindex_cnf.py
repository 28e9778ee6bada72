"""`opindex-cnf`: `opindex` for conjunctions of clauses, with a bitmap for each instead of a counter (OpIndex, 6.1).

An expression is indexed in its conjunctive form. The clause of the fewest predicates, of equals the one whose
attributes are the rarest together, gives the pivots: the subscription is in the lists of each. A true predicate strikes
out its clause; where no clause is left the subscription matches.

Deviations: a clause needs but one of its entries, so a predicate has one for each of its intervals. One with two ends
is not written as >= and <=, of which either would strike out the clause: it stands in the list >= by its low end, and
its high end, which is compared when the low end is reached, is part of the operand.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.compile.translate import BUDGET
from tellwhen.engines.base import Reader
from tellwhen.engines.opindex import Entries, Entry, OpIndex, intervals, rarity
from tellwhen.engines.rows import RowReader
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, REJECT, ROW, OpIndexCNFIndex, Predicates
from tellwhen.kernels.opindex import AT_LEAST, AT_MOST, EQUAL
from tellwhen.kernels.opindex_cnf import match_clauses


class OpIndexCNF(OpIndex):
    """Strikes out clauses of the subscriptions one of whose pivots the event carries."""

    name = "opindex-cnf"
    summary = "OpIndex for conjunctions of clauses, with bitmaps"
    longest = BUDGET  # clauses: a bit each
    goal = REJECT
    kind = OpIndexCNFIndex

    def _build(self) -> None:
        view = self.store.view()
        slot, first, start, predicate = self._clauses()
        mine, pivot = self._pivots_of(first, start, predicate)
        order = np.argsort(pivot, kind="stable")
        mine, pivot = mine[order], pivot[order]
        pivot_rows = np.searchsorted(pivot, np.arange(view.lines + 1))
        # A subscription has all its clauses in each of its rows.
        begin, which = gather(first, mine)
        row = np.repeat(np.arange(len(mine)), np.diff(begin))
        number = np.arange(len(row)) - begin[row]
        start, which = gather(start, which)
        entries, upto = _entries(view.predicates, view.lines)
        lists, owner = self._lists(entries, view.lines, start, predicate[which], pivot[row])
        several = np.bincount(mine, minlength=len(slot))[mine] > 1
        self._index = OpIndexCNFIndex(
            lists._replace(rows=(row - pivot_rows[pivot[row]])[owner].astype(np.int32)),
            pivot_rows,
            row_slot=np.where(several, -1 - slot[mine], slot[mine]).astype(np.int32),
            clauses=_ones(np.diff(begin)),
            clause=number[owner].astype(np.uint8),
            upto=upto,
        )

    def _clauses(self) -> tuple[I32, I64, I64, I32]:
        """All clauses: the slots, where the clauses of each begin, where their predicates begin, and these."""
        kind, start, code, _ = self.store.view().subscriptions
        mine = self._built[kind[self._built] == ROW]
        first, which = gather(start, mine)
        other = self._translator.rows
        slot = np.where(other.slot < 0, -1 - other.slot, other.slot)
        begins = np.flatnonzero(np.diff(slot, prepend=-1))
        single = first[-1]  # in a conjunction every predicate is a clause
        return (
            np.concatenate([mine, slot[begins]]),
            np.concatenate([first[:-1], single + begins, [single + len(slot)]]),
            np.concatenate([np.arange(single), single + other.start]),
            np.concatenate([code[which], other.predicate]),
        )

    def _pivots_of(self, first: I64, start: I64, predicate: I32) -> tuple[I64, I64]:
        """Pairs of a subscription and one of its pivots; without clauses its pivot is the number of lines."""
        view = self.store.view()
        line = view.predicates.line[predicate]
        clause = np.repeat(np.arange(len(start) - 1), np.diff(start))
        weight = np.bincount(clause, rarity(self.store, predicate)[line], len(start) - 1)
        # A clause has 64 predicates at most, and no line weighs more than 2.
        chosen = _first_least(np.diff(start) * 256 + weight, first)
        some = np.flatnonzero(np.diff(first))
        begin, which = gather(start, chosen)
        pairs = np.sort(np.repeat(some, np.diff(begin)) * view.lines + line[which], kind="stable")
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        none = np.flatnonzero(np.diff(first) == 0)
        lines = max(1, view.lines)
        return (
            np.concatenate([pairs // lines, none]),
            np.concatenate([pairs % lines, np.full(len(none), view.lines)]),
        )

    def reader(self) -> Reader:
        lists, *rows = self._index
        return RowReader(self, match_clauses, (*lists, *rows), self._sizes(np.uint64))

    def verify(self) -> None:
        line = self.store.view().predicates.line
        by_row, rows_of = self._by_row(), defaultdict(list)
        for row, of in enumerate(self._index.row_slot.tolist()):
            rows_of[-1 - of if of < 0 else of].append(row)
        slot, first, start, predicate = self._clauses()
        clauses = [predicate[begin:end].tolist() for begin, end in pairwise(start.tolist())]
        built = set(self._built.tolist())
        for of, (begin, end) in zip(slot.tolist(), pairwise(first.tolist()), strict=True):
            if of not in built:
                continue
            mine, rows = clauses[begin:end], rows_of.pop(of)
            wanted = sorted(entry for n, clause in enumerate(mine) for p in clause for entry in self._written(p, n))
            pivots = [by_row[row][0] for row in rows]
            fewest = min(map(len, mine), default=0)
            smallest = [sorted({int(line[p]) for p in clause}) for clause in mine if len(clause) == fewest]
            assert sorted(pivots) in smallest or not mine, "it is once in the lists of each line of a smallest clause"
            for row in rows:
                assert sorted(by_row[row][1]) == wanted, "every row has all entries, once"
                assert int(self._index.clauses[row]) == (1 << len(mine)) - 1
                assert (self._index.row_slot[row] < 0) == (len(rows) > 1)
        assert not rows_of, "there are no other rows"

    def _entry(self, operator: int, line: int, rank: int, k: int) -> Entry:
        index = self._index
        return operator, line, int(index.lists.keys[rank]), int(index.upto[rank]), int(index.clause[k])

    def _written(self, p: int, clause: int) -> list[Entry]:
        """The entries of a predicate, one by one: an interval each."""
        predicates = self.store.view().predicates
        line = int(predicates.line[p])
        return [
            (EQUAL, line, low, HIGHEST, clause) if low == high
            else (AT_MOST, line, high, HIGHEST, clause) if low == LOWEST and high != HIGHEST
            else (AT_LEAST, line, low, high, clause)
            for low, high in intervals(predicates, p)
        ]  # fmt: skip


def _first_least(score: np.ndarray, start: I64) -> I64:
    """Of every list that is not empty: the place of its least score, of equals the first."""
    some = start[:-1][np.diff(start) > 0]
    if not len(some):
        return some
    best = np.repeat(np.minimum.reduceat(score, some), np.diff(np.append(some, len(score))))
    places = np.flatnonzero(score == best)
    return places[np.searchsorted(places, some)]


def _ones(count: I64) -> np.ndarray:
    """So many bits, from the lowest on."""
    all_of = np.uint64(np.iinfo(np.uint64).max) >> (64 - np.maximum(1, count)).astype(np.uint64)
    return np.where(count > 0, all_of, np.uint64(0))


def _entries(predicates: Predicates, lines: int) -> tuple[Entries, I64]:
    """The entries of all predicates, and by rank the high end that belongs to the operand."""
    _, _, start, low, high = predicates
    owner = np.repeat(np.arange(len(predicates.line)), np.diff(start))
    is_point, above = low == high, (low == LOWEST) & (high != HIGHEST)
    operator = np.select([is_point, above], [EQUAL, AT_MOST], AT_LEAST)
    operand = np.where(above, high, low)
    upto = np.where(operator == AT_LEAST, high, HIGHEST)
    group = operator * lines + predicates.line[owner]
    order = np.lexsort((upto, operand, group))
    group, operand, upto = group[order], operand[order], upto[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(group) != 0) | (operand[1:] != operand[:-1]) | (upto[1:] != upto[:-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.cumsum(fresh) - 1
    key_start = np.searchsorted(group[fresh], np.arange(3 * lines + 1))
    return Entries(start, rank, key_start, operand[fresh]), upto[fresh]
