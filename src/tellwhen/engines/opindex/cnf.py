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

from tellwhen.compile.normal_form import MAX_CONJUNCTIONS
from tellwhen.containers.csr import gather
from tellwhen.engines.base import Reader
from tellwhen.engines.opindex.arrays import OpIndexCNFIndex
from tellwhen.engines.opindex.cnf_kernels import match_clauses
from tellwhen.engines.opindex.engine import Entries, Entry, OpIndex, intervals, rarity
from tellwhen.engines.opindex.kernels import AT_LEAST, AT_MOST, EQUAL
from tellwhen.engines.shared.conjunctions import ConjunctionReader
from tellwhen.kernels.arrays import CONJUNCTION, HIGHEST, I32, I64, LOWEST, REJECT, Predicates


class OpIndexCNF(OpIndex):
    """Strikes out clauses of the subscriptions one of whose pivots the event carries."""

    name = "opindex-cnf"
    summary = "OpIndex for conjunctions of clauses, with bitmaps"
    longest = MAX_CONJUNCTIONS  # clauses: a bit each
    goal = REJECT
    kind = OpIndexCNFIndex

    def _build(self) -> None:
        snapshot = self.store.snapshot()
        slot, first, start, predicate = self._clauses()
        mine, pivot = self._pivots_of(first, start, predicate)
        order = np.argsort(pivot, kind="stable")
        mine, pivot = mine[order], pivot[order]
        pivot_start = np.searchsorted(pivot, np.arange(snapshot.domains + 1))
        # A subscription has all its clauses in each of its conjunctions.
        begin, which = gather(first, mine)
        conjunction = np.repeat(np.arange(len(mine)), np.diff(begin))
        number = np.arange(len(conjunction)) - begin[conjunction]
        start, which = gather(start, which)
        entries, upto = _entries(snapshot.predicates, snapshot.domains)
        lists, owner = self._lists(entries, snapshot.domains, start, predicate[which], pivot[conjunction])
        several = np.bincount(mine, minlength=len(slot))[mine] > 1
        self._index = OpIndexCNFIndex(
            lists._replace(conjunctions=(conjunction - pivot_start[pivot[conjunction]])[owner].astype(np.int32)),
            pivot_start,
            conjunction_slot=np.where(several, -1 - slot[mine], slot[mine]).astype(np.int32),
            clauses=_ones(np.diff(begin)),
            clause=number[owner].astype(np.uint8),
            upto=upto,
        )

    def _clauses(self) -> tuple[I32, I64, I64, I32]:
        """All clauses: the slots, where the clauses of each begin, where their predicates begin, and these."""
        kind, start, code, _ = self.store.snapshot().subscriptions
        mine = self._built[kind[self._built] == CONJUNCTION]
        first, which = gather(start, mine)
        other = self._translator.conjunctions
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
        """Pairs of a subscription and one of its pivots; without clauses its pivot is the number of domains."""
        snapshot = self.store.snapshot()
        domain = snapshot.predicates.domain[predicate]
        clause = np.repeat(np.arange(len(start) - 1), np.diff(start))
        weight = np.bincount(clause, rarity(self.store, predicate)[domain], len(start) - 1)
        # A clause has 64 predicates at most, and no domain weighs more than 2.
        chosen = _first_least(np.diff(start) * 256 + weight, first)
        some = np.flatnonzero(np.diff(first))
        begin, which = gather(start, chosen)
        pairs = np.sort(np.repeat(some, np.diff(begin)) * snapshot.domains + domain[which], kind="stable")
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        none = np.flatnonzero(np.diff(first) == 0)
        domains = max(1, snapshot.domains)
        return (
            np.concatenate([pairs // domains, none]),
            np.concatenate([pairs % domains, np.full(len(none), snapshot.domains)]),
        )

    def reader(self) -> Reader:
        lists, *conjunctions = self._index
        return ConjunctionReader(self, match_clauses, (*lists, *conjunctions), self._sizes(np.uint64))

    def verify(self) -> None:
        domain = self.store.snapshot().predicates.domain
        by_conjunction, conjunctions_of = self._by_conjunction(), defaultdict(list)
        for conjunction, of in enumerate(self._index.conjunction_slot.tolist()):
            conjunctions_of[-1 - of if of < 0 else of].append(conjunction)
        slot, first, start, predicate = self._clauses()
        clauses = [predicate[begin:end].tolist() for begin, end in pairwise(start.tolist())]
        built = set(self._built.tolist())
        for of, (begin, end) in zip(slot.tolist(), pairwise(first.tolist()), strict=True):
            if of not in built:
                continue
            mine, conjunctions = clauses[begin:end], conjunctions_of.pop(of)
            wanted = sorted(entry for n, clause in enumerate(mine) for p in clause for entry in self._written(p, n))
            pivots = [by_conjunction[conjunction][0] for conjunction in conjunctions]
            fewest = min(map(len, mine), default=0)
            smallest = [sorted({int(domain[p]) for p in clause}) for clause in mine if len(clause) == fewest]
            assert sorted(pivots) in smallest or not mine, "it is once in the lists of each domain of a smallest clause"
            for conjunction in conjunctions:
                assert sorted(by_conjunction[conjunction][1]) == wanted, "every conjunction has all entries, once"
                assert int(self._index.clauses[conjunction]) == (1 << len(mine)) - 1
                assert (self._index.conjunction_slot[conjunction] < 0) == (len(conjunctions) > 1)
        assert not conjunctions_of, "there are no other conjunctions"

    def _entry(self, operator: int, domain: int, rank: int, k: int) -> Entry:
        index = self._index
        return operator, domain, int(index.lists.keys[rank]), int(index.upto[rank]), int(index.clause[k])

    def _written(self, p: int, clause: int) -> list[Entry]:
        """The entries of a predicate, one by one: an interval each."""
        predicates = self.store.snapshot().predicates
        domain = int(predicates.domain[p])
        return [
            (EQUAL, domain, low, HIGHEST, clause) if low == high
            else (AT_MOST, domain, high, HIGHEST, clause) if low == LOWEST and high != HIGHEST
            else (AT_LEAST, domain, low, high, clause)
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


def _entries(predicates: Predicates, domains: int) -> tuple[Entries, I64]:
    """The entries of all predicates, and by rank the high end that belongs to the operand."""
    _, _, start, low, high = predicates
    owner = np.repeat(np.arange(len(predicates.domain)), np.diff(start))
    is_point, above = low == high, (low == LOWEST) & (high != HIGHEST)
    operator = np.select([is_point, above], [EQUAL, AT_MOST], AT_LEAST)
    operand = np.where(above, high, low)
    upto = np.where(operator == AT_LEAST, high, HIGHEST)
    group = operator * domains + predicates.domain[owner]
    order = np.lexsort((upto, operand, group))
    group, operand, upto = group[order], operand[order], upto[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(group) != 0) | (operand[1:] != operand[:-1]) | (upto[1:] != upto[:-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.cumsum(fresh) - 1
    key_start = np.searchsorted(group[fresh], np.arange(3 * domains + 1))
    return Entries(start, rank, key_start, operand[fresh]), upto[fresh]
