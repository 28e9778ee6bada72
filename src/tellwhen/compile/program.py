"""Compilation of expressions into code: a conjunction of literals, or a program of tests.

NOT is pushed into the predicates (negation normal form). The rest is monotone, so undefined may be treated as false
(zero suppression; A-Tree). XOR and XNOR need each operand as it is and negated. Both forms are computed once, into
registers, so the code grows linearly with the expression, even if XORs are nested.
"""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.compile.predicates import UNSATISFIABLE, Literals
from tellwhen.kernels.arrays import ACCEPT, CLEAR, CONJUNCTION, NEVER, PROGRAM, REJECT, SET
from tellwhen.language.ast import And, Expr, Has, Not, Or, Predicate, Truth, Xnor, Xor
from tellwhen.language.comparisons import build_lacks


class _Register(NamedTuple):
    number: int


class _Group(NamedTuple):
    """AND or OR of at least two parts with `length` tests in total."""

    is_and: bool
    parts: tuple[_Node, ...]
    length: int


_Node = int | bool | _Register | _Group
"""The number of a literal, a truth value, a register, or a group. (Test for bool before int: True is an int.)"""


class Code(NamedTuple):
    """Code of a subscription: its kind (`kernels/arrays.py`), literals or instructions, and number of registers."""

    kind: int
    code: list[int]
    registers: int


def compile_expression(expr: Expr, literals: Literals) -> Code:
    """Return the code of a subscription's expression, and add its literals to the batch."""
    if type(expr) is Predicate:
        expr = And((expr,))
    if type(expr) is And and all([type(arg) is Predicate for arg in expr.args]):
        conjunction = [literals.add(arg, False) for arg in expr.args]  # type: ignore[arg-type]
        return Code(NEVER, [], 0) if UNSATISFIABLE in conjunction else Code(CONJUNCTION, conjunction, 0)
    return _Compiler(literals).compile(expr)


