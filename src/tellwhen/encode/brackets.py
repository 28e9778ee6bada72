"""Matching of conditions on objects in a list, such as `items[price > 5 AND qty >= 2]`.

A subscription may have thousands of such conditions, *brackets*. All brackets on one list are compiled into a store, as
if they were subscriptions and the objects were events. New brackets get another, small store, which is merged with
others as it grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tellwhen.compile.attributes import Attributes, Bracket
from tellwhen.compile.store import Store
from tellwhen.encode.kernels.objects import find_true
from tellwhen.kernels.arrays import I64, Snapshot
from tellwhen.kernels.handover import pack
from tellwhen.language.ast import Not
from tellwhen.language.schema import Schema
from tellwhen.language.values import iter_members

MERGE_RATIO = 4
"""A new store is merged with the store before it while that one has less than 4 times as many brackets."""

RESULTS_MAX = 1 << 24
"""Most results (brackets times lists) that are computed together."""


class BracketResult(NamedTuple):
    """The name of a bracket, and the positions of the lists of which it is TRUE or FALSE.

    Of all other lists it is undefined, or FALSE is needed by no subscription.
    """

    name: str
    true: I64
    false: I64


class _CompiledBrackets(NamedTuple):
    """Brackets on one list, compiled into a store."""

    brackets: list[Bracket]
    attributes: Attributes
    snapshot: Snapshot
    packed: I64
    """Addresses of the snapshot's arrays, for the kernel."""

    @classmethod
    def compile(cls, brackets: list[Bracket]) -> _CompiledBrackets:
        store = Store()
        store.append(store.compile(Not(b.expression) if b.is_negated else b.expression for b in brackets))
        snapshot = store.snapshot()
        return cls(brackets, store.attributes, snapshot, pack(snapshot))

    def match(self, lists: Sequence[list[Mapping[str, Any]]]) -> np.ndarray:
        """Return a matrix, by list and bracket, of whether the bracket is true of some object in the list."""
        from tellwhen.encode.events import EventEncoder  # imported here, since it imports this module

        encoder = EventEncoder(self.attributes, NO_SCHEMA)
        for objects in lists:
            for element in objects:
                encoder.add(element)
        start = np.concatenate([[0], np.cumsum([len(objects) for objects in lists])]).astype(np.int64)
        result = np.zeros((len(lists), len(self.brackets)), dtype=np.uint8)
        snapshot = self.snapshot
        truth = np.zeros(len(snapshot.predicates.domain) // 64 + 1, dtype=np.uint64)
        scratch = np.zeros(snapshot.domains + 1, np.int32), truth, np.zeros(snapshot.registers + 1, np.uint8)
        find_true(self.packed, tuple(encoder.finish()), start, *scratch, result)
        return result


NO_SCHEMA = Schema()


def select_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects among the members of a value."""
    return [member for member in iter_members(value) if isinstance(member, Mapping)]


def match_lists(attributes: Attributes, name: str, lists: Sequence[list[Mapping[str, Any]]]) -> Iterator[BracketResult]:
    """Match the brackets on the attribute `name` with the lists that it has in several events.

    Leave out brackets that are neither TRUE nor FALSE of any list.
    """
    true: dict[str, I64] = {}
    false: dict[str, I64] = {}
    for compiled in _compile_brackets(attributes, name):
        step = max(1, RESULTS_MAX // len(compiled.brackets))
        parts = [compiled.match(lists[first : first + step]) for first in range(0, len(lists), step)]
        results = np.concatenate(parts) if parts else np.zeros((0, len(compiled.brackets)), np.uint8)
        for number in np.flatnonzero(results.any(axis=0)).tolist():
            bracket = compiled.brackets[number]
            (false if bracket.is_negated else true)[bracket.name] = np.flatnonzero(results[:, number])
    no_lists = np.zeros(0, dtype=np.int64)
    for bracket_name in true | false:
        is_true = true.get(bracket_name, no_lists)
        # FALSE only of a list in which it is TRUE of no object.
        is_false = no_lists
        if bracket_name in false:
            is_false = np.setdiff1d(false[bracket_name], is_true, assume_unique=True)
        yield BracketResult(bracket_name, is_true, is_false)


def match_list(attributes: Attributes, name: str, objects: list[Mapping[str, Any]]) -> dict[str, bool]:
    """Match the brackets on the attribute `name` with one list. Return by bracket whether it is TRUE or FALSE."""
    true: list[str] = []
    false: list[str] = []
    for compiled in _compile_brackets(attributes, name):
        for number in np.flatnonzero(compiled.match([objects])[0]).tolist():
            bracket = compiled.brackets[number]
            (false if bracket.is_negated else true).append(bracket.name)
    return dict.fromkeys(false, False) | dict.fromkeys(true, True)


def _compile_brackets(attributes: Attributes, name: str) -> tuple[_CompiledBrackets, ...]:
    """Return all brackets on a list compiled, after compiling new ones."""
    # Two threads may compile the same brackets; the result of the last one stays.
    brackets = attributes.brackets_by_list.get(name, [])
    built: tuple[_CompiledBrackets, ...] = attributes.compiled_brackets.get(name, ())
    known, count = sum(len(part.brackets) for part in built), len(brackets)
    if known < count:
        first = known
        while built and len(built[-1].brackets) < MERGE_RATIO * (count - first):
            first -= len(built[-1].brackets)
            built = built[:-1]
        built = (*built, _CompiledBrackets.compile(brackets[first:count]))
        attributes.compiled_brackets[name] = built
    return built
