"""Trees read from programs against the programs themselves."""

import random

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.compile.attributes import Attributes
from tellwhen.compile.kernels.tree import (
    AND_NODE,
    BEGIN,
    CHILD,
    CHILDREN,
    END,
    KIND,
    LEAF,
    OR_NODE,
    REGISTER_LEAF,
    UNREADABLE,
    read_parts,
    read_tree,
)
from tellwhen.compile.predicates import Literals
from tellwhen.compile.program import Code, compile_expression
from tellwhen.compile.tree import Tree, allocate_tree
from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, PROGRAM, SET
from tellwhen.language.schema import Schema

NAMES = "abcdefgh"


def random_text(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return f"{rng.choice(NAMES)} = {rng.randrange(3)}"
    operands = [f"({random_text(rng, depth - 1)})" for _ in range(rng.randrange(2, 4))]
    return f" {rng.choice(['AND', 'OR', 'OR', 'XOR'])} ".join(operands)


def compile_text(text: str) -> Code:
    return compile_expression(tw.parse(text), Literals(Attributes(), Schema()))


def run_program(code: list[int], truth: list[bool]) -> bool:
    registers: dict[int, bool] = {}
    at = 0
    while at >= 0:
        test, yes, no = code[3 * at : 3 * at + 3]
        if test < 0 and no in (SET, CLEAR):
            registers[test] = no == SET
            at = yes
        else:
            at = yes if (truth[test] if test >= 0 else registers[test]) else no
    return at == ACCEPT


def evaluate_tree(tree: Tree, count: int, truth: list[bool]) -> bool:
    """Evaluate all nodes in one loop, which fails if a node comes behind what depends on it."""
    nodes, roots = tree
    value: list[bool | None] = [None] * count
    for n in range(count - 1, -1, -1):
        kind, child = nodes[n, KIND], nodes[n, CHILD]
        if kind == LEAF:
            value[n] = truth[child]
        elif kind == REGISTER_LEAF:
            value[n] = value[roots[child]]
        else:
            children = value[child : child + nodes[n, CHILDREN]]
            assert len(children) >= 2
            assert None not in children
            value[n] = all(children) if kind == AND_NODE else any(children)
    assert value[0] is not None
    return value[0]


def read(code: list[int]) -> tuple[Tree, int, int]:
    tree = allocate_tree(len(code) // 3)
    count, registers = read_tree.py_func(np.array(code, dtype=np.int32), 0, len(code), tree)
    return tree, count, registers


@pytest.fixture(autouse=True)
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the kernels as Python functions, so that a wrong index raises an error and nothing is compiled."""
    from tellwhen.compile.kernels import tree as kernels

    for name in ("put_node", "divide_node", "find_register_regions", "has_registers"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)


@pytest.mark.parametrize("seed", range(60))
def test_a_tree_is_true_where_its_program_is(seed: int) -> None:
    rng = random.Random(seed)
    kind, code, registers = compile_text(random_text(rng, 4))
    if kind != PROGRAM:
        return
    tree, count, found = read(code)
    assert found == registers
    assert count <= len(tree.nodes)
    literals = max(code[::3]) + 1
    for _ in range(50):
        truth = [rng.random() < 0.5 for _ in range(literals)]
        assert evaluate_tree(tree, count, truth) == run_program(code, truth)


def test_parts_of_the_outermost_group() -> None:
    kind, code, _ = compile_text("(a = 1 AND b = 2) OR c = 3 OR (d = 4 AND (e = 5 OR f = 6))")
    nodes, _ = allocate_tree(len(code) // 3)
    end = read_parts.py_func(kind, np.array(code, dtype=np.int32), 0, len(code), nodes)
    assert nodes[0, KIND] == OR_NODE
    assert nodes[1:end, [BEGIN, END]].tolist() == [[0, 2], [2, 3], [3, 6]]


@pytest.mark.parametrize("text", ["a = 1 AND b = 2", "a = 1 XOR b = 2 XOR c = 3"])
def test_parts_of_what_is_left_whole(text: str) -> None:
    kind, code, _ = compile_text(text)
    nodes, _ = allocate_tree(len(code))
    assert read_parts.py_func(kind, np.array(code, dtype=np.int32), 0, len(code), nodes) == 1
    assert nodes[0, KIND] == UNREADABLE
    assert kind == CONJUNCTION or min(code[::3]) < 0
