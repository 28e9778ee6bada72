"""Which of thousands of `items[price > 5 AND qty >= 2]` are true of a list of objects?

All that are asked of one list are compiled into a store, as if they were subscriptions and the objects events. New ones
get a store of their own until there are many.
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

RATIO = 4
"""Stores are joined as long as the older one has less than four times as many brackets."""

FOUND_MAX = 1 << 24
"""Brackets times lists that are looked at together."""


class Answer(NamedTuple):
    """A bracket, and the lists of which it is TRUE and FALSE; of the others it is not defined, or not asked."""

    name: str
    true: I64
    false: I64


class _Built(NamedTuple):
    """Some brackets of a list, compiled."""

    brackets: list[Bracket]
    attributes: Attributes
    snapshot: Snapshot
    packed: I64
    """Its addresses, for the kernel."""

    @classmethod
    def of(cls, brackets: list[Bracket]) -> _Built:
        store = Store()
        store.append(store.compile(Not(one.expression) if one.is_negated else one.expression for one in brackets))
        snapshot = store.snapshot()
        return cls(brackets, store.attributes, snapshot, pack(snapshot))

    def found(self, lists: Sequence[list[Mapping[str, Any]]]) -> np.ndarray:
        """By list and bracket: is it true of an object in the list?"""
        from tellwhen.encode.events import EventEncoder  # which needs this module

        encoder = EventEncoder(self.attributes, NO_SCHEMA)
        for objects in lists:
            for one in objects:
                encoder.add(one)
        start = np.concatenate([[0], np.cumsum([len(objects) for objects in lists])]).astype(np.int64)
        result = np.zeros((len(lists), len(self.brackets)), dtype=np.uint8)
        snapshot = self.snapshot
        truth = np.zeros(len(snapshot.predicates.domain) // 64 + 1, dtype=np.uint64)
        scratch = np.zeros(snapshot.domains + 1, np.int32), truth, np.zeros(snapshot.registers + 1, np.uint8)
        find_true(self.packed, tuple(encoder.finish()), start, *scratch, result)
        return result


NO_SCHEMA = Schema()


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """The objects among the members of a value."""
    return [member for member in iter_members(value) if isinstance(member, Mapping)]


def answers(attributes: Attributes, name: str, lists: Sequence[list[Mapping[str, Any]]]) -> Iterator[Answer]:
    """What is asked of the lists that this attribute has in several events; answers that are nowhere are left out."""
    true: dict[str, I64] = {}
    false: dict[str, I64] = {}
    for built in _built(attributes, name):
        step = max(1, FOUND_MAX // len(built.brackets))
        parts = [built.found(lists[first : first + step]) for first in range(0, len(lists), step)]
        found = np.concatenate(parts) if parts else np.zeros((0, len(built.brackets)), np.uint8)
        for number in np.flatnonzero(found.any(axis=0)).tolist():
            bracket = built.brackets[number]
            (false if bracket.is_negated else true)[bracket.name] = np.flatnonzero(found[:, number])
    nowhere = np.zeros(0, dtype=np.int64)
    for one in true | false:
        holds = true.get(one, nowhere)
        # It is FALSE only where it is TRUE of no object.
        yield Answer(one, holds, np.setdiff1d(false[one], holds, assume_unique=True) if one in false else nowhere)


def truths(attributes: Attributes, name: str, objects: list[Mapping[str, Any]]) -> dict[str, bool]:
    """The same for one list: by bracket what it is, where that is asked."""
    true: list[str] = []
    false: list[str] = []
    for built in _built(attributes, name):
        for number in np.flatnonzero(built.found([objects])[0]).tolist():
            bracket = built.brackets[number]
            (false if bracket.is_negated else true).append(bracket.name)
    return dict.fromkeys(false, False) | dict.fromkeys(true, True)


def _built(attributes: Attributes, name: str) -> tuple[_Built, ...]:
    """All brackets of a list, compiled."""
    # Two threads may build the same: the last one stays.
    brackets = attributes.brackets.get(name, [])
    built: tuple[_Built, ...] = attributes.in_lists.get(name, ())
    known, count = sum(len(one.brackets) for one in built), len(brackets)
    if known < count:
        first = known
        while built and len(built[-1].brackets) < RATIO * (count - first):
            first -= len(built[-1].brackets)
            built = built[:-1]
        built = (*built, _Built.of(brackets[first:count]))
        attributes.in_lists[name] = built
    return built