class _Compiler:
    """Compiler of one expression that is more than an AND of predicates."""

    def __init__(self, literals: Literals) -> None:
        self.literals = literals
        self.registers: list[_Group] = []
        self.pairs: dict[int, tuple[_Node, _Node]] = {}  # by id() of a XOR or XNOR: the nodes of it and its negation

    def compile(self, expr: Expr) -> Code:
        root = self._normalize(expr, True)
        if root is False:
            return Code(NEVER, [], 0)
        if root is True:
            return Code(CONJUNCTION, [], 0)
        parts = root.parts if isinstance(root, _Group) and root.is_and else (root,)
        if not self.registers and all(type(part) is int for part in parts):
            return Code(CONJUNCTION, list(parts), 0)  # type: ignore[arg-type]
        return Code(PROGRAM, *self._emit(root))

    def _normalize(self, expr: Expr, is_positive: bool) -> _Node:
        """Return the expression, or if not `is_positive` its negation, as a node with NOT only inside literals."""
        if isinstance(expr, Has):
            return self._expand_has(expr, is_positive)
        if isinstance(expr, Predicate):
            literal = self.literals.add(expr, not is_positive)
            return False if literal == UNSATISFIABLE else literal
        if isinstance(expr, Truth):
            return expr.value is is_positive  # neither NULL nor its negation is ever true
        if isinstance(expr, Not):
            return self._normalize(expr.arg, not is_positive)
        if isinstance(expr, And | Or):
            return _make_group(
                isinstance(expr, And) == is_positive, [self._normalize(arg, is_positive) for arg in expr.args]
            )
        assert isinstance(expr, Xor | Xnor)
        true, false = self._normalize_xor(expr)
        return true if is_positive else false

    def _expand_has(self, expr: Has, is_positive: bool) -> _Node:
        """Express `HAS` by `IN` and `=`.

        Unlike these, `HAS` is never undefined. So its negation is also true of an event whose attribute has no value of
        the constants' family.
        """
        attribute, constants = expr.attribute, expr.operand
        if expr.operator == "HAS ALL":
            parts = [Predicate(attribute, "=", constant) for constant in dict.fromkeys(constants)]
        else:
            parts = [Predicate(attribute, "IN", constants)]
        if (expr.operator == "HAS NONE") != is_positive:
            return _make_group(True, [self._normalize(part, True) for part in parts])
        no_value = self._normalize(build_lacks(attribute, expr.family), True)
        return _make_group(False, [no_value, *(self._normalize(part, False) for part in parts)])

    def _normalize_xor(self, expr: Xor | Xnor) -> tuple[_Node, _Node]:
        """Return the nodes of a XOR or XNOR and of its negation."""
        pair = self.pairs.get(id(expr))
        if pair is not None:
            return pair
        true, false = self._normalize_operand(expr.args[0])
        for arg in expr.args[1:]:
            arg_true, arg_false = self._normalize_operand(arg)
            differ = _make_group(False, [_make_group(True, [true, arg_false]), _make_group(True, [false, arg_true])])
            agree = _make_group(False, [_make_group(True, [true, arg_true]), _make_group(True, [false, arg_false])])
            true, false = (differ, agree) if isinstance(expr, Xor) else (agree, differ)
            true, false = self._move_to_register(true), self._move_to_register(false)
        self.pairs[id(expr)] = true, false
        return true, false

    def _normalize_operand(self, expr: Expr) -> tuple[_Node, _Node]:
        """Return the nodes of an operand of XOR and of its negation."""
        return self._move_to_register(self._normalize(expr, True)), self._move_to_register(self._normalize(expr, False))

    def _move_to_register(self, node: _Node) -> _Node:
        """Return a node to use more than once: a register that is computed from a group, or a single test itself."""
        if not isinstance(node, _Group):
            return node
        self.registers.append(node)
        return _Register(len(self.registers) - 1)

    def _emit(self, root: _Node) -> tuple[list[int], int]:
        """Return the instructions of all registers and then of the root, and the number of registers."""
        used = self._find_used_registers(root)
        numbers = {register: i for i, register in enumerate(used)}
        code: list[int] = []
        for register in used:
            node = self.registers[register]
            end = len(code) // 3 + node.length
            _emit(node, len(code) // 3, end, end + 1, numbers, code)
            test = -1 - numbers[register]
            code += [test, end + 2, SET, test, end + 2, CLEAR]
        _emit(root, len(code) // 3, ACCEPT, REJECT, numbers, code)
        return code, len(used)

    def _find_used_registers(self, root: _Node) -> list[int]:
        """Return the registers that the root needs, ascending. A register reads only registers of smaller numbers."""
        used: set[int] = set()
        _collect_registers(root, used)
        for number in range(len(self.registers) - 1, -1, -1):
            if number in used:
                _collect_registers(self.registers[number], used)
        return sorted(used)


def _make_group(is_and: bool, parts: list[_Node]) -> _Node:
    """Return AND or OR of the parts, with constants folded and groups of the same kind merged."""
    merged: list[_Node] = []
    for part in parts:
        if isinstance(part, bool):
            if part != is_and:
                return part
        elif isinstance(part, _Group) and part.is_and == is_and:
            merged += part.parts
        else:
            merged.append(part)
    if not merged:
        return is_and
    if len(merged) == 1:
        return merged[0]
    return _Group(is_and, tuple(merged), sum(part.length if isinstance(part, _Group) else 1 for part in merged))


def _collect_registers(node: _Node, registers: set[int]) -> None:
    """Add the registers that the node reads to `registers`."""
    if isinstance(node, _Register):
        registers.add(node.number)
    elif isinstance(node, _Group):
        for part in node.parts:
            _collect_registers(part, registers)


def _emit(node: _Node, at: int, yes: int, no: int, numbers: dict[int, int], code: list[int]) -> None:
    """Append the tests of a node to `code`, which has `at` instructions.

    The tests jump to the instruction `yes` if the node is true, and to `no` if it is false. `numbers` maps registers to
    their numbers in the code.
    """
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
