"""Kernels that write the diagram from below, as a record of the parents of each node."""

from __future__ import annotations

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import PARENTS, RECORD_HEADER, ROOT, TERMINALS, TRUE


@inline
def add_parent(records, at, parent, needs):
    """Append a parent to the record that begins at `at`."""
    end = at + RECORD_HEADER + 2 * records[at + PARENTS]
    records[end], records[end + 1] = parent, needs
    records[at + PARENTS] += 1


@kernel
def write_records(nodes, root, offset, next_seed, seeds, records):
    """Write the records of all nodes to their offsets, and the seeds of every predicate (see `Upward`).

    root[n] is the index of node n among the roots, or -1; next_seed[p] is where the next seed of predicate p goes.
    Children come before their parents, so the record of a child has begun when a parent is added to it.
    """
    for n in range(TERMINALS, nodes.predicate.size):
        p, low, high, at = nodes.predicate[n], nodes.low[n], nodes.high[n], offset[n]
        records[at + ROOT], records[at + PARENTS] = root[n], 0
        if low >= TERMINALS:
            add_parent(records, offset[low], at, -1)
        if high >= TERMINALS:
            add_parent(records, offset[high], at, p)
        elif high == TRUE:
            seeds[next_seed[p]] = at
            next_seed[p] += 1
