"""List what a term requires, in columns: predicates that must be true, and clauses of which one predicate must be.

A *column* is a domain in a *group*. Group 0 has the predicates that must all be true, with direct and negated ones in
different columns. Each other group has the predicates of one clause. The number of a column is group * span + 2 *
domain + negated, where `span` is twice the number of domains, and columns of clauses count as direct.
"""

from __future__ import annotations

from tellwhen.compile.extract import Extract
from tellwhen.compile.kernels.tree import AND_NODE, BEGIN, END, KIND, OR_NODE, divide_node, read_parts
from tellwhen.engines.cover.build_arrays import PredicateFacts, TermColumns
from tellwhen.kernels.arrays import CONJUNCTION
from tellwhen.kernels.handover import unpack
from tellwhen.kernels.jit import inline, kernel

GROUPS_MAX = 8
"""The first 8 clauses of a term have a group each; its program tests the others."""


@inline
def append_conjunct(p, ranges, begin, columns, count):
    """Append predicate p in group 0, unless columns[begin:count] has its column already.

    Return the new number of columns, and whether p was appended.
    """
    column = 2 * ranges.domain[p] + ranges.negated[p]
    for k in range(begin, count):
        if columns.column[k] == column:
            return count, False
    columns.column[count], columns.predicate[count] = column, p
    return count + 1, True


@inline
def divide_clause(n, code, start, nodes, end, is_exact):
    """Divide clause n into its predicates, which become nodes from `end` on; return where they end.

    Return `end` for a clause with other parts than predicates, or with a predicate that buckets cannot decide.
    """
    last = divide_node(code, start, nodes, n, end)
    if nodes[n, KIND] != OR_NODE:
        return end
    for child in range(end, last):
        is_leaf = nodes[child, END] - nodes[child, BEGIN] == 1
        if not is_leaf or not is_exact[code[start + 3 * nodes[child, BEGIN]]]:
            return end
    return last


@inline
def append_parts(code, start, end, nodes, facts, span, columns, count):
    """Append the predicates, then the clauses, of an AND to `columns`. Its parts are the nodes from 1 to `end` - 1.

    Return the new number of columns, and whether testing their buckets decides the whole AND.
    """
    begin, is_whole, group = count, True, 0
    for n in range(1, end):
        if nodes[n, END] - nodes[n, BEGIN] == 1:
            p = code[start + 3 * nodes[n, BEGIN]]
            count, is_added = append_conjunct(p, facts.ranges, begin, columns, count)
            is_whole &= is_added and facts.is_exact[p]
    for n in range(1, end):
        if nodes[n, END] - nodes[n, BEGIN] > 1:
            last = divide_clause(n, code, start, nodes, end, facts.is_exact) if group < GROUPS_MAX else end
            group += last > end
            is_whole &= last > end
            for child in range(end, last):
                p = code[start + 3 * nodes[child, BEGIN]]
                columns.column[count] = group * span + 2 * facts.ranges.domain[p]
                columns.predicate[count] = p
                count += 1
    return count, is_whole


@kernel
def write_requirements(terms, facts, span, nodes, columns, is_whole):
    """Write what an event must satisfy to match each term: predicates first, then clauses, each in its own group.

    is_whole[s] becomes True where testing the buckets of these columns decides term s. `nodes` is scratch.
    """
    terms, facts, columns = unpack(terms, Extract), unpack(facts, PredicateFacts), unpack(columns, TermColumns)
    code = terms.code
    count = 0
    for s in range(terms.kind.size):
        first, last = terms.start[s], terms.start[s + 1]
        begin = count
        is_whole[s] = terms.kind[s] == CONJUNCTION
        if terms.kind[s] == CONJUNCTION:
            for i in range(first, last):
                count, is_added = append_conjunct(code[i], facts.ranges, begin, columns, count)
                is_whole[s] &= is_added and facts.is_exact[code[i]]
        else:
            end = read_parts(terms.kind[s], code, first, last, nodes)
            if nodes[0, KIND] == AND_NODE:
                count, is_whole[s] = append_parts(code, first, end, nodes, facts, span, columns, count)
        columns.start[s + 1] = count
