"""`Index`: standing expressions in, the ids of those an event satisfies out."""

from __future__ import annotations

import copy
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import pyarrow as pa

from tellwhen import background
from tellwhen.compaction import Compaction
from tellwhen.compile.attributes import Attributes
from tellwhen.encode.batches import encoded_batches
from tellwhen.encode.events import EventEncoder
from tellwhen.encode.frames import as_table_or_dicts
from tellwhen.engines import engine_spec
from tellwhen.engines.base import Reader, Tier
from tellwhen.engines.shared.threads import cores, in_threads
from tellwhen.engines.shared.threads import match as match_in_threads
from tellwhen.errors import ArgumentError, IdError, ScoreError, TellwhenError, UnknownId, shown
from tellwhen.fit import Fit, fit
from tellwhen.ids import Id, Ids, IdType, checked
from tellwhen.kernels.arrays import F64, Events
from tellwhen.lang.ast import Expr
from tellwhen.lang.explain import Explanation
from tellwhen.lang.parser import parse_stored
from tellwhen.lang.read import Given
from tellwhen.lang.values import flatten
from tellwhen.memory_limit import MemoryLimit
from tellwhen.persistence import directory
from tellwhen.plan import Plan, plan
from tellwhen.profile import Profile
from tellwhen.ranking import Best, best, checked_factors, checked_k, joined
from tellwhen.recent import Recent
from tellwhen.relaxed.index import View
from tellwhen.schema import Schema
from tellwhen.shard import Shard, ShardMark
from tellwhen.slots import SlotsById
from tellwhen.subscriptions import Rejected, rows_of
from tellwhen.upkeep import ShardUpkeep, engine_upkeep
from tellwhen.warehouse.opening import open_any

COMPACT_AT_ONCE = 10_000
"""Up to this many subscriptions are compacted within a change; more of them in the background, if there are texts."""

KEEP_UP_EVERY = 64
"""So many rankings look whether there is something to do in the background: perhaps it was put off, and nothing has
changed since."""

TRIES = 2
"""How often it is tried to rank while scores change, before it is done while none may change."""

Found = TypeVar("Found")

HANDOVER_SECONDS = 0.0005
"""A change sleeps for this long when the background thread waits for the lock. Otherwise a thread that makes one change
after the other would always take the lock again before the background thread gets it."""


class _State(NamedTuple):
    """All that matching needs, as it was after one change. Replaced as a whole, so that every match is consistent."""

    shard: Shard
    reader: Reader
    attributes: Attributes
    ids: Ids
    id_type: IdType
    length: int
    slots: int
    version: int
    view: View

    def most(self, k: int) -> int:
        """How many results there can be, of k that are wanted."""
        return min(k, max(1, self.length))

    def alive(self) -> list[int]:
        """The slots that are not removed."""
        return self.shard.store.alive(self.slots, self.version).tolist()


def _state(shard: Shard) -> _State:
    ids, engine = shard.ids, shard.engines
    store = shard.store
    facts = ids, ids.type, len(engine), len(store), store.version
    return _State(shard, engine.reader(), store.attributes, *facts, View.of(store))


PARSED_MAX, LONG = 8_192, 16_384
"""Expressions kept parsed, so that asking for the same ones again is fast; unless they have that many characters."""

_kept = lru_cache(PARSED_MAX)(parse_stored)


def _parsed(text: str) -> Expr:
    return _kept(text) if len(text) < LONG else parse_stored(text)


