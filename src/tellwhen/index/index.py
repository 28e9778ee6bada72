"""`Index`: standing expressions in, the ids of those an event satisfies out."""

from __future__ import annotations

import copy
import logging
import os
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Any, Literal, TypeVar, overload

import numpy as np
import pyarrow as pa

from tellwhen.encode.computed import taken_families
from tellwhen.encode.events import EventEncoder
from tellwhen.engines import engine_spec
from tellwhen.engines.base import Reader, Tier
from tellwhen.engines.shared.top_k import Best, best, checked_factors, checked_k
from tellwhen.errors import ArgumentError, IdError, ScoreError, TellwhenError, UnknownId, abbreviate
from tellwhen.index import exchange
from tellwhen.index.ids import Id, validate_id
from tellwhen.index.maintenance.memory_limit import MemoryLimit
from tellwhen.index.matching import GivenEvents, Matching, checked_payload, checked_threads
from tellwhen.index.mismatches import Mismatches, told
from tellwhen.index.payloads import Filtered, checked_where
from tellwhen.index.sampling import Recent
from tellwhen.index.shard import Shard
from tellwhen.index.state import Contents, State
from tellwhen.index.subscriptions import Rejected, iter_subscriptions
from tellwhen.inspect.heaviest import Heavy, heaviest
from tellwhen.inspect.mentions import ANYTHING, mentioning
from tellwhen.inspect.plan import Plan, plan
from tellwhen.inspect.unmatched import Fit, count_attributes, fit, missing_in
from tellwhen.kernels.arrays import F64, Events
from tellwhen.language.ast import Expr
from tellwhen.language.compute import names_in, term_of
from tellwhen.language.explain import Explanation
from tellwhen.language.parser import parse_stored
from tellwhen.language.read import Given
from tellwhen.language.schema import Schema
from tellwhen.language.terms import is_computed, is_lacking
from tellwhen.language.values import flatten
from tellwhen.persistence import directory
from tellwhen.profile import Profile
from tellwhen.warehouse.opening import open_any

log = logging.getLogger("tellwhen")

Found = TypeVar("Found")

Where = Mapping[str, Any] | None
"""What payloads must have: by name a value, or a list of values of which any will do."""

KEEP_UP_EVERY = 64
"""So many rankings look whether there is something to do in the background: perhaps it was put off, and nothing has
changed since."""

PARSED_MAX, LONG = 8_192, 16_384
"""Expressions kept parsed, so that asking for the same ones again is fast; unless they have that many characters."""

_kept = lru_cache(PARSED_MAX)(parse_stored)


def _parsed(text: str) -> Expr:
    return _kept(text) if len(text) < LONG else parse_stored(text)


class _Items(ItemsView[Id, Expr]):
    """Those of a plain mapping would look up id after id, and another thread may remove one meanwhile."""

    _mapping: Index

    def __iter__(self) -> Iterator[tuple[Id, Expr]]:
        return ((id_, _parsed(text)) for id_, text in self._mapping.texts())


