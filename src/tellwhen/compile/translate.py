"""Any expression -> rows: its disjunctive normal form, for engines that index conjunctions (A-Tree, "Translation").

A program of tests is walked down every path to ACCEPT. The tests answered yes on a path make one conjunction; those
answered no may be dropped, because the program is monotone: a true predicate never turns a match into none.
"""

from __future__ import annotations

from tellwhen.errors import BudgetError
from tellwhen.kernels.arrays import ACCEPT, CLEAR, I32, SET

BUDGET = 64
"""Rows one subscription may become."""

PATHS = 64
"""Paths that may be walked per allowed row: some are dead ends, some are repeated."""


def rows_of(program: I32, budget: int = BUDGET) -> list[tuple[int, ...]]:
    """The conjunctions, as sorted predicate ids, that make up a program; raises BudgetError beyond the budget."""
    code = program.tolist()
    found: set[frozenset[int]] = set()
    walked = 0
    # A state is where to go on, the predicates taken as true and as false, and the registers set.
    paths: list[tuple[int, frozenset[int], frozenset[int], frozenset[int]]] = [
        (0, frozenset(), frozenset(), frozenset())
    ]
    while paths:
        at, true, false, registers = paths.pop()
        walked += 1
        if walked > budget * PATHS:
            raise _over(budget)
        while at >= 0:
            test, yes, no = code[3 * at : 3 * at + 3]
            if test >= 0:
                if test not in true and test not in false:
                    paths.append((no, true, false | {test}, registers))
                    true = true | {test}
                at = yes if test in true else no
            elif no == SET:
                registers, at = registers | {test}, yes
            elif no == CLEAR:
                registers, at = registers - {test}, yes
            else:
                at = yes if test in registers else no
        if at == ACCEPT:
            if any(row <= true for row in found):
                continue
            found = {row for row in found if not true <= row} | {true}
            if len(found) > budget:
                raise _over(budget)
    return sorted(tuple(sorted(row)) for row in found)


def _over(budget: int) -> BudgetError:
    return BudgetError(
        f"in disjunctive form this expression has more than {budget} conjunctions, or too many paths to find them"
    )
