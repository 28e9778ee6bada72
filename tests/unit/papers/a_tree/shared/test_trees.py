"""AND/OR trees of expressions."""

import itertools

import pytest

from tree_support import EXAMPLE, expand

pytestmark = pytest.mark.late


def read_trees(trees):
    """Return every tree as text: predicates, and groups with their number of children."""
    found = []
    for begin, end in itertools.pairwise(trees.start.tolist()):
        words = trees.node[begin:end].tolist()
        found.append(" ".join(str(w) if w >= 0 else f"{('AND', 'OR')[-1 - w & 1]}{(-1 - w) // 2}" for w in words))
    return found


def test_trees_are_in_preorder():
    assert read_trees(expand(EXAMPLE)) == ["AND3 OR3 1 2 3 4 OR2 5 6"]
    assert read_trees(expand("p2 = 1", "p1 = 1 AND p2 = 1", "p1 = 1 OR p2 = 1")) == ["2", "AND2 1 2", "OR2 1 2"]
    deep = "p1 = 1 AND (p2 = 1 OR (p3 = 1 AND p4 = 1) OR p5 = 1)"
    assert read_trees(expand(deep)) == ["AND2 1 OR3 2 AND2 3 4 5"]


def test_registers_are_written_out_and_groups_of_one_kind_merged():
    words = read_trees(expand("(p1 = 1 AND p2 = 1) XOR (p3 = 1 AND p4 = 1)"))[0].split()
    assert words[:5] == ["OR2", "AND3", "1", "2", "OR2"]  # the AND of an operand is merged into the one around it
    assert sum(not word.startswith(("AND", "OR")) for word in words) == 8


def test_expressions_without_a_tree_are_listed_apart():
    trees = expand("TRUE", "FALSE", "p1 = 1 AND p2 = 1 AND p3 = 1", "p1 = 1 AND p2 = 1", EXAMPLE, leaves_max=2)
    assert read_trees(trees) == ["AND2 1 2"]
    assert (trees.slot.tolist(), trees.by_code.tolist(), trees.always.tolist()) == ([4], [3, 5], [1])


def test_the_budget_counts_leaves_written_out():
    chain = " XOR ".join(f"p{k} = 1" for k in (1, 2, 3, 4, 5, 6))
    leaves = int((expand(chain).node >= 0).sum())
    assert len(expand(chain, leaves_max=leaves).slot) == 1
    assert len(expand(chain, leaves_max=leaves - 1).slot) == 0
