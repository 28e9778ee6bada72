"""Checks of the invariants of an index of `bdd`, for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.arrays import CONJUNCTION, I32, NEVER, Snapshot
from tellwhen.kernels.evaluate import run_program
from tellwhen.papers.a_tree.bdd.arrays import (
    FALSE,
    LISTED,
    PARENTS,
    RECORD_HEADER,
    ROOT,
    TERMINALS,
    TRUE,
    BDDIndex,
    Nodes,
    Upward,
)
from tellwhen.papers.a_tree.bdd.layout import list_predicates, restore_diagram

FUNCTIONS_MAX, ASSIGNMENTS = 200, 4
"""Expressions whose roots are compared with their code, and random truth values for each."""


def check_index(index: BDDIndex, slots: I32, snapshot: Snapshot, is_downward: bool) -> None:
    """Check that the diagram is reduced and ordered, the same from below, and has the function of every slot."""
    check_nodes(index.nodes)
    if is_downward:
        assert not len(index.upward.records), "records that no match reads"
    else:
        check_upward(index.nodes, index.roots, index.upward)
    known = np.concatenate([index.slots, index.always, index.listed])
    kind = snapshot.subscriptions.kind[slots]
    assert np.array_equal(np.sort(known), np.sort(slots[kind != NEVER])), "a slot is not indexed, or one too many is"
    diagram = restore_diagram(index)
    assert (np.diff(index.roots) > 0).all(), "a function has two roots"
    assert (np.diff(index.slot_start) > 0).all(), "a root has no slots"
    check_reached(index.nodes, diagram.roots)
    wanted = np.unique(list_predicates(index.nodes, index.listed, snapshot))
    assert np.array_equal(np.unique(index.stabbing.members), wanted), "the stabbing index has other predicates"
    check_functions(index.nodes, diagram.slots, diagram.roots, snapshot)


def check_nodes(nodes: Nodes) -> None:
    """Check that no node is redundant, no two are equal, and predicates descend on every path."""
    predicate, low, high = nodes
    assert predicate[:TERMINALS].tolist() == [-1, -1]
    below = np.arange(TERMINALS, len(predicate))
    for child in (low[TERMINALS:], high[TERMINALS:]):
        assert (child < below).all(), "a child comes after its parent"
        is_inner = child >= TERMINALS
        assert (predicate[TERMINALS:] > predicate[child])[is_inner].all(), "the predicates of a path do not descend"
    assert (low != high)[TERMINALS:].all(), "a node decides nothing"
    assert (low[TERMINALS:] != TRUE).all(), "a false predicate makes something true"
    assert (high[TERMINALS:] != FALSE).all(), "a true predicate makes something false"
    assert len(np.unique(np.stack(nodes), axis=1).T) == len(predicate), "two nodes are equal"


def check_upward(nodes: Nodes, roots: I32, upward: Upward) -> None:
    """Check that the records have the same edges and roots as the nodes."""
    above = np.arange(TERMINALS, len(nodes.predicate)).tolist()
    wanted = {(int(nodes.low[n]), n, -1) for n in above if nodes.low[n] >= TERMINALS}
    wanted |= {(int(nodes.high[n]), n, int(nodes.predicate[n])) for n in above if nodes.high[n] >= TERMINALS}
    node_at, found, at = {}, [], 0
    for n in above:
        node_at[at] = n
        at += RECORD_HEADER + 2 * int(upward.records[at + PARENTS])
    assert at == len(upward.records), "records have gaps, or overlap"
    for at, n in node_at.items():
        begin, parents = at + RECORD_HEADER, int(upward.records[at + PARENTS])
        pairs = upward.records[begin : begin + 2 * parents].reshape(-1, 2).tolist()
        found += [(n, node_at[parent], needs) for parent, needs in pairs]
    assert len(found) == len(wanted)
    assert set(found) == wanted, "an edge is wrong"
    number = {n: int(upward.records[at + ROOT]) for at, n in node_at.items()}
    assert {n: r for n, r in number.items() if r >= 0} == {n: r for r, n in enumerate(roots.tolist())}, "a root is lost"
    seeds = np.array([node_at[at] for at in upward.seeds.tolist()], dtype=np.int64)
    waits = np.repeat(np.arange(len(upward.seed_start) - 1), np.diff(upward.seed_start))
    assert np.array_equal(nodes.predicate[seeds], waits), "a seed waits for another predicate"
    assert sorted(seeds.tolist()) == [n for n in above if nodes.high[n] == TRUE], "a seed is missing"


def check_reached(nodes: Nodes, roots: I32) -> None:
    """Check that a root leads to every node."""
    is_reached = np.zeros(len(nodes.predicate), dtype=bool)
    is_reached[roots[roots >= 0]] = True
    for n in range(len(is_reached) - 1, TERMINALS - 1, -1):
        assert is_reached[n], "no root leads to a node"
        is_reached[[nodes.low[n], nodes.high[n]]] = True


def check_functions(nodes: Nodes, slots: I32, roots: I32, snapshot: Snapshot) -> None:
    """Check on random truth values that a walk down from a root agrees with the code of its slots."""
    kind, start, code, _ = snapshot.subscriptions
    rng = np.random.default_rng(len(slots))
    words = len(snapshot.predicates.domain) // 64 + 1
    registers = np.zeros(snapshot.registers + 1, dtype=np.uint8)
    for _ in range(ASSIGNMENTS):
        truth = rng.integers(0, 1 << 64, words, dtype=np.uint64)
        for slot, root in list(zip(slots.tolist(), roots.tolist(), strict=True))[:FUNCTIONS_MAX]:
            if root == LISTED:
                continue
            if kind[slot] == CONJUNCTION:
                wanted = all(_is_predicate_true(truth, p) for p in code[start[slot] : start[slot + 1]].tolist())
            else:
                wanted = bool(run_program(code, start[slot], truth, registers))
            assert _walk_down(nodes, root, truth) == (TRUE if wanted else FALSE), f"slot {slot} has another function"


def _walk_down(nodes: Nodes, node: int, truth: np.ndarray) -> int:
    while node >= TERMINALS:
        node = int((nodes.high if _is_predicate_true(truth, int(nodes.predicate[node])) else nodes.low)[node])
    return node


def _is_predicate_true(truth: np.ndarray, p: int) -> bool:
    return bool(int(truth[p >> 6]) >> (p & 63) & 1)
