"""A diagram -> the arrays that are matched: its nodes from below, the slots at its roots, its predicates."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.extract import tested
from tellwhen.engines.shared.stabbing import build_for
from tellwhen.kernels.arrays import I32, I64, Snapshot
from tellwhen.papers.a_tree.bdd.arrays import LISTED, RECORD_HEADER, TERMINALS, TRUE, BDDIndex, Nodes, Upward
from tellwhen.papers.a_tree.bdd.diagram import Diagram
from tellwhen.papers.a_tree.bdd.kernels.upward import write_records


def index_of(diagram: Diagram, snapshot: Snapshot) -> BDDIndex:
    """The index of a diagram."""
    nodes, slots, root = diagram
    at_root = root >= TERMINALS
    order = np.argsort(root[at_root], kind="stable")
    roots, first = np.unique(root[at_root][order], return_index=True)
    listed = slots[root == LISTED]
    return BDDIndex(
        nodes,
        upward_of(nodes, roots, len(snapshot.predicates.domain)),
        roots,
        np.append(first, len(order)),
        slots[at_root][order],
        slots[root == TRUE],
        listed,
        build_for(snapshot.predicates, snapshot.domains, predicates_of(nodes, listed, snapshot)),
    )


def diagram_of(index: BDDIndex) -> Diagram:
    """The way back, without the slots that nothing satisfies."""
    roots = np.concatenate([index.roots, np.array([TRUE, LISTED], dtype=np.int32)])
    return Diagram(
        index.nodes,
        np.concatenate([index.slots, index.always, index.listed]),
        np.repeat(roots, [*np.diff(index.slot_start), len(index.always), len(index.listed)]),
    )


def predicates_of(nodes: Nodes, listed: I32, snapshot: Snapshot) -> I32:
    """The predicates of all nodes, and of the programs that are run, with repetition."""
    return np.concatenate([nodes.predicate[TERMINALS:], tested(snapshot, listed)])


def upward_of(nodes: Nodes, roots: I32, predicates: int) -> Upward:
    """The nodes from below. The store has that many predicates."""
    predicate, _, high = nodes
    seed_start = starts(np.bincount(predicate[high == TRUE][1:], minlength=predicates))  # without TRUE itself
    place = places(nodes)
    seeds, records = np.empty(seed_start[-1], dtype=np.int32), np.empty(place[-1], dtype=np.int32)
    number = np.full(len(predicate), -1, dtype=np.int32)
    number[roots] = np.arange(len(roots))
    write_records(nodes, number, place, seed_start[:-1].copy(), seeds, records)
    return Upward(seed_start, seeds, records)


def places(nodes: Nodes) -> I64:
    """Where the record of each node begins, and where the last one ends. FALSE and TRUE have none."""
    parents = sum(np.bincount(child, minlength=len(child)) for child in (nodes.low, nodes.high))
    length = RECORD_HEADER + 2 * np.asarray(parents)
    length[:TERMINALS] = 0
    return starts(length)


def starts(lengths: I64) -> I64:
    """Where lists of these lengths begin, one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)])
