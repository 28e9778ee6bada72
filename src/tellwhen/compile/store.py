"""Store of all subscriptions of a shard as flat arrays.

Only one thread writes. Readers take a `snapshot()`, which never changes: arrays only grow behind its end, and a removal
writes a version number that is later than that of the snapshot. Engines see the store as an `engines.base.Source`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.attributes import LABELLED_KINDS, Attributes
from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.extract import Extract, extract
from tellwhen.compile.kernels.intern import LONG_CONJUNCTION, fill_table, intern, link
from tellwhen.compile.predicates import Literals
from tellwhen.compile.program import Code, compile_expression
from tellwhen.compile.scores import Scores
from tellwhen.compile.translation import translate_predicates
from tellwhen.containers.array_names import flatten, select_prefix, unflatten
from tellwhen.containers.batches import EncodedSample
from tellwhen.containers.growing import Growing, make_growing, take_views
from tellwhen.kernels.arrays import HIGHEST, I32, I64, U8, Predicates, Snapshot, Subscriptions
from tellwhen.language.ast import Expr
from tellwhen.language.schema import Schema

COMPILE_BATCH = 1_024
"""Subscriptions per batch of compilation. In a larger batch Python's garbage collector spends long on their trees."""

NO_PREDICATES = Predicates(
    np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
)
NO_SUBSCRIPTIONS = Subscriptions(
    np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
)


class StoreMark(NamedTuple):
    """State of a store to which it can rewind: every array with its length, and the fields that are no arrays."""

    arrays: tuple[tuple[np.ndarray, int], ...]
    table_size: int
    attributes: Attributes
    domain_count: int
    registers: int
    version: int
    removed: int


class CompiledBatch(NamedTuple):
    """Compiled subscriptions that are not stored yet."""

    literals: Literals
    codes: list[Code]


class StoreArrays(NamedTuple):
    """Arrays of a store that are saved."""

    predicates: Predicates
    subscriptions: Subscriptions
    table: I32  # hash table of predicate numbers plus 1 (kernels/intern.py)


