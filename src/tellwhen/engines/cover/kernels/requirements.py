"""What does a term ask for, in columns? Predicates that must be true, and clauses of which one predicate must be.

A *column* is a domain, in a *group*. In group 0 are predicates that must all be true, direct and negated ones in
columns of their own. In each other group are those of one clause. Number of a column: group * span + 2 * domain +
negated, where `span` is twice the number of domains, and columns of clauses count as direct.
"""

from __future__ import annotations

from tellwhen.engines.cover.kernels.terms import has_registers
from tellwhen.engines.shared.kernels.tree import AND_NODE, BEGIN, END, KIND, OR_NODE, divide, put_node
from tellwhen.kernels.arrays import ACCEPT, CONJUNCTION, PROGRAM, REJECT
from tellwhen.kernels.jit import inline, kernel

GROUPS_MAX = 8
"""The most clauses of a term that get a group; its program tests the others."""


@inline
def put_conjunct(p, ranges, begin, columns, predicates, count):
    """Note predicate p in group 0, unless its column has one; returns the new count, and whether it is noted."""
    column = 2 * ranges.domain[p] + ranges.negated[p]
    for k in range(begin, count):
        if columns[k] == column:
            return count, False
    columns[count], predicates[count] = column, p
    return count + 1, True


@inline
def put_clause(n, group, code, start, nodes, end, span, ranges, is_exact, asked, count):
    """Note the predicates of clause n; returns the new count, and whether they are noted.

    A clause with other parts than predicates, or with one that buckets do not tell exactly, is left to the program.
    """
    _, columns, predicates = asked
    first = end
    last = divide(code, start, nodes, n, end)
    if nodes[n, KIND] != OR_NODE:
        return count, False
    for child in range(first, last):
        is_leaf = nodes[child, END] - nodes[child, BEGIN] == 1
        if not is_leaf or not is_exact[code[start + 3 * nodes[child, BEGIN]]]:
            return count, False
    for child in range(first, last):
        p = code[start + 3 * nodes[child, BEGIN]]
        columns[count], predicates[count] = group * span + 2 * ranges.domain[p], p
        count += 1
    return count, True


@kernel
def write_requirements(kind, start, code, span, ranges, is_exact, nodes, asked, is_whole):
    """What an event must satisfy to match each term: predicates first, then clauses, each in a group of its own.

    is_whole[s] becomes True where that is all there is to term s, and buckets tell it exactly.
    """
    asked_start, columns, predicates = asked
    count = 0
    for s in range(kind.size):
        first, last = start[s], start[s + 1]
        begin = count
        is_whole[s] = kind[s] == CONJUNCTION
        if kind[s] == CONJUNCTION:
            for i in range(first, last):
                count, is_noted = put_conjunct(code[i], ranges, begin, columns, predicates, count)
                is_whole[s] &= is_noted and is_exact[code[i]]
        elif kind[s] == PROGRAM and not has_registers(code, first, last):
            put_node(nodes, 0, 0, (last - first) // 3, ACCEPT, REJECT)
            end = divide(code, first, nodes, 0, 1)
            if nodes[0, KIND] == AND_NODE:
                whole, group = True, 0
                for n in range(1, end):
                    if nodes[n, END] - nodes[n, BEGIN] == 1:
                        p = code[first + 3 * nodes[n, BEGIN]]
                        count, is_noted = put_conjunct(p, ranges, begin, columns, predicates, count)
                        whole &= is_noted and is_exact[p]
                for n in range(1, end):
                    if nodes[n, END] - nodes[n, BEGIN] > 1:
                        is_noted = False
                        if group < GROUPS_MAX:
                            count, is_noted = put_clause(
                                n, group + 1, code, first, nodes, end, span, ranges, is_exact, asked, count
                            )
                        group += is_noted
                        whole &= is_noted
                is_whole[s] = whole
        asked_start[s + 1] = count
