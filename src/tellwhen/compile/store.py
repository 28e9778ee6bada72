"""What does an index hold? Every subscription as flat arrays, in a store that all engines share.

Only one thread writes. Readers take a `snapshot()`, which never changes: arrays only grow behind its end, and a removal
writes a version number that is later than the snapshot's. Engines see no more than that (`engines.base.Source`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.dictionary import Moved
from tellwhen.compile.extract import Extract, extract
from tellwhen.compile.kernels.intern import LONG_CONJUNCTION, fill_table, intern, link
from tellwhen.compile.predicates import Literals
from tellwhen.compile.program import Code, compile_expression
from tellwhen.compile.scores import Scores
from tellwhen.containers.array_names import flatten, select_prefix, unflatten
from tellwhen.containers.batches import Typical
from tellwhen.containers.growing import Growing, make_growing, take_views
from tellwhen.kernels.arrays import HIGHEST, I32, I64, U8, Predicates, Snapshot, Subscriptions
from tellwhen.language.ast import Expr
from tellwhen.language.schema import Schema

COMPILE_BATCH = 1_024
"""Subscriptions compiled at a time: more would keep Python's garbage collector busy with their trees."""

NO_PREDICATES = Predicates(
    np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
)
NO_SUBSCRIPTIONS = Subscriptions(
    np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
)


class StoreMark(NamedTuple):
    """A moment to come back to: every array and its length, and all that is not an array."""

    arrays: tuple[tuple[np.ndarray, int], ...]
    attributes: Attributes
    domains: int
    registers: int
    version: int
    removed: int


class Compiled(NamedTuple):
    """Subscriptions compiled and ready to be stored."""

    literals: Literals
    codes: list[Code]


class StoreArrays(NamedTuple):
    """What is saved of a store."""

    predicates: Predicates
    subscriptions: Subscriptions
    table: I32  # hash table of predicate numbers plus 1 (kernels/intern.py)


