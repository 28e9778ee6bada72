"""Check of a `gryphon` index: the paths and tails of the tree are the conjunctions, in one order of domains."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.kernels.arrays import I64, I64Matrix, Predicates
from tellwhen.papers.be_tree.gryphon.arrays import GryphonIndex


class Test(NamedTuple):
    """A domain, and intervals of its points."""

    domain: int
    intervals: tuple[tuple[int, int], ...]


def check_index(index: GryphonIndex, predicates: Predicates, conjunctions: Conjunctions, domains: int) -> None:
    """Raise AssertionError at the first difference between the tree and its conjunctions."""
    tests = [_read_test(predicates, p) for p in conjunctions.predicate.tolist()]
    by_conjunction = [tests[begin:end] for begin, end in pairwise(conjunctions.start.tolist())]
    slots = conjunctions.slot.tolist()
    expected = Counter((slot, *sorted(members)) for slot, members in zip(slots, by_conjunction, strict=True))
    counts = np.bincount([test.domain for test in tests], minlength=domains)
    actual: Counter[Any] = Counter()
    for slot, path, tail in _read_conjunctions(index):
        order = [(-int(counts[test.domain]), test.domain) for test in (*path, *tail)]
        assert order == sorted(order), f"the path of slot {slot} has another order of domains"
        actual[slot, *sorted((*path, *tail))] += 1
    assert actual == expected, f"the tree has {actual - expected} instead of {expected - actual}"


def _read_test(predicates: Predicates, p: int) -> Test:
    intervals = slice(predicates.start[p], predicates.start[p + 1])
    low, high = predicates.low[intervals].tolist(), predicates.high[intervals].tolist()
    assert low, "a predicate has no interval, so a tail would lose it"
    return Test(int(predicates.domain[p]), tuple(zip(low, high, strict=True)))


def _read_conjunctions(index: GryphonIndex) -> list[tuple[int, tuple[Test, ...], tuple[Test, ...]]]:
    """Return (slot, tests of the path, tests of the tail) of each conjunction; check that the nodes are a tree."""
    paths: dict[int, tuple[Test, ...]] = {0: ()}
    found = []
    for node in range(len(index.nodes) - 1):
        assert node in paths, f"node {node} has no parent before it"
        for child, test in _read_branches(index, node).items():
            assert child not in paths, f"node {child} has two parents"
            paths[child] = (*paths[node], test)
        for k in range(index.nodes[node, 1], index.nodes[node + 1, 1]):
            tail = _read_tail(index.tails[index.slots[k, 1] : index.slots[k + 1, 1]])
            assert node or not tail, "a conjunction at the root has a tail, which every event would test"
            found.append((int(index.slots[k, 0]), paths[node], tail))
    assert len(paths) == len(index.nodes) - 1, "a branch leads to no node"
    assert len(found) == len(index.slots) - 1, "a conjunction is at no node"
    return found


def _read_branches(index: GryphonIndex, node: int) -> dict[int, Test]:
    """Return the test on each branch of a node, by the child that the branch leads to."""
    values: dict[int, list[int]] = {}
    tests: dict[int, Test] = {}
    groups: I64 = np.arange(index.nodes[node, 0], index.nodes[node + 1, 0])
    assert np.all(np.diff(index.groups[groups, 0]) > 0), "two groups of a node test one domain"
    for g in groups.tolist():
        domain, first, other = index.groups[g].tolist()
        points = index.points[first : index.groups[g + 1, 1]]
        assert np.all(points[1:, 0] >= points[:-1, 0]), "the values of a group are not ascending"
        for value, child in points.tolist():
            values.setdefault(child, []).append(value)
            tests[child] = Test(domain, tuple((value, value) for value in values[child]))
        for k in range(other, index.groups[g + 1, 2]):
            test = _read_test(index.other, k)
            assert test.domain == domain, "a branch tests another domain than its group"
            tests[int(index.other_child[k])] = test
    return tests


def _read_tail(rows: I64Matrix) -> tuple[Test, ...]:
    tests: list[Test] = []
    for domain, low, high in rows.tolist():
        if domain >= 0:
            tests.append(Test(domain, ((low, high),)))
        else:
            assert tests[-1].domain == -1 - domain, "an interval continues the test of another domain"
            tests[-1] = Test(-1 - domain, (*tests[-1].intervals, (low, high)))
    return tuple(tests)
