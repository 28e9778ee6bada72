"""Check of a `psthash` index: its keys and their lists are those that its conjunctions make."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.spaces import count_spaces
from tellwhen.kernels.arrays import Predicates
from tellwhen.papers.ps_tree.arrays import TreeState
from tellwhen.papers.ps_tree.psthash.arrays import KeyLimits, PSTHashIndex
from tellwhen.papers.ps_tree.psthash.kernels.match import find_bucket
from tellwhen.papers.ps_tree.verify import Place, check_lists, check_state, list_covered_spaces


def check_index(
    index: PSTHashIndex, state: TreeState, predicates: Predicates, conjunctions: Conjunctions, limits: KeyLimits
) -> None:
    """Raise AssertionError at the first difference between the index and its conjunctions."""

    def choose_access(members: list[int]) -> list[int]:
        chosen: dict[int, int] = {}
        for p in sorted(members, key=lambda p: state.rank[p]):
            chosen.setdefault(int(predicates.domain[p]), p)
        return list(chosen.values())[: limits.access]

    each = np.split(conjunctions.predicate, conjunctions.start[1:-1])
    in_trees = np.array([p for members in each for p in choose_access(members.tolist())], dtype=np.int32)
    spaces = check_state(state, index.common, predicates, in_trees)
    width = count_spaces(spaces, predicates)

    def place(members: list[int]) -> Place:
        used = choose_access(members)
        if not used:
            return Place([], len(spaces.cut_start) - 1)
        first = used[0]
        if width[first] > limits.lists:
            return Place([], int(predicates.domain[first]))
        while math.prod(width[used].tolist()) > max(width[first], limits.combinations):
            used.pop()
        return Place(used, tuple(sorted(product(*sorted(list_covered_spaces(spaces, predicates, p) for p in used)))))

    keys = [tuple(space for space in key if space >= 0) for key in index.keys.tolist()]
    check_lists(index.common, conjunctions, keys, place)
    sizes = np.zeros(spaces.total, dtype=np.uint8)
    for k, key in enumerate(keys):
        sizes[list(key)] |= 1 << len(key) - 1
        assert index.table[find_bucket(index.table, index.keys, index.keys[k])] == k + 1, f"key {k} is not found"
    assert np.array_equal(sizes, index.key_sizes), "key_sizes tells other sizes than the keys have"