class Store:
    """Distinct predicates by number, and subscriptions by slot."""

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema or Schema()
        self.attributes = Attributes()
        self._predicates: Any = make_growing(NO_PREDICATES)
        self._subscriptions: Any = make_growing(NO_SUBSCRIPTIONS)
        self._table = np.zeros(64, dtype=np.int32)
        self.scores = Scores()
        self._touched = False  # since the mark: the hash table and the dictionaries may be half changed
        self.registers = 0  # that the largest program needs
        self.version = 0
        self.removed = 0  # slots, ever
        self.moves = 0  # how often points have moved
        self._typical = Typical()

    def __len__(self) -> int:
        """Slots in use, removed ones included."""
        count: int = self._subscriptions.kind.count
        return count

    # what engines see

    def snapshot(self) -> Snapshot:
        """The predicates and subscriptions as they are now."""
        return Snapshot(
            take_views(self._predicates),
            take_views(self._subscriptions),
            len(self.attributes.domains),
            self.registers,
            self.version,
            self.removed,
        )

    def typical(self) -> Typical:
        """Events to expect, in the points of this store."""
        return self._typical

    def is_presence(self) -> NDArray[np.bool_]:
        """By domain: does it tell only whether an attribute is there?"""
        return np.array([domain.kind == "presence" for domain in self.attributes.domains], dtype=np.bool_)

    # adding and removing

    def compile(self, expressions: Iterable[Expr]) -> Compiled:
        """Compile all of them before any is stored."""
        self._touched = True
        literals = Literals(self.attributes, self.schema)
        return Compiled(literals, [compile_expression(expression, literals) for expression in expressions])

    def append(self, compiled: Compiled) -> tuple[I32, list[tuple[int, Moved]]]:
        """Store; returns the new slots, and the domains on which points of earlier ones have moved."""
        literals, self.attributes, moved = compiled.literals.resolve()
        for domain, moves in moved:
            self.move(domain, moves)
        codes = compiled.codes
        kind = np.array([code.kind for code in codes], dtype=np.uint8)
        start = np.array([0, *accumulate(len(code.code) for code in codes)], dtype=np.int64)
        words = np.array([word for code in codes for word in code.code], dtype=np.int32)
        self.registers = max([self.registers, *(code.registers for code in codes)])
        return self.append_arrays(literals, kind, start, words), moved

    def append_arrays(self, literals: Predicates, kind: U8, start: I64, code: I32) -> I32:
        """Store subscriptions that are arrays already, their code in terms of the literals; returns the new slots.

        `start` and `code` are overwritten.
        """
        numbers = self._intern(literals)
        has_long = len(code) > LONG_CONJUNCTION and np.diff(start).max() > LONG_CONJUNCTION
        marks = np.zeros(self._predicates.domain.count if has_long else 0, dtype=np.int32)
        length = link(kind, start, code, numbers, marks)
        first, stored = len(self), self._subscriptions
        start += stored.code.count
        stored.start.extend(start[1:])
        stored.code.extend(code[:length])
        stored.died.extend(np.full(len(kind), HIGHEST))
        stored.kind.extend(kind)
        self.version += 1
        return np.arange(first, len(self), dtype=np.int32)

    def _intern(self, new: Predicates) -> I32:
        """The numbers of the new predicates, which are stored unless they are known."""
        extra, known = len(new.domain), self._predicates
        room = Predicates(
            known.domain.reserve(extra), known.every.reserve(extra), known.start.reserve(extra),
            known.low.reserve(len(new.low)), known.high.reserve(len(new.low)),
        )  # fmt: skip
        numbers = np.empty(extra, dtype=np.int32)
        count, done = intern(self._table, room, known.domain.count, new, numbers, 0)
        while done < extra:
            self._table = np.zeros(2 * len(self._table), dtype=np.int32)
            fill_table(self._table, room, count)
            count, done = intern(self._table, room, count, new, numbers, done)
        known.domain.count = known.every.count = count
        known.start.count = count + 1
        known.low.count = known.high.count = int(room.start[count])
        return numbers

    def remove(self, slots: I32) -> None:
        """The slots die at the next version."""
        self.version += 1
        self.removed += len(slots)
        self._subscriptions.died.data[slots] = self.version

    def alive(self, count: int | None = None, version: int | None = None) -> I32:
        """The live slots, ascending: of the current state, or of an earlier one with `count` slots at `version`."""
        died = self._subscriptions.died
        known = died.data[: died.count if count is None else count]
        return np.flatnonzero(known > (self.version if version is None else version)).astype(np.int32)

    def expect(self, typical: Typical) -> None:
        """Set the typical events."""
        self._typical = typical

    def move(self, domain: int, moves: Moved) -> None:
        """Map the stored points of a relabelled domain, in new arrays: readers keep the old points and labels."""
        self.moves += 1
        known = self._predicates
        mine = np.repeat(known.domain.view, np.diff(known.start.view)) == domain
        for ends in (known.low, known.high):
            ends.data = ends.data.copy()
            ends.view[mine] = moves(ends.view[mine])
        self._refill_table()

    def _refill_table(self) -> None:
        self._table[:] = 0
        fill_table(self._table, take_views(self._predicates), self._predicates.domain.count)

    # undoing

    @property
    def _arrays(self) -> tuple[Growing, ...]:
        return (*self._predicates, *self._subscriptions, *self.scores.growing)

    def mark(self) -> StoreMark:
        """Where `rewind` comes back to."""
        self._touched = False
        arrays = tuple((array.data, array.count) for array in self._arrays)
        attributes = self.attributes
        return StoreMark(arrays, attributes, len(attributes.domains), self.registers, self.version, self.removed)

    def rewind(self, mark: StoreMark) -> None:
        """Undo all changes since the mark, wherever they stopped. No reader may have seen any of them."""
        for array, (data, count) in zip(self._arrays, mark.arrays, strict=True):
            array.data, array.count = data, count
        if self.version != mark.version:
            died = self._subscriptions.died.view
            died[(died > mark.version) & (died < HIGHEST)] = HIGHEST
        _, self.attributes, _, self.registers, self.version, self.removed = mark
        if self._touched:
            self.attributes.rewind(mark.domains)
            self._refill_table()
            self._touched = False

    # from store to store

    def adopt(self, other: Extract) -> I32:
        """Store subscriptions of another store, their literals in terms of this one's attributes."""
        self._touched = True
        self.registers = max(self.registers, other.registers)
        return self.append_arrays(other.literals, other.kind, other.start, other.code)

    def compacted(self, snapshot: Snapshot, alive: I32, attributes: Attributes) -> Store:
        """A new store of the subscriptions that were alive, in new slots, without what only the removed ones used."""
        kept = extract(snapshot, alive)
        after = Store(self.schema)
        after.attributes, literals = attributes.trimmed(kept.literals)
        after.adopt(kept._replace(literals=literals))
        after.scores.adopt(self.scores, 0, alive)
        return after

    # saving

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        arrays = flatten(StoreArrays(take_views(self._predicates), take_views(self._subscriptions), self._table))
        return arrays | {f"scores.{name}": array for name, array in self.scores.arrays().items()}

    def restore(self, arrays: Mapping[str, np.ndarray], attributes: Attributes, registers: int, version: int) -> None:
        """Take over saved arrays."""
        self.attributes, self.registers, self.version = attributes, registers, version
        predicates, subscriptions, self._table = unflatten(StoreArrays, arrays)
        self._predicates, self._subscriptions = make_growing(predicates), make_growing(subscriptions)
        self.scores = Scores.restore(select_prefix(arrays, "scores"))
        self.removed = int(np.count_nonzero(subscriptions.died <= version))