class _Values(ValuesView[Expr]):
    _mapping: Index

    def __iter__(self) -> Iterator[Expr]:
        return (_parsed(text) for _, text in self._mapping.texts())


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
            raise TellwhenError(
                f"a profile is a tellwhen.Profile, not {abbreviate(profile)}; to show events, use observe()"
            )
        # A copy: the user may go on adding to the profile.
        shard = Shard.empty(engine_spec(engine, options), Schema.of(schema), copy.deepcopy(profile), texts)
        self._open(shard, MemoryLimit(memory_limit))

    def _open(self, shard: Shard, limit: MemoryLimit) -> None:
        self._schema = shard.store.schema
        self._contents = Contents(shard, limit)
        self._recent = Recent()
        self._rankings = 0  # about: several threads count
        self._told: set[str] = set()  # attributes that recent events lack

    @property
    def _shard(self) -> Shard:
        return self._contents.shard

    # changing

    def add(
        self,
        id: Id,
        expression: Given,
        *,
        score: float | None = None,
        weights: Mapping[str, float] | None = None,
        payload: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Index:
        """Add a subscription: text, an expression, or its JSON form. A taken id is an error unless `replace`.

        `top_k` ranks by the `score` or, relaxed, by the `weights` of attributes. The `payload`, a JSON object of your
        own, is returned with matches, which can be filtered by it. What replaces another one has its own score,
        weights and payload, and counts as added last.
        """
        return self.add_many([(id, expression, score, weights, payload)], replace=replace)

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

        They are a mapping from ids to expressions; or tuples of an id and an expression, which a score, weights and a
        payload may follow; or a table with columns of these names: Arrow, pandas or polars.

        With `errors="quarantine"` all good ones are added, and the others returned: each with its id, the position of
        what is wrong, and the reason.

        >>> import tellwhen as tw
        >>> tw.Index().add_many({"a": "x > 1", "b": "x > 'one"}, errors="quarantine")
        [Rejected(id='b', expression="x > 'one", position=4,
                  reason="this string is never closed; a quote inside is written ''")]
        """
        if errors not in ("raise", "quarantine"):
            raise ArgumentError(f"errors is 'raise' or 'quarantine', not {abbreviate(errors)}")
        rows = iter_subscriptions(subscriptions)
        rejected: list[Rejected] = []
        with self._contents.changing() as shard:
            shard.add(rows, replace, rejected if errors == "quarantine" else None)
        return rejected if errors == "quarantine" else self

    def set_score(self, id: Id, score: float) -> Index:
        """Change what a subscription is worth. Nothing is built again."""
        return self.set_scores({validate_id(id): score})

    def set_scores(self, scores: Mapping[Id, float], *, missing: Literal["raise", "ignore"] = "raise") -> Index:
        """Change many scores at once: all of them, or none when an id is unknown. They become visible together.

        With `missing="ignore"` ids that are not there are left out: another thread may have removed them.
        """
        if missing not in ("raise", "ignore"):
            raise ArgumentError(f"missing is 'raise' or 'ignore', not {abbreviate(missing)}")
        if not isinstance(scores, Mapping):
            raise ScoreError(
                f"set_scores takes a mapping from ids to scores, such as dict(pairs), not {abbreviate(scores)}"
            )
        with self._contents.whole() as shard:
            self._contents.limit.refuse_more(shard, shard.store.scores.room_for(len(shard.store)))
            if missing == "ignore":
                scores = {id_: score for id_, score in scores.items() if validate_id(id_) in shard.slots}
            shard.rescore(scores)
            self._contents.keep_up()
        return self

    def remove(self, id: Id) -> Index:
        """Remove a subscription; a KeyError when there is none of that id."""
        return self.remove_many([id])

    def remove_many(self, ids: Iterable[Id]) -> Index:
        """Remove many at once: all of them, or none when one is unknown."""
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise IdError(f"remove_many takes ids, not {abbreviate(ids)}; remove() takes one")
        with self._contents.changing(is_removal=True) as shard:
            shard.remove(ids)
        return self

    def discard(self, id: Id) -> Index:
        """Remove a subscription if there is one of that id."""
        with self._contents.changing(is_removal=True) as shard:
            if validate_id(id) in shard.slots:
                shard.remove([id])
        return self

    def rebuild(self) -> Index:
        """Build everything again, now, without what was removed. It happens by itself as subscriptions come and go."""
        with self._contents.changing(rebuilds=True):
            pass  # it is built at the end of the change
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
        with self._contents.changing() as shard:
            shard.observe(observed)
        return self

    def adapt(self) -> Index:
        """Choose again what to test first, by a sample of recently matched events, which replaces the profile.

        The default engine does it in the background, other engines at once.
        """
        recent = self._recent.profile()
        if not recent.events:
            raise TellwhenError("no events were matched yet; match some first, or show typical ones to observe()")
        with self._contents.changing() as shard:
            shard.adapt(recent)
        return self

    @property
    def profile(self) -> Profile:
        """A copy of the statistics that the engine chooses by: what the index began with, and what `observe` added."""
        return copy.deepcopy(self._shard.profile)

    # matching

    @overload
    def match(self, event: Mapping[str, Any], *, where: Where = None) -> list[Id]: ...

    @overload
    def match(
        self, event: Mapping[str, Any], *, where: Where = None, payload: Literal[True] | Sequence[str]
    ) -> list[tuple[Id, dict[str, Any]]]: ...

    def match(
        self, event: Mapping[str, Any], *, where: Where = None, payload: bool | Sequence[str] = False
    ) -> list[Any]:
        """The ids of all subscriptions that are true for the event, in the order they were added.

        `where` takes only those whose payload has these values: for each name a value, or a list of which any will do.
        With `payload=True`, pairs of an id and its payload; with a list of names, only these of it.

        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x > 1", payload={"tenant": 7}).add("b", "x > 2", payload={"tenant": 8})
        >>> index.match({"x": 5}, where={"tenant": 8})
        ['b']
        >>> index.match({"x": 5}, payload=True)
        [('a', {'tenant': 7}), ('b', {'tenant': 8})]
        """
        state = self._contents.state
        reader = state.reader if where is None else self._reader(state, where)
        slots = reader.match(self._encoded(event, state)).slot
        if len(slots) > 1:
            slots.sort()
        ids = state.ids.of(slots, state.id_type)
        if payload is False:
            return ids
        wanted = checked_payload(payload)
        payloads = [state.shard.payloads.of(slot) for slot in slots.tolist()]
        if not isinstance(wanted, bool):
            payloads = [{name: one.get(name) for name in wanted} for one in payloads]
        return list(zip(ids, payloads, strict=True))

    def match_many(
        self,
        events: Any,
        *,
        event_id: str | None = None,
        where: Where = None,
        payload: bool | Sequence[str] = False,
        threads: int | None = None,
    ) -> pa.Table:
        """All matches of many events, as a table of `event_id` (its position) and `subscription_id`.

        Events are a list of dicts, or a table: Arrow, pandas, polars, or anything that speaks Arrow. A table has a
        column per attribute, or a single map column. The matches of an event come in no particular order. It uses all
        processors, or at most as many as there may be `threads`.

        `event_id` names an attribute by whose value events are called instead of by their positions. `where` as in
        `match`. `payload=True` adds a column with the payloads as JSON, and a list of names a column for each of them:
        as JSON, too, if its values are of several types.
        """
        return pa.Table.from_batches(
            list(self.match_batches(events, event_id=event_id, where=where, payload=payload, threads=threads))
        )

    def match_batches(
        self,
        events: Any,
        *,
        event_id: str | None = None,
        where: Where = None,
        payload: bool | Sequence[str] = False,
        threads: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The same table in batches of about a million rows, made as they are asked for. All are of one moment."""
        wanted = checked_payload(payload)
        given, matching = GivenEvents(events, event_id), self._matching(where, threads)
        return self._noting(given, matching, matching.batches(given, wanted))

    def _noting(self, given: GivenEvents, matching: Matching, batches: Iterator[Found]) -> Iterator[Found]:
        yield from batches
        self._noted(matching.state, given.all)

    def count(self, event: Mapping[str, Any], *, where: Where = None) -> int:
        """How many subscriptions are true for the event."""
        state = self._contents.state
        return len(self._reader(state, where).match(self._encoded(event, state)).slot)

    def count_many(
        self,
        events: Any,
        *,
        by: Literal["event", "subscription"] = "event",
        event_id: str | None = None,
        where: Where = None,
        threads: int | None = None,
    ) -> pa.Table:
        """How many subscriptions are true for each event, as a table of `event_id` and `count`; or, by subscription,
        for how many of the events each is true, also if for none, as a table of `subscription_id` and `count`. All else
        as in `match_many`."""
        if by not in ("event", "subscription"):
            raise ArgumentError(f"by is 'event' or 'subscription', not {abbreviate(by)}")
        given = GivenEvents(events, event_id)
        matching = self._matching(where, threads)
        counts = matching.counts(given, by)
        self._noted(matching.state, given.all)
        return counts

    def exists(self, event: Mapping[str, Any], *, where: Where = None) -> bool:
        """Is any subscription true for the event? Ends at the first one that is found."""
        state = self._contents.state
        encoded = self._encoded(event, state)
        tiers = self._reader(state, where).tiers(state.shard.store.scores.changes)
        return any(len(tier.reader.match(encoded).slot) for tier in tiers)

    def _reader(self, state: State, where: Where) -> Reader:
        """What finds the slots whose payloads are wanted."""
        wanted = checked_where(where)
        if wanted is None:
            return state.reader
        return Filtered(state.reader, state.shard.payload_columns.filter(wanted, state.slots))

    def _matching(self, where: Where, threads: int | None) -> Matching:
        state = self._contents.state
        return Matching(state, self._reader(state, where), self._schema, checked_threads(threads), self._count)

    def _encoded(self, event: Mapping[str, Any], state: State) -> Events:
        encoder = EventEncoder(state.attributes, self._schema)
        encoder.add(event)
        self._recent.note(event)
        if self._recent.is_due:
            self._look(state)
        if encoder.mismatches:
            self._count(encoder.mismatches, state, event)
        return encoder.finish()

    def _noted(self, state: State, events: Any) -> None:
        """Events were matched, and none was faulty."""
        self._recent.note_many(events)
        if self._recent.is_due:
            self._look(state)

    def _look(self, state: State) -> None:
        """Log what subscriptions ask for and recent events lack, if they have something of a similar name instead."""
        missing, unused = missing_in(self._recent.carried(), state.asked())
        for name, near in missing.items():
            if near in unused and name not in self._told:
                self._told.add(name)
                log.warning(
                    "tellwhen: subscriptions ask for %s, which no recent event has; they have %s, which nobody asks "
                    "for; unmatched_attributes() tells more",
                    name,
                    near,
                )

    def _count(self, mismatches: Mapping[str, int], state: State, events: Any) -> None:
        self._contents.mismatches.add(mismatches, lambda name: told(name, state.attributes, events, self._schema))

    # ranking

    def top_k(
        self,
        event: Mapping[str, Any],
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
        where: Where = None,
    ) -> list[tuple[Id, float]]:
        """The k best subscriptions that are true for the event, with their scores: the highest first and, of equal
        ones, the one that was added first. `where` as in `match`.

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
        k, factors, wanted = checked_k(k), checked_factors(weights, relaxed), checked_where(where)
        self._rankings += 1
        if self._rankings % KEEP_UP_EVERY == 0:
            self._contents.keep_up_unless_busy()
        if relaxed:
            state = self._contents.state
            found = self._relaxed(state, k, factors, wanted)(self._encoded(event, state))
        else:
            state, found = self._contents.at_one_moment(lambda state: self._best(state, event, k, wanted))
        return list(zip(state.ids.of(found.slot, state.id_type), found.score.tolist(), strict=True))

    def _best(self, state: State, event: Mapping[str, Any], k: int, where: Where) -> Best:
        scores = state.shard.store.scores
        tiers = self._reader(state, where).tiers(scores.changes)
        return best(tiers, self._encoded(event, state), state.most(k), scores.score)

    def _relaxed(self, state: State, k: int, factors: Mapping[str, float], where: Where) -> Callable[[Events], Best]:
        view = state.view
        if where is not None:
            view = view.only(state.shard.payload_columns.filter(where, state.slots).keeps)
        return lambda events: state.shard.relaxed.best(view, events, state.most(k), factors)

    def top_k_many(
        self,
        events: Any,
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
        event_id: str | None = None,
        where: Where = None,
        threads: int | None = None,
    ) -> pa.Table:
        """The k best of each of many events, as a table of `event_id` (its position), `rank` (from 1 on),
        `subscription_id` and `score`. Events, `event_id` and `threads` as in `match_many`, all else as in `top_k`."""
        k, factors, wanted = checked_k(k), checked_factors(weights, relaxed), checked_where(where)
        given = GivenEvents(events, event_id)
        state, run = self._ranking(k, relaxed, factors, wanted)
        matching = Matching(state, state.reader, self._schema, checked_threads(threads), self._count)
        table = matching.ranked(given, run)
        self._noted(state, given.all)
        return table

    def _ranking(
        self, k: int, relaxed: bool, factors: Mapping[str, float], where: Where
    ) -> tuple[State, Callable[[Events], Best]]:
        """What ranks events, all by the scores of this moment."""
        if relaxed:
            state = self._contents.state
            return state, self._relaxed(state, k, factors, where)

        def taken(state: State) -> tuple[list[Tier], F64]:
            scores = state.shard.store.scores
            return self._reader(state, where).tiers(scores.changes), scores.score.copy()

        state, (tiers, scores) = self._contents.at_one_moment(taken)
        return state, lambda some: best(tiers, some, state.most(k), scores)

    def score(self, id: Id) -> float:
        """What a subscription is worth."""
        shard, slot = self._contents.located(id)
        return float(shard.store.scores.of(np.array([slot]))[0])

    def weights(self, id: Id) -> dict[str, float]:
        """The weights that a subscription was given."""
        shard, slot = self._contents.located(id)
        return shard.store.scores.weights_of(slot)

    def payload(self, id: Id) -> dict[str, Any]:
        """The payload that a subscription was given."""
        shard, slot = self._contents.located(id)
        return shard.payloads.of(slot)

    def payload_values(self, name: str, ids: Iterable[Id]) -> list[Any]:
        """One name in the payloads of many subscriptions; None where there is no such name, or no such subscription.

        A column of it is kept, so that no payload is read twice. Lists and dicts are those of the column: copy them
        before you change them.
        """
        state = self._contents.state
        find = self._contents.slots(state.shard).get
        return state.shard.payload_columns.some(name, [find(validate_id(id_)) for id_ in ids], state.slots)

    def unmatched_attributes(self, events: Any) -> Fit:
        """Which attributes do subscriptions ask for that none of these events has, or only with values of another type?

        >>> import tellwhen as tw
        >>> print(tw.Index().add(1, "price < 20 AND city = 'Rome'").unmatched_attributes([{"Price": 12, "city": 5}]))
        1 event, 1 attribute that nobody asks for
        no event has price; did you mean Price?
        city: 1 value of a wrong type

        Nothing is matched, and nothing counted in `stats()`. Events in any form that `match_many` takes.
        """
        state = self._contents.state
        return fit(count_attributes(events, state.attributes, self._schema), state.asked())

    def explain(self, id: Id, event: Mapping[str, Any]) -> Explanation:
        """Why the subscription matches the event, or why not: print it to see the tree."""
        return self[id].explain(self._schema.read_event(flatten(event)))

    # looking

    def __len__(self) -> int:
        return self._contents.state.length

    def __contains__(self, id: object) -> bool:
        try:
            return validate_id(id) in self._contents.slots(self._shard)  # type: ignore[arg-type]
        except IdError:
            return False

    def __getitem__(self, id: Id) -> Expr:
        shard, slot = self._contents.located(id)
        return _parsed(shard.texts[slot])

    def get(self, id: Id, default: Any = None) -> Any:
        """The expression, or the default where there is no subscription of that id."""
        try:
            return self[id]
        except (UnknownId, IdError):
            return default

    def items(self) -> ItemsView[Id, Expr]:
        """All ids with their expressions, of the moment when one begins to go through them."""
        return _Items(self)

    def values(self) -> ValuesView[Expr]:
        """All expressions, likewise."""
        return _Values(self)

    def text(self, id: Id) -> str:
        """The text of an expression, as it was given."""
        shard, slot = self._contents.located(id)
        return shard.texts[slot]

    def texts(self, *, start: Id | None = None) -> Iterator[tuple[Id, str]]:
        """All ids with the texts of their expressions, nothing parsed: to list or export millions. They come in the
        order they were added, beginning with the id `start` if it is given."""
        state = self._contents.state
        alive = state.alive()
        begin = 0
        if start is not None:
            slot = self._contents.slots(state.shard).get(validate_id(start))
            if slot is None:
                raise UnknownId(f"there is no subscription {start!r}, to begin with")
            begin = bisect_left(alive, slot)
        return ((state.ids[slot], state.shard.texts[slot]) for slot in alive[begin:])

    def mentioning(self, attribute: str | None = None, *, constant: Any = ANYTHING) -> list[Id]:
        """The ids of the subscriptions that mention an attribute, or compare something with a constant, or both.

        >>> import tellwhen as tw
        >>> index = tw.Index().add(1, "city = 'Rome'").add(2, "price * qty > 5 OR city = 'Oslo'").add(3, "price > 5")
        >>> index.mentioning("price"), index.mentioning("city", constant="Rome"), index.mentioning(constant=5)
        ([2, 3], [1], [2, 3])
        """
        state = self._contents.state
        return state.ids.of(mentioning(state, attribute, constant), state.id_type)

    # An index is a place, not a value: two are equal only if they are the same.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Id]:
        state = self._contents.state
        return iter([state.ids[slot] for slot in state.alive()])

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, engine {self._shard.engine.spec}>"

    @property
    def memory_limit(self) -> int | None:
        """How many bytes it may take. To set less than it takes is an error."""
        return self._contents.limit.bytes

    @memory_limit.setter
    def memory_limit(self, limit: int | None) -> None:
        new = MemoryLimit(limit)
        with self._contents.whole() as shard:
            new.refuse_growth(shard)
            self._contents.limit = new

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
        state = self._contents.state
        used = [state.attributes.by_name[name] for name in state.asked() if not is_lacking(name)]
        found = {a.shown: " or ".join(sorted(a.families)) for a in used}
        return found | self._schema.types

    @property
    def attributes(self) -> dict[str, str]:
        """What subscriptions ask of events, with the types: of a computed value, what it is computed from.

        >>> import tellwhen as tw
        >>> tw.Index().add(1, "price * qty > 5 AND lower(city) = 'rome'").add(2, "price < 3 OR cars[no > 3]").attributes
        {'price': 'number', 'qty': 'number', 'city': 'string', 'cars': 'any'}
        """
        state = self._contents.state
        found: dict[str, set[str]] = {}
        for name in state.asked():
            if is_computed(name):
                for part, family in taken_families(term_of(name)).items():
                    found.setdefault(part, set()).update([family] if family else [])
            else:
                found.setdefault(name, set()).update(state.attributes.by_name[name].families)
        return {name: " or ".join(sorted(types)) or "any" for name, types in found.items()} | self._schema.types

    @property
    def computed_from(self) -> set[str]:
        """The attributes of events of which something is computed."""
        names = filter(is_computed, self._contents.state.asked())
        return {part for name in names for part in names_in(name)}

    def plan(self) -> Plan:
        """What the engine has chosen for how many subscriptions, and what it costs: print it.

        >>> import tellwhen as tw
        >>> print(tw.Index().add(1, "x = 1").plan())
        auto: 1 subscription
                    1  are pending: tested one by one until they are merged
        candidates per event: expected not known without a profile, observed none yet
        """
        with self._contents.whole() as shard:
            return plan(shard, self._contents.limit.has_room_to_build(shard))

    def heaviest(self, count: int = 10) -> list[Heavy]:
        """The predicates that many subscriptions ask for and many events satisfy, the heaviest first.

        >>> import tellwhen as tw
        >>> index = tw.Index().add(1, "x = 1 AND y > 2.5").add(2, "x = 1").add(3, "y > 2.5").add(4, "y > 2.5")
        >>> index.heaviest(1)
        [Heavy(predicate='y > 2.5', subscriptions=3, events=None)]
        >>> index.observe([{"x": 1}, {"x": 1}, {"y": 2}]).heaviest(1)
        [Heavy(predicate='x = 1', subscriptions=2, events=0.667)]
        """
        with self._contents.whole() as shard:
            return heaviest(shard, count)

    def stats(self) -> dict[str, Any]:
        """Sizes in bytes and counts: of the engine, of the store it reads, and of event values of a wrong type.

        `unseen` are the attributes that subscriptions ask for and that none of the recently matched events has, each
        with a similar one that nobody asks for.
        """
        with self._contents.whole() as shard:
            store, engine = shard.store, shard.engine
            return {
                "engine": engine.spec,
                "subscriptions": len(self),
                "attributes": len(store.attributes.by_name),
                "domains": len(store.attributes.domains),
                "predicates": len(store.snapshot().predicates.domain),
                "bytes": shard.bytes(),
                "mismatches": self._contents.mismatches.as_dict(),
                "unseen": missing_in(seen, self._contents.state.asked())[0] if (seen := self._recent.carried()) else {},
                engine.name: shard.engines.stats(),
            }

    # keeping

    def merge(self, other: Index, *, replace: bool = False) -> Index:
        """Add all subscriptions of another index, with their scores, weights and payloads: all of them, or none if an
        id is taken, unless `replace`."""
        if not isinstance(other, Index):
            raise ArgumentError(f"merge takes an Index, not {abbreviate(other)}; add_many takes subscriptions")
        return self.add_many(exchange.rows(other._contents.state), replace=replace)

    def to_arrow(self) -> pa.Table:
        """All subscriptions in the order they were added, as a table of `id`, `expression`, `score`, `weights` and
        `payload`, which is JSON. `add_many` takes it."""
        return pa.concat_tables(exchange.tables(self._contents.state))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the same table to a Parquet file; a kill on the way leaves what was there before."""
        exchange.write_parquet(self._contents.state, path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], engine: str = "auto", **given: Any) -> Index:
        """An index of the subscriptions in a Parquet file, with the schema that `to_parquet` noted in it. All else as
        in `Index`.

        To sort faulty ones out: `tw.Index().add_many(pyarrow.parquet.read_table(path), errors="quarantine")`.
        """
        if "errors" in given:
            raise ArgumentError(
                "from_parquet adds all or none; add_many(pyarrow.parquet.read_table(path)) takes errors="
            )
        rows, declared = exchange.read_parquet(path)
        return cls(engine, **{"schema": declared, **given}).add_many(rows)

    def save(self, path: str | os.PathLike[str], *, note: Any = None) -> None:
        """Write the index to a directory; a kill on the way leaves what was there before.

        A `note` is JSON of your own about this state of the index, such as how far a queue of changes was read. It is
        saved with it at once; `saved_note(path)` returns it.
        """
        with self._contents.whole() as shard:
            arrays, meta = shard.parts()
            directory.save(path, arrays, meta | {"note": note})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True, memory_limit: int | None = None) -> Index:
        """Open a saved index, mapped into memory; `verify=False` skips the checksums.

        The `memory_limit` is not saved with an index: give it again, as to `Index`. A larger index is refused.

        Also opens what Spark has built: the current version of an index as a whole, or a single shard of it. This is
        then an index in this process: `tellwhen.spark.update` changes the one on disk.
        """
        index = cls.__new__(cls)
        limit = MemoryLimit(memory_limit)
        shard = open_any(path, verify)
        limit.refuse_growth(shard)
        index._open(shard, limit)
        return index

    def __getstate__(self) -> dict[str, Any]:
        """For copy, deepcopy and pickle: arrays of its own, and what is no array."""
        with self._contents.whole() as shard:
            arrays, meta = shard.parts()
            copied = {part: {name: np.array(array) for name, array in named.items()} for part, named in arrays.items()}
            own = {"mismatches": self._contents.mismatches.as_dict(), "memory_limit": self._contents.limit.bytes}
            return {"arrays": copied, "meta": meta, **own}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._open(Shard.of_parts(state["arrays"], state["meta"]), MemoryLimit(state["memory_limit"]))
        self._contents.mismatches = Mismatches(state["mismatches"])
