"""Expr -> code: negation normal form, then a conjunction of literals or a program of tests.

NOT is pushed into the predicates. What is left is monotone, so undefined may be treated as false (zero suppression;
A-Tree). XOR and XNOR need their operands both as they are and negated. These are computed once, into registers, so the
code grows linearly with the expression, however deep XORs are nested.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.compile.predicates import NOTHING, Literals
from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, NEVER, PROGRAM, REJECT, SET
from tellwhen.language.ast import And, Expr, Has, Not, Or, Predicate, Truth, Xnor, Xor
from tellwhen.language.comparisons import build_lacks


class _Register(NamedTuple):
    number: int


class _Group(NamedTuple):
    """AND or OR of at least two parts; `length` counts the tests in it."""

    is_and: bool
    parts: tuple[_Node, ...]
    length: int


_Node = int | bool | _Register | _Group
"""The number of a literal, a truth value, a register, or a group. (Test for bool before int: True is an int.)"""


class Code(NamedTuple):
    """A kind of subscription (`kernels/arrays.py`), its literals or instructions, and how many registers it uses."""

    kind: int
    code: list[int]
    registers: int


def compile_expression(expr: Expr, literals: Literals) -> Code:
    """The code of one subscription, its literals added to the batch."""
    if type(expr) is Predicate:
        expr = And((expr,))
    if type(expr) is And and all([type(arg) is Predicate for arg in expr.args]):
        conjunction = [literals.add(arg, False) for arg in expr.args]  # type: ignore[arg-type]
        return Code(NEVER, [], 0) if NOTHING in conjunction else Code(CONJUNCTION, conjunction, 0)
    return _Compiler(literals).compile(expr)


class _Compiler:
    """The program of one expression."""

    def __init__(self, literals: Literals) -> None:
        self.literals = literals
        self.registers: list[_Group] = []
        self.pairs: dict[int, tuple[_Node, _Node]] = {}  # by id() of a XOR or XNOR: when it is true, and when false

    def compile(self, expr: Expr) -> Code:
        root = self.normal(expr, True)
        if root is False:
            return Code(NEVER, [], 0)
        if root is True:
            return Code(CONJUNCTION, [], 0)
        parts = root.parts if isinstance(root, _Group) and root.is_and else (root,)
        if not self.registers and all(type(part) is int for part in parts):
            return Code(CONJUNCTION, list(parts), 0)  # type: ignore[arg-type]
        return Code(PROGRAM, *self._emit(root))

    def normal(self, expr: Expr, positive: bool) -> _Node:
        """The expression, or its negation if not `positive`, with NOT only inside literals."""
        if isinstance(expr, Has):
            return self._has(expr, positive)
        if isinstance(expr, Predicate):
            literal = self.literals.add(expr, not positive)
            return False if literal == NOTHING else literal
        if isinstance(expr, Truth):
            return expr.value is positive  # neither NULL nor its negation is ever true
        if isinstance(expr, Not):
            return self.normal(expr.arg, not positive)
        if isinstance(expr, And | Or):
            return _group(isinstance(expr, And) == positive, [self.normal(arg, positive) for arg in expr.args])
        assert isinstance(expr, Xor | Xnor)
        true, false = self._pair(expr)
        return true if positive else false

    def _has(self, expr: Has, positive: bool) -> _Node:
        """`HAS` in terms of `IN` and `=`. Unlike these it is never undefined, so its negation is also true where there
        is nothing of the constants' family."""
        attribute, constants = expr.attribute, expr.operand
        if expr.operator == "HAS ALL":
            parts = [Predicate(attribute, "=", constant) for constant in dict.fromkeys(constants)]
        else:
            parts = [Predicate(attribute, "IN", constants)]
        if (expr.operator == "HAS NONE") != positive:
            return _group(True, [self.normal(part, True) for part in parts])
        nothing = self.normal(build_lacks(attribute, expr.family), True)
        return _group(False, [nothing, *(self.normal(part, False) for part in parts)])

    def _pair(self, expr: Xor | Xnor) -> tuple[_Node, _Node]:
        """When is it true, and when is it false?"""
        known = self.pairs.get(id(expr))
        if known is not None:
            return known
        true, false = self._operand(expr.args[0])
        for arg in expr.args[1:]:
            arg_true, arg_false = self._operand(arg)
            differ = _group(False, [_group(True, [true, arg_false]), _group(True, [false, arg_true])])
            agree = _group(False, [_group(True, [true, arg_true]), _group(True, [false, arg_false])])
            true, false = (differ, agree) if isinstance(expr, Xor) else (agree, differ)
            true, false = self._shared(true), self._shared(false)
        self.pairs[id(expr)] = true, false
        return true, false

    def _operand(self, expr: Expr) -> tuple[_Node, _Node]:
        return self._shared(self.normal(expr, True)), self._shared(self.normal(expr, False))

    def _shared(self, node: _Node) -> _Node:
        """A node that is used more than once: computed into a register, unless it is a single test anyway."""
        if not isinstance(node, _Group):
            return node
        self.registers.append(node)
        return _Register(len(self.registers) - 1)

    def _emit(self, root: _Node) -> tuple[list[int], int]:
        """The instructions of all registers and then of the root, and the number of registers."""
        used = self._used(root)
        numbers = {register: i for i, register in enumerate(used)}
        code: list[int] = []
        for register in used:
            node = self.registers[register]
            done = len(code) // 3 + node.length
            _emit(node, len(code) // 3, done, done + 1, numbers, code)
            test = -1 - numbers[register]
            code += [test, done + 2, SET, test, done + 2, CLEAR]
        _emit(root, len(code) // 3, ACCEPT, REJECT, numbers, code)
        return code, len(used)

    def _used(self, root: _Node) -> list[int]:
        """The registers that the root needs, in the order of their creation, which is an order of evaluation."""
        wanted: set[int] = set()
        _note_registers(root, wanted)
        for number in range(len(self.registers) - 1, -1, -1):
            if number in wanted:
                _note_registers(self.registers[number], wanted)
        return sorted(wanted)


def _group(is_and: bool, parts: list[_Node]) -> _Node:
    """AND or OR with constants folded away and groups of the same kind merged."""
    kept: list[_Node] = []
    for part in parts:
        if isinstance(part, bool):
            if part != is_and:
                return part
        elif isinstance(part, _Group) and part.is_and == is_and:
            kept += part.parts
        else:
            kept.append(part)
    if not kept:
        return is_and
    if len(kept) == 1:
        return kept[0]
    return _Group(is_and, tuple(kept), sum(part.length if isinstance(part, _Group) else 1 for part in kept))


def _note_registers(node: _Node, wanted: set[int]) -> None:
    """Add the registers that the node reads."""
    if isinstance(node, _Register):
        wanted.add(node.number)
    elif isinstance(node, _Group):
        for part in node.parts:
            _note_registers(part, wanted)


def _emit(node: _Node, at: int, yes: int, no: int, numbers: dict[int, int], code: list[int]) -> None:
    """Append the tests of the node, from instruction `at` on. They go on to `yes` or `no` once its value is known."""
    if not isinstance(node, _Group):
        code += [-1 - numbers[node.number] if isinstance(node, _Register) else node, yes, no]
        return
    last = len(node.parts) - 1
    for i, part in enumerate(node.parts):
        after = at + (part.length if isinstance(part, _Group) else 1)
        if node.is_and:
            _emit(part, at, yes if i == last else after, no, numbers, code)
        else:
            _emit(part, at, yes, no if i == last else after, numbers, code)
        at = after