class Store:
    """Store of distinct predicates by number, and of subscriptions by slot."""

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema or Schema()
        self.attributes = Attributes()
        self._predicates: Any = make_growing(NO_PREDICATES)
        self._subscriptions: Any = make_growing(NO_SUBSCRIPTIONS)
        self._table = np.zeros(64, dtype=np.int32)
        self.scores = Scores()
        self._is_touched = False  # whether the hash table and the dictionaries may have changed since the mark
        self.registers = 0  # of the program with the most registers
        self.version = 0
        self.removed = 0  # number of slots
        self.relabellings = 0  # number of domains that were relabelled
        self._typical = EncodedSample()

    def __len__(self) -> int:
        """Return the number of slots, including removed ones."""
        count: int = self._subscriptions.kind.count
        return count

    # what engines read

    def snapshot(self) -> Snapshot:
        """Return the predicates and subscriptions as they are now."""
        return Snapshot(
            take_views(self._predicates),
            take_views(self._subscriptions),
            len(self.attributes.domains),
            self.registers,
            self.version,
            self.removed,
        )

    def typical(self) -> EncodedSample:
        """Return the typical events, encoded as points of this store."""
        return self._typical

    def is_presence(self) -> NDArray[np.bool_]:
        """Return for each domain whether its points say only if an attribute is present."""
        return np.array([domain.kind == "presence" for domain in self.attributes.domains], dtype=np.bool_)

    def is_string(self) -> NDArray[np.bool_]:
        """Return for each domain whether its points are strings, or strings that are reversed."""
        return np.array([domain.kind in LABELLED_KINDS for domain in self.attributes.domains], dtype=np.bool_)

    # adding and removing

    def compile(self, expressions: Iterable[Expr]) -> CompiledBatch:
        """Compile subscriptions without storing them; an invalid one raises before any is stored."""
        self._is_touched = True
        literals = Literals(self.attributes, self.schema)
        return CompiledBatch(literals, [compile_expression(expression, literals) for expression in expressions])

    def append(self, compiled: CompiledBatch) -> tuple[I32, list[tuple[int, LabelMoves]]]:
        """Store compiled subscriptions. Return their slots, and the label moves of the domains that were relabelled."""
        literals, self.attributes, all_moves = compiled.literals.resolve()
        for domain, moves in all_moves:
            self.relabel(domain, moves)
        codes = compiled.codes
        kind = np.array([code.kind for code in codes], dtype=np.uint8)
        start = np.array([0, *accumulate(len(code.code) for code in codes)], dtype=np.int64)
        words = np.array([word for code in codes for word in code.code], dtype=np.int32)
        self.registers = max([self.registers, *(code.registers for code in codes)])
        return self.append_arrays(literals, kind, start, words), all_moves

    def append_arrays(self, literals: Predicates, kind: U8, start: I64, code: I32) -> I32:
        """Store subscriptions that are arrays already, and return their slots.

        Parameters
        ----------
        literals
            The predicates of the subscriptions.
        kind
            The kind of each subscription.
        start
            Subscription i has the words code[start[i]:start[i + 1]]. Is overwritten.
        code
            Code whose predicates are numbers of literals. Is overwritten.
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
        """Store the new predicates that are not known yet, and return the numbers of all of them."""
        extra, known = len(new.domain), self._predicates
        reserved = Predicates(
            known.domain.reserve(extra), known.every.reserve(extra), known.start.reserve(extra),
            known.low.reserve(len(new.low)), known.high.reserve(len(new.low)),
        )  # fmt: skip
        numbers = np.empty(extra, dtype=np.int32)
        count, done = intern(self._table, reserved, known.domain.count, new, numbers, 0)
        while done < extra:
            self._table = np.zeros(2 * len(self._table), dtype=np.int32)
            fill_table(self._table, reserved, count)
            count, done = intern(self._table, reserved, count, new, numbers, done)
        known.domain.count = known.every.count = count
        known.start.count = count + 1
        known.low.count = known.high.count = int(reserved.start[count])
        return numbers

    def remove(self, slots: I32) -> None:
        """Remove slots: they die at the next version."""
        self.version += 1
        self.removed += len(slots)
        self._subscriptions.died.data[slots] = self.version

    def find_alive(self, count: int | None = None, version: int | None = None) -> I32:
        """Return the slots that are not removed, ascending.

        Parameters
        ----------
        count
            The number of slots at an earlier moment; None for now.
        version
            The version at this moment; None for now.
        """
        died = self._subscriptions.died
        known = died.data[: died.count if count is None else count]
        return np.flatnonzero(known > (self.version if version is None else version)).astype(np.int32)

    def set_typical(self, typical: EncodedSample) -> None:
        """Set the typical events, by which engines choose what to test first."""
        self._typical = typical

    def relabel(self, domain: int, moves: LabelMoves) -> None:
        """Map the stored points of a relabelled domain. Write them to new arrays, since readers keep the old points."""
        self.relabellings += 1
        known = self._predicates
        is_moved = np.repeat(known.domain.view, np.diff(known.start.view)) == domain
        for ends in (known.low, known.high):
            ends.data = ends.data.copy()
            ends.view[is_moved] = moves.map_points(ends.view[is_moved])
        self._refill_table()

    def _refill_table(self) -> None:
        self._table[:] = 0
        fill_table(self._table, take_views(self._predicates), self._predicates.domain.count)

    # undoing

    @property
    def _arrays(self) -> tuple[Growing, ...]:
        return (*self._predicates, *self._subscriptions, *self.scores.growing_arrays)

    def mark(self) -> StoreMark:
        """Return the current state, to which `rewind` can return."""
        self._is_touched = False
        arrays = tuple((array.data, array.count) for array in self._arrays)
        attributes = self.attributes
        counts = self.registers, self.version, self.removed
        return StoreMark(arrays, len(self._table), attributes, len(attributes.domains), *counts)

    def rewind(self, mark: StoreMark) -> None:
        """Undo all changes since the mark, also half-finished ones. No reader may have seen any of them."""
        for array, (data, count) in zip(self._arrays, mark.arrays, strict=True):
            array.data, array.count = data, count
        if self.version != mark.version:
            died = self._subscriptions.died.view
            died[(died > mark.version) & (died < HIGHEST)] = HIGHEST
        self.attributes, self.registers, self.version = mark.attributes, mark.registers, mark.version
        self.removed = mark.removed
        if self._is_touched:
            self.attributes.rewind(mark.domain_count)
            if len(self._table) != mark.table_size:
                self._table = np.zeros(mark.table_size, dtype=np.int32)
            self._refill_table()
            self._is_touched = False

    # copying between stores

    def adopt(self, extracted: Extract) -> I32:
        """Store subscriptions of another store, and return their slots. Their literals are translated already."""
        self._is_touched = True
        self.registers = max(self.registers, extracted.registers)
        return self.append_arrays(extracted.literals, extracted.kind, extracted.start, extracted.code)

    def adopt_from(
        self, snapshot: Snapshot, slots: I32, attributes: Attributes
    ) -> tuple[I32, list[tuple[int, LabelMoves]]]:
        """Store subscriptions of another store, and the domains and constants that only they use.

        Parameters
        ----------
        snapshot
            The other store.
        slots
            The slots of the subscriptions in the other store.
        attributes
            The attributes of the other store.

        Returns
        -------
        slots
            Their slots in this store.
        moves
            The label moves of the domains that were relabelled.
        """
        self._is_touched = True
        extracted = extract(snapshot, slots)
        used, literals = attributes.copy_trimmed(extracted.literals)
        self.attributes, all_moves = self.attributes.extend(used)
        for domain, moves in all_moves:
            self.relabel(domain, moves)
        literals = translate_predicates(literals, used, self.attributes)
        return self.adopt(extracted._replace(literals=literals)), all_moves

    def compact(self, snapshot: Snapshot, slots: I32, attributes: Attributes) -> Store:
        """Return a new store of some subscriptions, with only the predicates and constants that they use.

        Parameters
        ----------
        snapshot
            The store at the moment at which it is compacted.
        slots
            The slots of the subscriptions, ascending. In the new store they are numbered from 0.
        attributes
            The attributes at this moment.
        """
        extracted = extract(snapshot, slots)
        after = Store(self.schema)
        after.attributes, literals = attributes.copy_trimmed(extracted.literals)
        after.adopt(extracted._replace(literals=literals))
        after.scores.adopt(self.scores, 0, slots)
        return after

    # saving

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name."""
        arrays = flatten(StoreArrays(take_views(self._predicates), take_views(self._subscriptions), self._table))
        return arrays | {f"scores.{name}": array for name, array in self.scores.arrays().items()}

    def restore(self, arrays: Mapping[str, np.ndarray], attributes: Attributes, registers: int, version: int) -> None:
        """Replace the contents by saved arrays."""
        self.attributes, self.registers, self.version = attributes, registers, version
        predicates, subscriptions, self._table = unflatten(StoreArrays, arrays)
        self._predicates, self._subscriptions = make_growing(predicates), make_growing(subscriptions)
        self.scores = Scores.restore(select_prefix(arrays, "scores"))
        self.removed = int(np.count_nonzero(subscriptions.died <= version))
