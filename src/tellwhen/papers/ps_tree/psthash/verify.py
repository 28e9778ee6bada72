"""Are the keys of `psthash`, and their lists, those that its conjunctions make?"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.spaces import widths
from tellwhen.kernels.arrays import Predicates
from tellwhen.papers.ps_tree.arrays import MAX_LISTS, TreeState
from tellwhen.papers.ps_tree.psthash.arrays import MAX_COMBINATIONS, PSTHashIndex
from tellwhen.papers.ps_tree.psthash.kernels.match import bucket_of
from tellwhen.papers.ps_tree.verify import Expected, covered, verify_lists, verify_state


def verify(
    index: PSTHashIndex, state: TreeState, predicates: Predicates, conjunctions: Conjunctions, access: int
) -> None:
    """Raises AssertionError at the first difference. `conjunctions` are those in the index, `access` is the option."""

    def most_selective(mine: list[int]) -> list[int]:
        """At most `access` predicates, on different domains."""
        chosen: dict[int, int] = {}
        for p in sorted(mine, key=lambda p: state.rank[p]):
            chosen.setdefault(int(predicates.domain[p]), p)
        return list(chosen.values())[:access]

    each = np.split(conjunctions.predicate, conjunctions.start[1:-1])
    in_trees = np.array([p for mine in each for p in most_selective(mine.tolist())], dtype=np.int32)
    spaces = verify_state(state, index.common, predicates, in_trees)
    width = widths(spaces, predicates)

    def expect(mine: list[int]) -> Expected:
        used = most_selective(mine)
        if not used:
            return Expected([], len(spaces.cut_start) - 1)
        first = used[0]
        if width[first] > MAX_LISTS:
            return Expected([], int(predicates.domain[first]))
        while math.prod(width[used].tolist()) > max(width[first], MAX_COMBINATIONS):
            used.pop()
        return Expected(used, tuple(sorted(product(*sorted(covered(spaces, predicates, p) for p in used)))))

    keys = [tuple(space for space in key if space >= 0) for key in index.keys.tolist()]
    verify_lists(index.common, conjunctions, keys, expect)
    sizes = np.zeros(spaces.total, dtype=np.uint8)
    for k, key in enumerate(keys):
        sizes[list(key)] |= 1 << len(key) - 1
        assert index.table[bucket_of(index.table, index.keys, index.keys[k])] == k + 1, "a key is not found"
    assert np.array_equal(sizes, index.key_sizes), "a space is in keys of other sizes than it says"
