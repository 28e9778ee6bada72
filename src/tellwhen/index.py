"""`Index`: standing expressions in, the ids of those an event satisfies out."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tellwhen import persist
from tellwhen.compile import saved
from tellwhen.compile.attributes import Attributes
from tellwhen.compile.events import EventEncoder, encode
from tellwhen.compile.subscriptions import Store
from tellwhen.compile.tables import encode_table
from tellwhen.compile.text import Texts
from tellwhen.engines import create
from tellwhen.engines.base import Reader, able
from tellwhen.errors import (
    BudgetError,
    DuplicateId,
    EventError,
    ExpressionError,
    IdError,
    LimitError,
    ParseError,
    TellwhenError,
    UnknownId,
    shown,
)
from tellwhen.ids import Id, Ids, IdType, checked
from tellwhen.kernels.arrays import I32, Events
from tellwhen.lang import limits
from tellwhen.lang.ast import Expr, as_expr
from tellwhen.lang.explain import Explanation
from tellwhen.lang.json import from_json
from tellwhen.lang.parse import parse
from tellwhen.lang.values import flatten
from tellwhen.schema import Schema

Subscription = str | Expr | Mapping[str, Any]
EVENTS = 16_384
"""Events matched at a time: bounds the memory that a large batch takes."""

SUBSCRIPTIONS = 1_024
"""Subscriptions compiled at a time: more would keep Python's garbage collector busy with their trees."""


DEAD = 4_096
"""So many removed subscriptions, or half of all, may wait to be forgotten altogether."""


class _State(NamedTuple):
    """All that matching needs, as it was after one change. Replaced as a whole, so that every match is consistent."""

    reader: Reader
    attributes: Attributes
    ids: Ids
    id_type: IdType
    texts: Texts
    length: int


