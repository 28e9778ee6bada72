"""Check the invariants of a forest, and of the index that is laid out from it."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from tellwhen.compile.kernels.tree import LEAF
from tellwhen.engines.atree.arrays import (
    ATOM_COUNT,
    ATOMS,
    CHILD,
    DEAD,
    EDGES,
    FIRST_CHILD,
    FIRST_PARENT,
    FREE,
    KIND,
    LEVEL,
    LINK_WORDS,
    LINKS,
    NEXT_CHILD,
    NEXT_PARENT,
    NODE_END,
    NODES,
    NONE,
    PARENT,
    PARENT_COUNT,
    RECORD,
    SLOTS,
    TARGET,
    TESTS,
    USES,
    ATreeIndex,
    Forest,
)
from tellwhen.engines.atree.forest import ForestBuilder
from tellwhen.engines.atree.kernels.plant import EQUAL_PARTS
from tellwhen.kernels.arrays import I32, NEVER, Snapshot
from tellwhen.kernels.truth import is_true


def check_forest(builder: ForestBuilder, slots: I32, roots: I32, snapshot: Snapshot) -> None:
    """Raise AssertionError if a node, an edge or a level of the forest is wrong."""
    forest = builder.forest
    nodes = forest.nodes[: forest.counters[NODE_END]]
    alive = np.flatnonzero(nodes[:, KIND] != FREE).tolist()
    assert len(alive) == forest.counters[NODES], "nodes are miscounted"
    assert forest.counters[DEAD] == 0, "a dead node was not removed"
    assert not forest.waiting.any(), "a node still waits for its level"
    assert len(roots) == len(slots)
    uses = Counter(roots[roots >= 0].tolist())
    atoms = {n: _list_atoms(forest, n) for n in alive}
    for n in alive:
        if nodes[n, KIND] != LEAF:
            uses.update(atoms[n])
    edges = 0
    seen: set[tuple[int, ...]] = set()
    for n in alive:
        assert nodes[n, USES] == uses[n] > 0, f"node {n} has {nodes[n, USES]} uses, expected {uses[n]}"
        children, parents = _list_children(forest, n), _list_parents(forest, n)
        edges += len(children)
        assert len(parents) == nodes[n, PARENT_COUNT]
        assert len(set(parents)) == len(parents)
        assert all(n in _list_children(forest, parent) for parent in parents)
        if nodes[n, KIND] == LEAF:
            assert not children
            assert nodes[n, LEVEL] == 1
            assert forest.leaf[nodes[n, ATOMS]] == n
            continue
        assert len(children) >= 2
        assert len(set(children)) == len(children)
        assert nodes[n, LEVEL] == 1 + max(nodes[child, LEVEL] for child in children), f"node {n} has the wrong level"
        assert len(atoms[n]) >= 2
        assert atoms[n] == sorted(set(atoms[n]))
        if builder.sharing >= EQUAL_PARTS:
            identity = (int(nodes[n, KIND]), *atoms[n])
            assert identity not in seen, "two nodes are equal"
            seen.add(identity)
        covered: set[int] = set()
        for child in children:
            assert n in _list_parents(forest, child)
            covered |= {child} if child in atoms[n] else set(atoms[child])
            assert child in atoms[n] or nodes[child, KIND] == nodes[n, KIND]
        assert covered == set(atoms[n]), f"the children of node {n} have other atoms than it has"
    assert edges == forest.counters[EDGES], "edges are miscounted"
    in_use = {int(nodes[n, ATOMS]) for n in alive if nodes[n, KIND] == LEAF}
    assert set(np.flatnonzero(forest.leaf != NONE).tolist()) == in_use


def _list_atoms(forest: Forest, n: int) -> list[int]:
    first = int(forest.nodes[n, ATOMS])
    return [int(atom) for atom in forest.atoms[first : first + forest.nodes[n, ATOM_COUNT]]]


def _list_children(forest: Forest, n: int) -> list[int]:
    found, edge = [], int(forest.nodes[n, FIRST_CHILD])
    while edge != NONE:
        found.append(int(forest.edges[edge, CHILD]))
        edge = int(forest.edges[edge, NEXT_CHILD])
    return found


def _list_parents(forest: Forest, n: int) -> list[int]:
    found, edge = [], int(forest.nodes[n, FIRST_PARENT])
    while edge != NONE:
        found.append(int(forest.edges[edge, PARENT]))
        edge = int(forest.edges[edge, NEXT_PARENT])
    return found


def check_index(index: ATreeIndex, slots: I32, snapshot: Snapshot) -> None:
    """Raise AssertionError if a slot is missing or repeated, or a node could be evaluated before its children."""
    inner = len(index.is_or)
    predicates = len(index.record_start) - 1 - inner
    indexed = index.always.tolist()
    leads_to: set[int] = set()
    read_nodes: set[int] = set()
    on_demand: set[int] = set()
    for source, (begin, end) in enumerate(itertools.pairwise(index.record_start.tolist())):
        record = index.words[begin:end].tolist()
        tests = record[RECORD : RECORD + record[TESTS]]
        links = record[RECORD + record[TESTS] + record[SLOTS] :]
        assert len(links) == LINK_WORDS * record[LINKS], "a record has another length than it says"
        indexed += record[RECORD + record[TESTS] : RECORD + record[TESTS] + record[SLOTS]]
        leads_to.update(links[TARGET::LINK_WORDS])
        node = source - predicates
        if node < 0:
            assert bool(record[SLOTS] or record[LINKS]) == bool(is_true(index.leads, source)), (
                "a predicate is passed over"
            )
        assert all(target > node for target in links[TARGET::LINK_WORDS]), "a link leads downwards"
        for test in tests:
            assert test >= 0 or ~test % inner < node, "a node is tested before it is known"
            if test < 0:
                (on_demand if ~test >= inner else read_nodes).add(~test % inner)
    possible = slots[snapshot.subscriptions.kind[slots] != NEVER]
    assert sorted(indexed) == sorted(possible.tolist()), "a slot is missing, or there twice"
    assert leads_to.isdisjoint(on_demand), "links lead to a node that is evaluated on demand"
    assert read_nodes <= leads_to, "no link leads to a node whose noted result is tested"
    assert leads_to | on_demand == set(range(inner)), "a node is neither reached by links nor evaluated on demand"
    assert read_nodes == {node for node in range(inner) if is_true(index.is_read, node)}, "a result is not kept"
    assert index.level_start[0] == 0
    assert index.level_start[-1] == inner
