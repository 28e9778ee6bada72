"""Check of a `psthash` index: its keys and their lists are those that its conjunctions make."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.spaces import Spaces
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
    is_gap = find_gaps(spaces)
    assert np.array_equal(index.key_space < 0, is_gap), "key_space has other gaps than the spaces"
    key_spaces = np.flatnonzero(~is_gap).tolist()
    assert index.key_space[key_spaces].tolist() == list(range(len(key_spaces))), "key_space is not in order"
    for space in np.flatnonzero(is_gap).tolist():
        before = -1 - int(index.key_space[space])
        assert key_spaces[before : before + 2] == [space - 1, space + 1], f"gap {space} has other neighbours"

    def list_key_spaces(p: int) -> list[int]:
        return [space for space in list_covered_spaces(spaces, predicates, p) if not is_gap[space]]

    def place(members: list[int]) -> Place:
        used = choose_access(members)
        if not used:
            return Place([], len(spaces.cut_start) - 1)
        first = used[0]
        width = len(list_key_spaces(first))
        if width > limits.lists:
            return Place([], int(predicates.domain[first]))
        while math.prod(len(list_key_spaces(p)) for p in used) > max(width, limits.combinations):
            used.pop()
        return Place(used, tuple(sorted(product(*sorted(list_key_spaces(p) for p in used)))))

    keys = [tuple(key_spaces[space] for space in key if space >= 0) for key in index.keys.tolist()]
    check_lists(index.common, conjunctions, keys, place)
    sizes = np.zeros(len(key_spaces), dtype=np.uint8)
    for k, key in enumerate(keys):
        sizes[index.key_space[list(key)]] |= 1 << len(key) - 1
        assert index.table[find_bucket(index.table, index.keys, index.keys[k])] == k + 1, f"key {k} is not found"
    assert np.array_equal(sizes, index.key_sizes), "key_sizes tells other sizes than the keys have"


def find_gaps(spaces: Spaces) -> np.ndarray:
    """Return by space whether it is a gap, one space and one interval at a time; `number_key_spaces` defines gaps."""
    covered, intervals = set[int](), set[int]()
    for first, last in zip(spaces.first.tolist(), spaces.last.tolist(), strict=True):
        covered.update(range(first, last + 1))
        if first == last:
            intervals.add(first)
    is_gap = np.zeros(spaces.total, dtype=bool)
    for domain in range(len(spaces.cut_start) - 1):
        begin, end = spaces.cut_start[domain : domain + 2].tolist()
        cuts = spaces.cuts[begin:end].tolist()
        for k, (cut, after) in enumerate(pairwise(cuts)):
            space = begin + domain + k + 1
            is_gap[space] = cut % 2 == 1 and after == cut + 1 and space in covered and space not in intervals
    return is_gap
