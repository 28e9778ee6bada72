"""The store: every subscription of an index as flat arrays, shared by all engines.

Only one thread writes. Readers take a `snapshot()`. What it shows never changes: arrays only grow behind its end, and a
removal writes a version number that is greater than the snapshot's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import Attributes
from tellwhen.compile.dictionary import Moved
from tellwhen.compile.predicates import Literals
from tellwhen.compile.program import Code, compile_expression
from tellwhen.containers.batches import Typical
from tellwhen.containers.csr import gather
from tellwhen.containers.growing import Growing
from tellwhen.kernels.arrays import CONJUNCTION, HIGHEST, I32, I64, U8, Predicates, Snapshot, Subscriptions
from tellwhen.kernels.intern import intern, link, place
from tellwhen.lang.ast import Expr
from tellwhen.schema import Schema

COMPILE_BATCH = 1_024
"""Subscriptions compiled at a time: more would keep Python's garbage collector busy with their trees."""


class StoreMark(NamedTuple):
    """A moment to come back to: every array and its length, and all that is not an array."""

    arrays: tuple[tuple[np.ndarray, int], ...]
    attributes: Attributes
    domains: int
    registers: int
    version: int
    removed: int


class Extract(NamedTuple):
    """Subscriptions taken out of a store, with their predicates numbered from 0."""

    literals: Predicates
    kind: U8
    start: I64
    code: I32
    registers: int


class Compiled(NamedTuple):
    """Subscriptions compiled and ready to be stored."""

    literals: Literals
    codes: list[Code]


