"""Which attributes must an event have for a subscription to match? If none, any event may match."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.store import Store
from tellwhen.containers.csr import gather
from tellwhen.kernels.arrays import CONJUNCTION, I32, I64, PROGRAM
from tellwhen.lang.ast import And, Expr, Not, Or, Predicate, Truth, Xnor, Xor

Names = frozenset[str]
NONE: Names = frozenset()


def needed(expr: Expr, positive: bool = True) -> Names:
    """The attributes without which the expression cannot be true; or cannot be false, if not `positive`.

    >>> import tellwhen as tw
    >>> sorted(needed(tw.parse("a = 1 AND (b = 1 OR b = 2 AND c = 1) AND d IS NULL")))
    ['a', 'b']
    """
    if isinstance(expr, Predicate):
        is_of_absence = expr.operator == ("IS NULL" if positive else "IS NOT NULL")
        return NONE if is_of_absence else frozenset((expr.attribute,))
    if isinstance(expr, Truth):
        return NONE
    if isinstance(expr, Not):
        return needed(expr.arg, not positive)
    if isinstance(expr, And | Or):
        each = [needed(arg, positive) for arg in expr.args]
        return NONE.union(*each) if isinstance(expr, And) == positive else frozenset.intersection(*each)
    assert isinstance(expr, Xor | Xnor)
    # True or false only when every operand is one of the two.
    return NONE.union(*(needed(arg, True) & needed(arg, False) for arg in expr.args))


class Needs:
    """The needed attributes of subscriptions as they are stored: attribute numbers by slot."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._of_programs: dict[int, list[int]] = {}

    def number(self, name: str) -> int:
        """The number of an attribute."""
        return self.names.setdefault(name, len(self.names))

    def note(self, store: Store, slots: I32, expressions: list[Expr]) -> None:
        """Note the attributes of programs; those of conjunctions are read from the store at the end."""
        for slot in np.flatnonzero(store.snapshot().subscriptions.kind[slots] == PROGRAM).tolist():
            self._of_programs[int(slots[slot])] = [self.number(name) for name in sorted(needed(expressions[slot]))]

    def arrays(self, store: Store) -> tuple[I64, I32]:
        """The attributes of slot s are attribute[start[s]:start[s+1]]."""
        snapshot = store.snapshot()
        domains, predicates = store.attributes.domains, snapshot.predicates
        attribute_of = np.array([self.number(domain.attribute) for domain in domains], dtype=np.int32)
        is_of_absence = store.is_presence()[predicates.domain] & (predicates.low[predicates.start[:-1]] == 0)
        conjunctions = np.flatnonzero(snapshot.subscriptions.kind == CONJUNCTION).astype(np.int32)
        start, which = gather(snapshot.subscriptions.start, conjunctions)
        code = snapshot.subscriptions.code[which]
        kept = ~is_of_absence[code]
        owner = np.repeat(conjunctions, np.diff(start))[kept]
        attribute = attribute_of[predicates.domain[code]][kept]
        if self._of_programs:
            lengths = [len(found) for found in self._of_programs.values()]
            owner = np.concatenate([owner, np.repeat(list(self._of_programs), lengths)])
            flat = [number for found in self._of_programs.values() for number in found]
            attribute = np.concatenate([attribute, np.array(flat, dtype=np.int32)])
            order = np.argsort(owner, kind="stable")
            owner, attribute = owner[order], attribute[order]
        return np.searchsorted(owner, np.arange(len(store) + 1)), attribute.astype(np.int32)


def pivots(start: I64, attribute: I32, rank: I64) -> I64:
    """For each slot the needed attribute of the lowest rank; -1 where none is needed."""
    found = np.full(len(start) - 1, -1, dtype=np.int64)
    some = np.flatnonzero(np.diff(start) > 0)
    if len(some):
        order = np.argsort(rank)
        best = np.minimum.reduceat(rank[attribute], start[some])
        found[some] = order[np.searchsorted(rank[order], best)]
    return found
