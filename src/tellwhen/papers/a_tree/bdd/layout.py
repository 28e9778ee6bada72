"""The index that matching reads: a diagram from below, the slots at its roots, and its predicates."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.extract import list_tested_predicates
from tellwhen.engines.shared.stabbing import build_predicate_stabbing
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.a_tree.bdd.arrays import LISTED, RECORD_HEADER, TERMINALS, TRUE, BDDIndex, Nodes, Upward
from tellwhen.papers.a_tree.bdd.diagram import Diagram
from tellwhen.papers.a_tree.bdd.kernels.upward import write_records

NO_RECORDS = Upward(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))
"""The records of a diagram that is matched from the roots."""


def lay_out_index(diagram: Diagram, snapshot: Snapshot, is_downward: bool) -> BDDIndex:
    """Lay out the index of a diagram; `is_downward` says that it is matched from the roots, without records."""
    nodes, slots, root = diagram
    at_root = root >= TERMINALS
    order = np.argsort(root[at_root], kind="stable")
    roots, first = np.unique(root[at_root][order], return_index=True)
    listed = slots[root == LISTED]
    return BDDIndex(
        nodes,
        NO_RECORDS if is_downward else lay_out_upward(nodes, roots, len(snapshot.predicates.domain)),
        roots,
        np.append(first, len(order)),
        slots[at_root][order],
        slots[root == TRUE],
        listed,
        build_predicate_stabbing(snapshot.predicates, snapshot.domains, list_predicates(nodes, listed, snapshot)),
    )


def restore_diagram(index: BDDIndex) -> Diagram:
    """Return the diagram of an index, without the slots that are never true."""
    roots = np.concatenate([index.roots, np.array([TRUE, LISTED], dtype=np.int32)])
    return Diagram(
        index.nodes,
        np.concatenate([index.slots, index.always, index.listed]),
        np.repeat(roots, [*np.diff(index.slot_start), len(index.always), len(index.listed)]),
    )


def list_predicates(nodes: Nodes, listed_slots: I32, snapshot: Snapshot) -> I32:
    """Return the predicates of all nodes and of the programs that are run, with repetition."""
    return np.concatenate([nodes.predicate[TERMINALS:], list_tested_predicates(snapshot, listed_slots)])


def lay_out_upward(nodes: Nodes, roots: I32, predicates: int) -> Upward:
    """Build the records and the seeds of all nodes. `predicates` is the number of predicates in the store."""
    predicate, _, high = nodes
    seeds_by_predicate = np.bincount(predicate[high == TRUE][1:], minlength=predicates)  # without TRUE itself
    seed_start = _accumulate(seeds_by_predicate)
    offset = place_records(nodes)
    seeds, records = np.empty(seed_start[-1], dtype=np.int32), np.empty(offset[-1], dtype=np.int32)
    number = np.full(len(predicate), -1, dtype=np.int32)
    number[roots] = np.arange(len(roots))
    write_records(nodes, number, offset, seed_start[:-1].copy(), seeds, records)
    return Upward(seed_start, seeds, records)


def place_records(nodes: Nodes) -> I64:
    """Return the offset of the record of each node, and the end of the last one. FALSE and TRUE have no record."""
    parents = sum(np.bincount(child, minlength=len(child)) for child in (nodes.low, nodes.high))
    length = RECORD_HEADER + 2 * np.asarray(parents)
    length[:TERMINALS] = 0
    return _accumulate(length)


def _accumulate(lengths: I64) -> I64:
    """Return the begins of contiguous lists of these lengths, and the end of the last list."""
    return np.concatenate([[0], np.cumsum(lengths)])