class Store:
    """Predicates, interned, and subscriptions, by slot."""

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema or Schema()
        self.attributes = Attributes()
        self._domain, self._every = Growing(np.int32), Growing(np.uint8)
        self._interval, self._low, self._high = Growing(np.int64, [0]), Growing(np.int64), Growing(np.int64)
        self._kind, self._start = Growing(np.uint8), Growing(np.int64, [0])
        self._code, self._died = Growing(np.int32), Growing(np.int64)
        self._table = np.zeros(64, dtype=np.int32)
        self._touched = False  # since the mark: then the hash table and the dictionaries may be half changed
        self.registers = 0
        self.version = 0
        self.removed = 0  # slots, ever
        self._typical = Typical()

    def __len__(self) -> int:
        """Slots in use, removed ones included."""
        return self._kind.count

    @property
    def died(self) -> I64:
        return self._died.view

    def compile(self, expressions: Iterable[Expr]) -> Compiled:
        """Compile in full before anything is stored."""
        self._touched = True
        literals = Literals(self.attributes, self.schema)
        return Compiled(literals, [compile_expression(expression, literals) for expression in expressions])

    def append(self, compiled: Compiled) -> tuple[I32, bool]:
        """Store; returns the new slots, and whether points of earlier ones have moved."""
        literals, self.attributes, moved = compiled.literals.resolve()
        for domain, moves in moved:
            self.move(domain, moves)
        codes = compiled.codes
        kind = np.array([code.kind for code in codes], dtype=np.uint8)
        start = np.zeros(len(codes) + 1, dtype=np.int64)
        np.cumsum([len(code.code) for code in codes], out=start[1:])
        words = np.fromiter((word for code in codes for word in code.code), dtype=np.int32, count=int(start[-1]))
        self.registers = max([self.registers, *(code.registers for code in codes)])
        return self.append_arrays(literals, kind, start, words), bool(moved)

    def append_arrays(self, literals: Predicates, kind: U8, start: I64, code: I32) -> I32:
        """Store subscriptions that are arrays already, their code in terms of the literals; returns the new slots.

        `start` and `code` are overwritten.
        """
        length = link(kind, start, code, self._intern(literals), CONJUNCTION)
        first = len(self)
        self._start.extend(start[1:] + self._code.count)
        self._code.extend(code[:length])
        self._died.extend(np.full(len(kind), HIGHEST, dtype=np.int64))
        self._kind.extend(kind)
        self.version += 1
        return np.arange(first, len(self), dtype=np.int32)

    @property
    def _arrays(self) -> tuple[Growing, ...]:
        return (
            self._domain, self._every, self._interval, self._low, self._high,
            self._kind, self._start, self._code, self._died,
        )  # fmt: skip

    def mark(self) -> StoreMark:
        """Where `rewind` comes back to."""
        self._touched = False
        arrays = tuple((array.data, array.count) for array in self._arrays)
        attributes = self.attributes
        return StoreMark(arrays, attributes, len(attributes.domains), self.registers, self.version, self.removed)

    def rewind(self, mark: StoreMark) -> None:
        """Undo all since the mark, wherever it stopped. No reader may have been given any of it."""
        for array, (data, count) in zip(self._arrays, mark.arrays, strict=True):
            array.data, array.count = data, count
        if self.version != mark.version:
            self.died[(self.died > mark.version) & (self.died < HIGHEST)] = HIGHEST
        _, self.attributes, _, self.registers, self.version, self.removed = mark
        if self._touched:
            self.attributes.rewind(mark.domains)
            self._table[:] = 0
            place(self._table, self.snapshot().predicates, self._domain.count)
            self._touched = False

    def remove(self, slots: I32) -> None:
        """The slots die at the next version."""
        self.version += 1
        self.removed += len(slots)
        self._died.data[slots] = self.version

    def snapshot(self) -> Snapshot:
        return Snapshot(
            Predicates(*(array.view for array in (self._domain, self._every, self._interval, self._low, self._high))),
            Subscriptions(*(array.view for array in (self._kind, self._start, self._code, self._died))),
            len(self.attributes.domains),
            self.registers,
            self.version,
            self.removed,
        )

    def typical(self) -> Typical:
        """The events to expect, in the points of this store; none are known unless `expect` says so."""
        return self._typical

    def expect(self, typical: Typical) -> None:
        """Expect these events from now on."""
        self._typical = typical

    def is_presence(self) -> NDArray[np.bool_]:
        """By domain: does it tell only whether an attribute is there?"""
        return np.array([domain.kind == "presence" for domain in self.attributes.domains], dtype=np.bool_)

    def alive(self) -> I32:
        """The slots not removed, ascending."""
        return np.flatnonzero(self.died > self.version).astype(np.int32)

    def compacted(self) -> Store:
        """A new store of the live subscriptions only, slots numbered anew, without what only the removed ones used."""
        extract = self.extract(self.alive())
        after = Store(self.schema)
        after.attributes, literals = self.attributes.trimmed(extract.literals)
        after.adopt(extract._replace(literals=literals))
        return after

    def extract(self, slots: I32) -> Extract:
        """Some subscriptions, with only the predicates that they use."""
        snapshot = self.snapshot()
        start, which = gather(snapshot.subscriptions.start, slots)
        kind, code = snapshot.subscriptions.kind[slots], snapshot.subscriptions.code[which]
        # Where code names a predicate: everywhere in a conjunction, in the first of three words of a test.
        within = np.arange(len(code)) - np.repeat(start[:-1], np.diff(start))
        names = (np.repeat(kind, np.diff(start)) == CONJUNCTION) | ((within % 3 == 0) & (code >= 0))
        used = np.unique(code[names])
        code[names] = np.searchsorted(used, code[names])
        interval, which = gather(snapshot.predicates.start, used)
        literals = Predicates(
            snapshot.predicates.domain[used], snapshot.predicates.every[used],
            interval, snapshot.predicates.low[which], snapshot.predicates.high[which],
        )  # fmt: skip
        return Extract(literals, kind, start, code, self.registers)

    def adopt(self, extract: Extract) -> I32:
        """Store subscriptions of another store, their literals in terms of this one's attributes."""
        self._touched = True
        self.registers = max(self.registers, extract.registers)
        return self.append_arrays(extract.literals, extract.kind, extract.start, extract.code)

    def _intern(self, new: Predicates) -> I32:
        extra = len(new.domain)
        known = Predicates(
            self._domain.reserve(extra), self._every.reserve(extra), self._interval.reserve(extra),
            self._low.reserve(len(new.low)), self._high.reserve(len(new.low)),
        )  # fmt: skip
        ids = np.empty(extra, dtype=np.int32)
        count, done = intern(self._table, known, self._domain.count, new, ids, 0)
        while done < extra:
            self._table = np.zeros(2 * len(self._table), dtype=np.int32)
            place(self._table, known, count)
            count, done = intern(self._table, known, count, new, ids, done)
        self._domain.count = self._every.count = count
        self._interval.count = count + 1
        self._low.count = self._high.count = int(known.start[count])
        return ids

    def move(self, domain: int, moves: Moved) -> None:
        """Map the stored points of a relabelled domain, in new arrays: readers keep the old ones and the old labels."""
        owner = np.repeat(self._domain.view, np.diff(self._interval.view))
        mine = owner == domain
        for ends in (self._low, self._high):
            ends.data = ends.data.copy()
            ends.view[mine] = moves(ends.view[mine])
        self._table[:] = 0
        place(self._table, self.snapshot().predicates, self._domain.count)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything to be saved, by name."""
        snapshot = self.snapshot()
        named = {f"predicates.{name}": array for name, array in snapshot.predicates._asdict().items()}
        named |= {f"subscriptions.{name}": array for name, array in snapshot.subscriptions._asdict().items()}
        return named | {"predicates.table": self._table}

    def restore(self, arrays: Mapping[str, np.ndarray], attributes: Attributes, registers: int, version: int) -> None:
        """Take over saved arrays, memory-mapped ones included: growing copies them first."""
        self.attributes, self.registers, self.version = attributes, registers, version
        self._table = arrays["predicates.table"]
        for name, growing in {
            "predicates.domain": self._domain, "predicates.every": self._every, "predicates.start": self._interval,
            "predicates.low": self._low, "predicates.high": self._high,
            "subscriptions.kind": self._kind, "subscriptions.start": self._start,
            "subscriptions.code": self._code, "subscriptions.died": self._died,
        }.items():  # fmt: skip
            growing.data = arrays[name]
            growing.count = len(growing.data)
        self.removed = int(np.count_nonzero(self.died <= version))