class Index:
    """Millions of standing expressions, matched against events.

    >>> import tellwhen as tw
    >>> index = tw.Index()
    >>> _ = index.add("cheap", "price < 20").add("classic", tw.col("genre") == "classics")
    >>> index.match({"price": 12, "genre": "classics"})
    ['cheap', 'classic']
    >>> index.match_many([{"price": 12}, {"price": 25, "genre": "classics"}]).to_pydict()
    {'event': [0, 1], 'subscription': ['cheap', 'classic']}

    Any number of threads may match while one at a time changes the index: a match sees the index before a change or
    after it, never in between. `schema` declares types (see `Schema`); `engine` is one of `tellwhen.engines()`.
    """

    def __init__(self, engine: str = "auto", schema: Schema | Mapping[str, Any] | None = None) -> None:
        self._schema = schema if isinstance(schema, Schema) else Schema({} if schema is None else schema)
        self._store = Store(self._schema)
        self._engine = create(engine, self._store)
        self._ids = Ids()
        self._texts = Texts()
        self._lock = threading.RLock()
        self._busy = False
        self._counting = threading.Lock()
        self._mismatches: Counter[str] = Counter()
        self._publish()

    # changing

    def add(self, id: Id, expression: Subscription, *, replace: bool = False) -> Index:
        """Add a subscription: text, an expression, or its JSON form. A taken id is an error unless `replace`."""
        return self.add_many([(id, expression)], replace=replace)

    def add_many(
        self, subscriptions: Mapping[Id, Subscription] | Iterable[tuple[Id, Subscription]], *, replace: bool = False
    ) -> Index:
        """Add many at once: all of them, or none when one is faulty. They become visible together."""
        pairs = iter(subscriptions.items() if isinstance(subscriptions, Mapping) else subscriptions)
        with self._changing():
            fresh: dict[Id, int] = {}
            replaced: set[int] = set()
            first = len(self._store)
            moved = False
            try:
                while block := list(islice(pairs, SUBSCRIPTIONS)):
                    moved |= self._store_block(block, fresh, replaced, replace)
            except BaseException:
                # The engine has not heard of these slots, unless points have moved under it.
                self._abandon(first)
                if moved:
                    self._recover()
                raise
            try:
                self._enter(first, fresh, replaced, moved)
            except BudgetError:
                raise
            except BaseException:
                self._abandon(first)
                self._recover()
                raise
        return self

    def _enter(self, first: int, fresh: dict[Id, int], replaced: set[int], moved: bool) -> None:
        """Index what was stored from slot `first` on, and publish it."""
        slots = np.fromiter(fresh.values(), dtype=np.int32, count=len(fresh))
        slots.sort()
        if len(slots) < len(self._store) - first:
            # An id came twice; the last one counts.
            self._store.remove(np.setdiff1d(np.arange(first, len(self._store), dtype=np.int32), slots))
        if moved:
            self._engine.rebuild()
        refused = self._engine.insert(slots)
        if len(refused):
            self._abandon(first)
            self._engine.delete(np.setdiff1d(slots, refused))
            raise BudgetError(
                f"subscription {self._ids[int(refused[0])]!r} is too complex for {self._engine.name}: as an OR of "
                f"conjunctions it is too large; engines that take any expression: {', '.join(able('expressions'))}"
            )
        if replaced:
            self._delete(np.array(sorted(replaced), dtype=np.int32))
        self._slots.update(fresh)
        self._publish()

    def _abandon(self, first: int) -> None:
        """What was stored from slot `first` on never becomes visible; slots, ids and texts stay in step."""
        self._store.remove(np.arange(first, len(self._store), dtype=np.int32))
        self._ids.align(len(self._store))
        self._texts.align(len(self._store))

    def _recover(self) -> None:
        """After a failure inside the engine, which may have been left half changed: a new one, from the store."""
        self._engine = create(self._engine.name, self._store)
        self._engine.insert(self._store.alive())
        self._publish()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One change at a time; an iterator of subscriptions that changes the index itself is refused."""
        with self._lock:
            if self._busy:
                raise TellwhenError("the index is in the middle of a change made by this very thread")
            self._busy = True
            try:
                yield
            finally:
                self._busy = False

    def _store_block(
        self, block: list[tuple[Id, Subscription]], fresh: dict[Id, int], replaced: set[int], replace: bool
    ) -> bool:
        """Parse and store one block, not yet visible; returns whether stored points have moved."""
        ids: list[Id] = []
        texts: list[str] = []
        expressions: list[Expr] = []
        known = self._slots
        first = len(self._store)
        for pair in block:
            try:
                id_, given = pair
            except (TypeError, ValueError):
                raise ExpressionError(
                    f"a subscription is a pair of an id and an expression, not {shown(pair)}"
                ) from None
            id_ = checked(id_)
            if id_ in known or id_ in fresh:
                if not replace:
                    raise DuplicateId(f"there is a subscription {id_!r} already; pass replace=True to replace it")
                if id_ in known:
                    replaced.add(known[id_])
            expression = _expression(id_, given)
            fresh[id_] = first + len(ids)
            ids.append(id_)
            expressions.append(expression)
            text = given if isinstance(given, str) else str(expression)
            if len(text) > limits.TEXT:
                raise LimitError(f"subscription {id_!r}: as text it has more than {limits.TEXT} characters")
            texts.append(text)
        _, moved = self._store.append(self._store.compile(expressions))
        self._ids.extend(ids)
        self._texts.extend(texts)
        return moved

    def remove(self, id: Id) -> Index:
        """Remove a subscription; a KeyError when there is none of that id."""
        return self.remove_many([id])

    def remove_many(self, ids: Iterable[Id]) -> Index:
        """Remove many at once: all of them, or none when one is unknown."""
        self._engine.require("delete")
        with self._changing():
            wanted = dict.fromkeys(checked(id_) for id_ in ids)
            known = self._slots
            for id_ in wanted:
                if id_ not in known:
                    raise UnknownId(f"there is no subscription {id_!r}")
            if wanted:
                slots = np.array([known[id_] for id_ in wanted], dtype=np.int32)
                try:
                    self._delete(slots)
                except BaseException:
                    self._recover()
                    raise
                finally:
                    for id_ in wanted:
                        del known[id_]
                self._publish()
        return self

    def rebuild(self) -> Index:
        """Build the engine's structures anew, now. It happens by itself as subscriptions come and go."""
        with self._changing():
            try:
                self._engine.rebuild()
            except BaseException:
                self._recover()
                raise
            self._publish()
        return self

    def _delete(self, slots: I32) -> None:
        self._store.remove(slots)
        self._engine.delete(slots)

    def _compact(self) -> None:
        """Once most slots are dead, number the live ones anew; readers keep what they have."""
        if self._store.removed <= max(DEAD, len(self._store) // 2):
            return
        alive = self._store.alive()
        self._ids, self._texts = self._ids.kept(alive), self._texts.kept(alive)
        self._store = self._store.compacted()
        self._engine = create(self._engine.name, self._store)
        self._find_slots()
        self._engine.insert(self._store.alive())

    def _publish(self) -> None:
        self._compact()
        self._state = _State(
            self._engine.reader(), self._store.attributes, self._ids, self._ids.type, self._texts, len(self._engine)
        )

    @property
    def _slots(self) -> dict[Id, int]:
        if not self._ids.has_slots:
            self._find_slots()
        return self._ids.slots

    def _find_slots(self) -> None:
        with self._lock:
            self._ids.find_slots(self._store.alive())

    # matching

    def match(self, event: Mapping[str, Any]) -> list[Id]:
        """The ids of all subscriptions that are true for the event, in the order they were added."""
        state = self._state
        encoder = EventEncoder(state.attributes, self._schema)
        encoder.add(event)
        if encoder.mismatches:
            self._count(encoder.mismatches)
        slots = state.reader.match(encoder.finish()).slot
        if len(slots) > 1:
            slots.sort()
        return state.ids.of(slots.tolist())

    def match_many(self, events: Any) -> pa.Table:
        """All matches of many events, as a table of `event` (its position) and `subscription` (the id).

        Events are a list of dicts, or a table: Arrow, pandas, polars, or anything that speaks Arrow. A table has a
        column per attribute, or a single map column. The matches of an event come in no particular order.
        """
        state = self._state
        numbers, ids = [], []
        offset = 0
        for encoded, mismatches in self._encoded(events, state.attributes):
            if mismatches:
                self._count(mismatches)
            start, slot = state.reader.match(encoded)
            numbers.append(pa.array(np.repeat(np.arange(offset, offset + len(start) - 1), np.diff(start))))
            ids.append(state.ids.column(slot, state.id_type))
            offset += len(start) - 1
        if not ids:
            numbers, ids = [pa.array([], pa.int64())], [state.ids.column(np.zeros(0, dtype=np.int32), state.id_type)]
        return pa.table({"event": pa.chunked_array(numbers), "subscription": pa.chunked_array(ids)})

    def _encoded(self, events: Any, attributes: Attributes) -> Iterator[tuple[Events, Mapping[str, int]]]:
        events = as_table_or_dicts(events)
        if isinstance(events, pa.Table):
            for start in range(0, events.num_rows, EVENTS):
                # Its length too: a slice of a table without columns does not know it.
                rows = min(EVENTS, events.num_rows - start)
                yield encode_table(events.slice(start, rows), rows, attributes, self._schema)
        else:
            pending = iter(events)
            while block := list(islice(pending, EVENTS)):
                yield encode(block, attributes, self._schema)

    def _count(self, mismatches: Mapping[str, int]) -> None:
        # A lock of its own: a match never waits for a change.
        with self._counting:
            self._mismatches.update(mismatches)

    def explain(self, id: Id, event: Mapping[str, Any]) -> Explanation:
        """Why the subscription matches the event, or why not: print it to see the tree."""
        return self[id].explain(self._schema.read_event(flatten(event)))

    # looking

    def __len__(self) -> int:
        return self._state.length

    def __contains__(self, id: object) -> bool:
        try:
            return checked(id) in self._slots  # type: ignore[arg-type]
        except IdError:
            return False

    def __getitem__(self, id: Id) -> Expr:
        id = checked(id)
        if not self._ids.has_slots:
            self._find_slots()
        state = self._state  # ids and texts of one moment
        slot = state.ids.slots.get(id)
        if slot is None:
            raise UnknownId(f"there is no subscription {id!r}")
        return parse(state.texts[slot])

    def __iter__(self) -> Iterator[Id]:
        return iter(list(self._slots))

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, engine {self._engine.name}>"

    @property
    def schema(self) -> Schema:
        """The declared types."""
        return self._schema

    @property
    def types(self) -> dict[str, str]:
        """The type of every attribute: as declared, or else the families that subscriptions compare it with.

        >>> import tellwhen as tw
        >>> tw.Index(schema={"day": "date"}).add(1, "price < 3 OR code = 7 OR code = 'x'").types
        {'price': 'number', 'code': 'number or string', 'day': 'date'}
        """
        used = self._state.attributes.by_name.copy()
        found = {name: " or ".join(sorted(attribute.families)) for name, attribute in used.items()}
        return found | self._schema.types

    def stats(self) -> dict[str, Any]:
        """Sizes in bytes and counts: of the engine, of the store it reads, and of event values of a wrong type."""
        with self._lock:
            store = sum(array.nbytes for array in self._store.arrays().values())
            held: list[np.ndarray] = [*self._texts.arrays(), *self._ids.arrays().values()]
            text = sum(array.nbytes for array in held)
            return {
                "engine": self._engine.name,
                "subscriptions": len(self),
                "attributes": len(self._store.attributes.by_name),
                "lines": len(self._store.attributes.lines),
                "predicates": len(self._store.view().predicates.line),
                "bytes": {"engine": self._engine.stats()["bytes"], "store": store, "ids and texts": text},
                "mismatches": dict(self._mismatches),
                self._engine.name: self._engine.stats(),
            }

    # keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a directory; a kill on the way leaves what was there before."""
        with self._lock:
            start, data = self._texts.arrays()
            groups: dict[str, dict[str, np.ndarray]] = {
                "store": self._store.arrays(),
                "ids": self._ids.arrays(),
                "texts": {"start": start, "data": data},
                "engine": self._engine.arrays(),
                "dictionaries": saved.dictionary_arrays(self._store.attributes),
            }
            arrays = {f"{group}.{name}": array for group, named in groups.items() for name, array in named.items()}
            meta = {
                "engine": self._engine.name,
                "schema": self._schema.types,
                "attributes": saved.attributes_meta(self._store.attributes),
                "registers": self._store.registers,
                "version": self._store.version,
            }
            persist.save(path, arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Index:
        """Open a saved index, mapped into memory; `verify=False` skips the checksums."""
        arrays, meta = persist.load(path, verify)

        def group(name: str) -> dict[str, np.ndarray]:
            return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(name + ".")}

        index = cls(meta["engine"], Schema(meta["schema"]))
        attributes = saved.restored_attributes(meta["attributes"], group("dictionaries"))
        index._store.restore(group("store"), attributes, meta["registers"], meta["version"])
        index._ids = Ids.restored(group("ids"))
        texts = group("texts")
        index._texts = Texts(texts["start"], texts["data"])
        index._engine.restore(group("engine"))
        index._publish()
        return index


def _expression(id_: Id, given: Subscription) -> Expr:
    try:
        if isinstance(given, str):
            return parse(given)
        if isinstance(given, (Mapping, bool)):
            return from_json(given)
        return as_expr(given)
    except ParseError as error:
        raise ParseError(f"subscription {id_!r}: {error.message}", error.text, error.position) from None
    except ExpressionError as error:
        raise ExpressionError(f"subscription {id_!r}: {error}") from None
    except TypeError as error:
        raise ExpressionError(f"subscription {id_!r}: {error}") from None


def as_table_or_dicts(events: Any) -> pa.Table | Iterable[Mapping[str, Any]]:
    """Events in columns as an Arrow table; others as they are."""
    if isinstance(events, pa.RecordBatchReader):
        return events.read_all()
    if isinstance(events, pa.Table | pa.RecordBatch) or hasattr(events, "__arrow_c_stream__"):
        try:
            return pa.table(events)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            # A pandas column of mixed types has no Arrow type: its rows are read as dicts.
            if hasattr(events, "to_dict"):
                rows: list[Mapping[str, Any]] = events.to_dict("records")
                return rows
            raise
    if isinstance(events, Mapping | str | bytes) or not isinstance(events, Iterable):
        raise EventError("events are a list of dicts or a table; for a single event use match()")
    return events
