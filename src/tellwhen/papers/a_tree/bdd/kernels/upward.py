"""Which nodes stand above this one? The diagram from below, written as records."""

from __future__ import annotations

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import PARENTS, RECORD_HEADER, ROOT, TERMINALS, TRUE


@inline
def add_parent(records, at, parent, needs):
    """Write the next parent of the node whose record begins at `at`."""
    end = at + RECORD_HEADER + 2 * records[at + PARENTS]
    records[end], records[end + 1] = parent, needs
    records[at + PARENTS] += 1


@kernel
def write_records(nodes, root, place, next_seed, seeds, records):
    """Write the records of all nodes to their places; root[n] is the number of the root that node n is, or -1.

    Children come before their parents, so the record of a child has begun. Where the next seed of each predicate goes
    is in `next_seed`.
    """
    for n in range(TERMINALS, nodes.predicate.size):
        p, low, high, at = nodes.predicate[n], nodes.low[n], nodes.high[n], place[n]
        records[at + ROOT], records[at + PARENTS] = root[n], 0
        if low >= TERMINALS:
            add_parent(records, place[low], at, -1)
        if high >= TERMINALS:
            add_parent(records, place[high], at, p)
        elif high == TRUE:
            seeds[next_seed[p]] = at
            next_seed[p] += 1