class Index(Mapping[Id, Expr]):
    """Millions of standing expressions, matched against events. A mapping of ids to expressions.

    >>> import tellwhen as tw
    >>> index = tw.Index()
    >>> _ = index.add("cheap", "price < 20").add("classic", tw.col("genre") == "classics")
    >>> index.match({"price": 12, "genre": "classics"})
    ['cheap', 'classic']
    >>> index.match_many([{"price": 12}, {"price": 25, "genre": "classics"}]).to_pydict()
    {'event_id': [0, 1], 'subscription_id': ['cheap', 'classic']}

    Any number of threads may match while one at a time changes the index: a match sees the index before a change or
    after it, never in between. `engine` is the name of one of `tellwhen.list_engines()`, and takes its options as
    keywords: `Index("betree", max_cap=5)`, or in one string, `Index("betree:max_cap=5")`. `schema` declares types (see
    `Schema`). With a `profile` of the events to expect (see `Profile`), the engine chooses by it what to test first.
    With `texts=False` it forgets the texts of expressions, to save memory: it can match them, but not show them. A
    change after which the arrays of the index would take more bytes than `memory_limit` is refused, unless it is a
    removal; and where there is no room to merge what is new, `plan()` says so.
    """

    def __init__(
        self,
        engine: str = "auto",
        schema: Schema | Mapping[str, Any] | None = None,
        profile: Profile | None = None,
        *,
        texts: bool = True,
        memory_limit: int | None = None,
        **options: int,
    ) -> None:
        if profile is not None and not isinstance(profile, Profile):
            raise TellwhenError(f"a profile is a tellwhen.Profile, not {shown(profile)}; to show events, use observe()")
        self._memory_limit = MemoryLimit(memory_limit)
        # A copy: the user may go on adding to the profile.
        self._open(Shard.empty(engine_spec(engine, options), Schema.of(schema), copy.deepcopy(profile), texts))

    def _open(self, shard: Shard) -> None:
        self._schema = shard.store.schema
        self._state = _state(shard)
        self._undo: tuple[Shard, ShardMark] | None = None
        self._mismatches: Counter[str] = Counter()
        self._recent = Recent()
        self._rankings = 0  # about: several threads count
        self._renew_locks()
        _all.add(self)

    def _renew_locks(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self._counting = threading.Lock()
        self._upkeep: threading.Thread | None = None  # that works in the background
        self._is_waiting = False  # does it wait for the lock?

    # changing

    def add(
        self,
        id: Id,
        expression: Given,
        *,
        score: float | None = None,
        weights: Mapping[str, float] | None = None,
        replace: bool = False,
    ) -> Index:
        """Add a subscription: text, an expression, or its JSON form. A taken id is an error unless `replace`.

        `top_k` ranks by the `score` or, relaxed, by the `weights` of attributes. What replaces another one has its own
        score and weights, and counts as added last.
        """
        return self.add_many([(id, expression, score, weights)], replace=replace)

    @overload
    def add_many(self, subscriptions: Any, *, replace: bool = False, errors: Literal["raise"] = "raise") -> Index: ...

    @overload
    def add_many(
        self, subscriptions: Any, *, replace: bool = False, errors: Literal["quarantine"]
    ) -> list[Rejected]: ...

    def add_many(
        self, subscriptions: Any, *, replace: bool = False, errors: Literal["raise", "quarantine"] = "raise"
    ) -> Index | list[Rejected]:
        """Add many at once: all of them, or none when one is faulty. They become visible together.

        They are a mapping from ids to expressions; or tuples of an id and an expression, which a score may follow, and
        weights; or a table with columns of these names: Arrow, pandas or polars.

        With `errors="quarantine"` all good ones are added, and the others returned: each with its id, the position of
        what is wrong, and the reason.

        >>> import tellwhen as tw
        >>> tw.Index().add_many({"a": "x > 1", "b": "x > 'one"}, errors="quarantine")
        [Rejected(id='b', expression="x > 'one", position=4,
                  reason="this string is never closed; a quote inside is written ''")]
        """
        if errors not in ("raise", "quarantine"):
            raise ArgumentError(f"errors is 'raise' or 'quarantine', not {shown(errors)}")
        rows = rows_of(subscriptions)
        rejected: list[Rejected] = []
        with self._changing() as shard:
            shard.add(rows, replace, rejected if errors == "quarantine" else None)
        return rejected if errors == "quarantine" else self

    def set_score(self, id: Id, score: float) -> Index:
        """Change what a subscription is worth. Nothing is built again."""
        return self.set_scores({checked(id): score})

    def set_scores(self, scores: Mapping[Id, float]) -> Index:
        """Change many scores at once: all of them, or none when an id is unknown. They become visible together."""
        if not isinstance(scores, Mapping):
            raise ScoreError(f"set_scores takes a mapping from ids to scores, such as dict(pairs), not {shown(scores)}")
        with self._whole() as shard:
            self._memory_limit.refuse_more(shard, shard.store.scores.room_for(len(shard.store)))
            shard.rescore(scores)
            self._keep_up()
        return self

    def remove(self, id: Id) -> Index:
        """Remove a subscription; a KeyError when there is none of that id."""
        return self.remove_many([id])

    def remove_many(self, ids: Iterable[Id]) -> Index:
        """Remove many at once: all of them, or none when one is unknown."""
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise IdError(f"remove_many takes ids, not {shown(ids)}; remove() takes one")
        with self._changing(is_removal=True) as shard:
            shard.remove(ids)
        return self

    def discard(self, id: Id) -> Index:
        """Remove a subscription if there is one of that id."""
        with self._changing(is_removal=True) as shard:
            if checked(id) in shard.slots:
                shard.remove([id])
        return self

    def rebuild(self) -> Index:
        """Build the engine's structures again, now. It happens by itself as subscriptions come and go."""
        with self._changing() as shard:
            shard.rebuild()
        return self

    def observe(self, events: Any) -> Index:
        """Add typical events, in any form that `match_many` takes, to the profile, and rebuild the engine for them.

        By its profile an engine chooses what to test first; without one it guesses from the subscriptions. Answers do
        not depend on it. It is saved with the index.

        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x = 1").observe([{"x": 1}, {"y": 2}]).observe([{"x": 3}])
        >>> index.profile.event_frequency["x"]
        0.6666666666666666
        """
        observed = Profile.of_events(events)
        with self._changing() as shard:
            shard.observe(observed)
        return self

    def adapt(self) -> Index:
        """Choose again what to test first, by a sample of recently matched events, which replaces the profile.

        The default engine does it in the background, other engines at once.
        """
        recent = self._recent.profile()
        if not recent.events:
            raise TellwhenError("no events were matched yet; match some first, or show typical ones to observe()")
        with self._changing() as shard:
            shard.adapt(recent)
        return self

    @property
    def profile(self) -> Profile:
        """A copy of the statistics that the engine chooses by: what the index began with, and what `observe` added."""
        return copy.deepcopy(self._shard.profile)

    @contextmanager
    def _changing(self, is_removal: bool = False) -> Iterator[Shard]:
        """One change at a time, published at its end; an iterator that changes the index it feeds is refused.

        A removal is never refused for the memory that it takes.
        """
        if self._is_waiting:
            time.sleep(HANDOVER_SECONDS)
        with self._lock:
            if self._busy:
                raise TellwhenError("the index is in the middle of a change made by this very thread")
            try:
                self._busy = True
                self._take_back()  # what is left of an earlier change, if an interrupt came while it was taken back
                shard = self._shard
                before = self._memory_limit.taken(shard)
                self._undo = shard, shard.mark()
                yield shard
                is_compacted = shard.is_sparse and (len(shard.engines) <= COMPACT_AT_ONCE or not shard.has_texts)
                if is_compacted or (not is_removal and self._memory_limit.is_worth_compacting(shard)):
                    shard = shard.copying()()
                if not is_removal:
                    self._memory_limit.refuse_growth(shard, before)
                self._state = _state(shard)
                self._undo = None
            except BaseException:
                self._take_back()
                raise
            finally:
                self._busy = False
            self._keep_up()

    @contextmanager
    def _whole(self) -> Iterator[Shard]:
        """The shard, with no change in the middle of it: to be written, copied or counted."""
        with self._lock:
            if self._busy:
                raise TellwhenError("the index is in the middle of a change made by this very thread; wait for its end")
            # An interrupt while a change was taken back, or a fork while another thread made one, may have left it.
            self._take_back()
            yield self._shard

    def _take_back(self) -> None:
        if self._undo is not None:
            shard, mark = self._undo
            shard.rewind(mark)
            self._state = _state(shard)
            self._undo = None

    @property
    def _shard(self) -> Shard:
        return self._state.shard

    # keeping up, in a thread of its own (`background.py`)

    def _keep_up(self) -> None:
        """Start the thread if there is something for it to do, unless it is at work. With the lock: else it might end
        before it is noted."""
        if self._upkeep is None or not self._upkeep.is_alive():
            shard = self._shard
            is_due = shard.is_sparse or shard.engines.is_due()
            if is_due and self._memory_limit.has_room_to_build(shard):
                self._upkeep = background.start(self._next_upkeep, self._finish_upkeep)

    def _keep_up_unless_busy(self) -> None:
        """The same from a thread that must not wait for a change."""
        if self._lock.acquire(blocking=False):
            try:
                if not self._busy:
                    self._keep_up()
            finally:
                self._lock.release()

    @contextmanager
    def _waiting(self) -> Iterator[Shard]:
        self._is_waiting = True
        with self._whole() as shard:
            self._is_waiting = False
            yield shard

    def _next_upkeep(self) -> ShardUpkeep | None:
        with self._waiting() as shard:
            work: ShardUpkeep | None = None
            if self._memory_limit.has_room_to_build(shard):
                work = Compaction(shard) if shard.is_sparse else engine_upkeep(shard)
            if work is None:
                self._upkeep = None
            return work

    def _finish_upkeep(self, work: ShardUpkeep) -> bool:
        with self._waiting() as shard:
            if work.shard is not shard:
                return True  # another shard has taken its place: the work is useless
            is_done = work.finish()
            if work.result is not None:
                self._state = _state(work.result)
            return is_done

    # matching

    def match(self, event: Mapping[str, Any]) -> list[Id]:
        """The ids of all subscriptions that are true for the event, in the order they were added."""
        state = self._state
        slots = state.reader.match(self._encoded(event, state)).slot
        if len(slots) > 1:
            slots.sort()
        return state.ids.of(slots, state.id_type)

    def match_many(self, events: Any, *, threads: int | None = None) -> pa.Table:
        """All matches of many events, as a table of `event_id` (its position) and `subscription_id`.

        Events are a list of dicts, or a table: Arrow, pandas, polars, or anything that speaks Arrow. A table has a
        column per attribute, or a single map column. The matches of an event come in no particular order. It uses all
        processors, or at most as many as there may be `threads`.
        """
        threads = _checked_threads(threads)
        events = as_table_or_dicts(events)
        state = self._state
        numbers, ids = [], []
        offset = 0
        for encoded, mismatches in encoded_batches(events, state.attributes, self._schema):
            if mismatches:
                self._count(mismatches)
            start, slot = match_in_threads(state.reader, encoded, threads)
            numbers.append(pa.array(np.repeat(np.arange(offset, offset + len(start) - 1), np.diff(start))))
            ids.append(state.ids.column(slot, state.id_type))
            offset += len(start) - 1
        self._recent.note_many(events)  # none is faulty
        if not ids:
            numbers, ids = [pa.array([], pa.int64())], [state.ids.column(np.zeros(0, dtype=np.int32), state.id_type)]
        return pa.table({"event_id": pa.chunked_array(numbers), "subscription_id": pa.chunked_array(ids)})

    def count(self, event: Mapping[str, Any]) -> int:
        """How many subscriptions are true for the event."""
        state = self._state
        return len(state.reader.match(self._encoded(event, state)).slot)

    def any(self, event: Mapping[str, Any]) -> bool:
        """Is any subscription true for the event? Ends at the first one that is found."""
        state = self._state
        encoded = self._encoded(event, state)
        tiers = state.reader.tiers(state.shard.store.scores.changes)
        return any(len(tier.reader.match(encoded).slot) for tier in tiers)

    def _encoded(self, event: Mapping[str, Any], state: _State) -> Events:
        encoder = EventEncoder(state.attributes, self._schema)
        encoder.add(event)
        self._recent.note(event)
        if encoder.mismatches:
            self._count(encoder.mismatches)
        return encoder.finish()

    # ranking

    def top_k(
        self,
        event: Mapping[str, Any],
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[Id, float]]:
        """The k best subscriptions that are true for the event, with their scores: the highest first and, of equal
        ones, the one that was added first.

        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x > 1", score=2).add("b", "x > 2", score=3.5).add("c", "x > 9", score=7)
        >>> index.top_k({"x": 5}, k=1)
        [('b', 3.5)]
        >>> index.set_score("a", 4).top_k({"x": 5})
        [('a', 4.0), ('b', 3.5)]

        With `relaxed` not all of a subscription need be true. Each of its attributes counts by itself, with everything
        else left out of the expression, and the score is the sum of the weights of those that are true: the weights
        that the subscription was added with, or 1 each. `weights` are the event's: they multiply those of the same
        attributes. See LANGUAGE.md.

        >>> index = tw.Index().add("a", "age > 20 AND income > 50", weights={"age": 0.3, "income": 0.7})
        >>> index.top_k({"age": 30, "income": 10}, relaxed=True)
        [('a', 0.3)]
        >>> index.top_k({"age": 30, "income": 10}, relaxed=True, weights={"age": 10})
        [('a', 3.0)]
        """
        k, factors = checked_k(k), checked_factors(weights, relaxed)
        self._rankings += 1
        if self._rankings % KEEP_UP_EVERY == 0:
            self._keep_up_unless_busy()
        if relaxed:
            state = self._state
            found = state.shard.relaxed.best(state.view, self._encoded(event, state), state.most(k), factors)
        else:
            state, found = self._at_one_moment(lambda state: self._best(state, event, k))
        return list(zip(state.ids.of(found.slot, state.id_type), found.score.tolist(), strict=True))

    def _best(self, state: _State, event: Mapping[str, Any], k: int) -> Best:
        scores = state.shard.store.scores
        return best(state.reader.tiers(scores.changes), self._encoded(event, state), state.most(k), scores.score)

    def _at_one_moment(self, run: Callable[[_State], Found]) -> tuple[_State, Found]:
        """What comes of a state and its scores, if these do not change meanwhile; if they do, once more, while no score
        changes."""
        for _ in range(TRIES):
            scores = self._shard.store.scores
            before = scores.changes
            state = self._state
            if before & 1 or state.shard.store.scores is not scores:
                continue
            found = run(state)
            if scores.changes == before:
                return state, found
        with self._lock:
            return self._state, run(self._state)

    def top_k_many(
        self,
        events: Any,
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
        threads: int | None = None,
    ) -> pa.Table:
        """The k best of each of many events, as a table of `event_id` (its position), `rank` (from 1 on),
        `subscription_id` and `score`. Events and `threads` as in `match_many`, all else as in `top_k`."""
        threads, k, factors = _checked_threads(threads), checked_k(k), checked_factors(weights, relaxed)
        events = as_table_or_dicts(events)
        state, run = self._ranking(k, relaxed, factors)
        parts, offset = [], 0
        for encoded, mismatches in encoded_batches(events, state.attributes, self._schema):
            if mismatches:
                self._count(mismatches)
            found = joined(in_threads(run, encoded, threads))
            count = len(found.start) - 1
            number = np.repeat(np.arange(count), np.diff(found.start))
            rank = np.arange(1, len(number) + 1) - found.start[number]
            parts.append((number + offset, rank, state.ids.column(found.slot, state.id_type), found.score))
            offset += count
        self._recent.note_many(events)  # none is faulty
        nothing = np.zeros(0, dtype=np.int64)
        parts = parts or [(nothing, nothing, state.ids.column(nothing.astype(np.int32), state.id_type), np.zeros(0))]
        columns = [pa.chunked_array([pa.array(part[column]) for part in parts]) for column in range(4)]
        return pa.table(columns, names=["event_id", "rank", "subscription_id", "score"])

    def _ranking(self, k: int, relaxed: bool, factors: Mapping[str, float]) -> tuple[_State, Callable[[Events], Best]]:
        """What ranks events, all by the scores of this moment."""
        if relaxed:
            state = self._state
            return state, lambda some: state.shard.relaxed.best(state.view, some, state.most(k), factors)

        def taken(state: _State) -> tuple[list[Tier], F64]:
            scores = state.shard.store.scores
            return state.reader.tiers(scores.changes), scores.score.copy()

        state, (tiers, scores) = self._at_one_moment(taken)
        return state, lambda some: best(tiers, some, state.most(k), scores)

    def score(self, id: Id) -> float:
        """What a subscription is worth."""
        shard, slot = self._located(id)
        return float(shard.store.scores.of(np.array([slot]))[0])

    def weights(self, id: Id) -> dict[str, float]:
        """The weights that a subscription was given."""
        shard, slot = self._located(id)
        return shard.store.scores.weights_of(slot)

    def unmatched_attributes(self, events: Any) -> Fit:
        """Which attributes do subscriptions ask for that none of these events has, or only with values of another type?

        >>> import tellwhen as tw
        >>> print(tw.Index().add(1, "price < 20 AND city = 'Rome'").unmatched_attributes([{"Price": 12, "city": 5}]))
        1 events, 1 attributes that nobody asks for
        no event has price; did you mean Price?
        city: 1 values of a wrong type

        Nothing is matched, and nothing counted in `stats()`. Events in any form that `match_many` takes.
        """
        return fit(events, self._state.attributes, self._schema)

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
            return checked(id) in self._slots()  # type: ignore[arg-type]
        except IdError:
            return False

    def __getitem__(self, id: Id) -> Expr:
        shard, slot = self._located(id)
        return _parsed(shard.texts[slot])

    def _located(self, id: Id) -> tuple[Shard, int]:
        shard = self._shard
        slot = self._slots(shard).get(checked(id))
        if slot is None:
            raise UnknownId(f"there is no subscription {id!r}")
        return shard, slot

    def get(self, id: Id, default: Any = None) -> Any:
        """The expression, or the default where there is no subscription of that id."""
        try:
            return self[id]
        except (UnknownId, IdError):
            return default

    def texts(self) -> Iterator[tuple[Id, str]]:
        """All ids with the texts of their expressions, nothing parsed: to list or export millions."""
        state = self._state
        for slot in state.alive():
            yield state.ids[slot], state.shard.texts[slot]

    # An index is a place, not a value: two are equal only if they are the same.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Id]:
        state = self._state
        return iter([state.ids[slot] for slot in state.alive()])

    def _slots(self, shard: Shard | None = None) -> SlotsById:
        shard = shard or self._shard
        known = shard.known_slots  # read once: another thread may undo a change
        if known is not None:
            return known
        with self._lock:  # made when first asked for
            return shard.slots

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, engine {self._shard.engine.spec}>"

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
        found = {a.shown: " or ".join(sorted(a.families)) for a in used.values()}
        return found | self._schema.types

    def plan(self) -> Plan:
        """What the engine has chosen for how many subscriptions, and what it costs: print it.

        >>> import tellwhen as tw
        >>> print(tw.Index().add(1, "x = 1").plan())
        auto: 1 subscription
                    1  are pending: tested one by one until they are merged
        candidates per event: expected not known without a profile, observed none yet
        """
        with self._whole() as shard:
            return plan(shard, self._memory_limit.has_room_to_build(shard))

    def stats(self) -> dict[str, Any]:
        """Sizes in bytes and counts: of the engine, of the store it reads, and of event values of a wrong type."""
        with self._whole() as shard:
            store, engine = shard.store, shard.engine
            return {
                "engine": engine.spec,
                "subscriptions": len(self),
                "attributes": len(store.attributes.by_name),
                "domains": len(store.attributes.domains),
                "predicates": len(store.snapshot().predicates.domain),
                "bytes": shard.bytes(),
                "mismatches": dict(self._mismatches),
                engine.name: shard.engines.stats(),
            }

    # keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a directory; a kill on the way leaves what was there before."""
        with self._whole() as shard:
            arrays, meta = shard.parts()
            directory.save(path, arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True, memory_limit: int | None = None) -> Index:
        """Open a saved index, mapped into memory; `verify=False` skips the checksums.

        The `memory_limit` is not saved with an index: give it again, as to `Index`. A larger index is refused.

        Also opens what Spark has built: the current version of an index as a whole, or a single shard of it. This is
        then an index in this process: `tellwhen.spark.update` changes the one on disk.
        """
        index = cls.__new__(cls)
        index._memory_limit = MemoryLimit(memory_limit)
        shard = open_any(path, verify)
        index._memory_limit.refuse_growth(shard)
        index._open(shard)
        return index

    def __getstate__(self) -> dict[str, Any]:
        """For copy, deepcopy and pickle: arrays of its own, and what is no array."""
        with self._whole() as shard:
            arrays, meta = shard.parts()
            copied = {part: {name: np.array(array) for name, array in named.items()} for part, named in arrays.items()}
            own = {"mismatches": Counter(self._mismatches), "memory_limit": self._memory_limit.bytes}
            return {"arrays": copied, "meta": meta, **own}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._memory_limit = MemoryLimit(state["memory_limit"])
        self._open(Shard.of_parts(state["arrays"], state["meta"]))
        self._mismatches = state["mismatches"]


def _checked_threads(threads: int | None) -> int:
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ArgumentError(f"threads is a whole number from 1 on, not {shown(threads)}")
    return cores() if threads is None else threads


_all: weakref.WeakSet[Index] = weakref.WeakSet()


def _renew_locks_in_child() -> None:
    # Another thread may have been in the middle of a change. It is not in the child, and would never let go of the
    # lock; what it left half done is taken back by the next change.
    for index in _all:
        index._renew_locks()
        index._shard.__dict__.pop("relaxed", None)  # another thread may have held its lock


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks_in_child)
