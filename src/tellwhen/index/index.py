"""`Index`, the facade: it holds standing expressions and returns the ids of those that an event satisfies."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa

from tellwhen.encode.events import EventEncoder
from tellwhen.engines import format_spec
from tellwhen.engines.base import Reader, Tier
from tellwhen.engines.shared.top_k import Best, find_best, validate_k, validate_weight_factors
from tellwhen.errors import ArgumentError, IdError, ScoreError, StateError, UnknownId, abbreviate
from tellwhen.index import deprecated, exchange
from tellwhen.index.ids import Id, validate_id
from tellwhen.index.maintenance.memory_limit import MemoryLimit
from tellwhen.index.matching import GivenEvents, Matching, checked_payload, checked_threads
from tellwhen.index.mismatches import Mismatches, told
from tellwhen.index.payloads import Filtered, checked_where
from tellwhen.index.sampling import Recent
from tellwhen.index.shard import Shard
from tellwhen.index.state import Contents, State
from tellwhen.index.subscriptions import Rejected, Subscription, iter_subscriptions
from tellwhen.index.views import ExpressionsView, SubscriptionsView, parse_cached
from tellwhen.inspect.attribute_coverage import find_missing_attributes
from tellwhen.inspect.inspection import Inspection
from tellwhen.kernels.arrays import F64, I32, Events
from tellwhen.language.ast import Expr
from tellwhen.language.explanation import Explanation
from tellwhen.language.reading import ExpressionInput
from tellwhen.language.schema import Schema
from tellwhen.language.values import flatten
from tellwhen.persistence import directory
from tellwhen.profile import Profile
from tellwhen.warehouse.opening import open_as_shard

log = logging.getLogger("tellwhen")

Batch = TypeVar("Batch")

Where = Mapping[str, Any] | None
"""Conditions on payloads: by key a value, or a list of values of which the payload must have one."""

MissingIds = Literal["raise", "ignore"]
"""What to do about unknown ids."""

RANKINGS_PER_UPKEEP_CHECK = 64
"""Check for due upkeep every 64 rankings: upkeep may have been postponed, and without changes nothing else checks."""


class Index(deprecated.DeprecatedMembers, Mapping[Id, Expr]):
    """Standing Boolean expressions to match against events: a mapping of ids to expressions.

    Any number of threads may match while one thread at a time changes the index. A match sees the index before a
    change or after it, never in between.

    Parameters
    ----------
    engine : str, default "auto"
        The name of an engine of `tellwhen.list_engines()`. Options follow as keywords, `Index("betree", max_cap=5)`, or
        in the same string, `Index("betree:max_cap=5")`.
    schema : Schema or mapping, optional
        Types of attributes.
    profile : Profile, optional
        Statistics of the events to expect. The engine decides by them what to test first; results do not depend on
        them.
    texts : bool, default True
        False saves memory: the index can match expressions, but cannot show them.
    memory_limit : int, optional
        Maximum size of the arrays of the index, in bytes. A change that would need more is refused, except for
        removals.
    **options : int
        Options of the engine.

    Examples
    --------
    >>> import tellwhen as tw
    >>> index = tw.Index()
    >>> _ = index.add("cheap", "price < 20").add("classic", tw.col("genre") == "classics")
    >>> index.match({"price": 12, "genre": "classics"})
    ['cheap', 'classic']
    >>> index.match_many([{"price": 12}, {"price": 25, "genre": "classics"}]).to_pydict()
    {'event_id': [0, 1], 'subscription_id': ['cheap', 'classic']}
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
            raise ArgumentError(
                f"profile must be a tellwhen.Profile, not {abbreviate(profile)}; optimize_for() takes events"
            )
        # A copy: the caller may go on adding to the profile.
        shard = Shard.empty(format_spec(engine, options), Schema.coerce(schema), copy.deepcopy(profile), texts)
        self._open(shard, MemoryLimit(memory_limit))

    def _open(self, shard: Shard, limit: MemoryLimit) -> None:
        self._schema = shard.store.schema
        self._contents = Contents(shard, limit)
        self._recent = Recent()
        self._inspection = Inspection(self._contents, self._schema, self._recent)
        self._rankings = 0  # approximate: several threads count
        self._reported_attributes: set[str] = set()

    @property
    def _shard(self) -> Shard:
        return self._contents.shard

    # Changes

    def add(
        self,
        id: Id,
        expression: ExpressionInput,
        *,
        score: float | None = None,
        weights: Mapping[str, float] | None = None,
        payload: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Index:
        """Add a subscription.

        Parameters
        ----------
        id : str or int
            The id that matches return.
        expression : str, Expr or mapping
            Text, an expression made with `col`, or its JSON form.
        score : float, optional
            The number that `top_k` ranks by; 0 by default.
        weights : mapping of str to float, optional
            Weights of attributes, by which `top_k(relaxed=True)` ranks; 1 by default.
        payload : mapping, optional
            A JSON object that is returned with matches and by which matches can be filtered.
        replace : bool, default False
            Whether to replace a subscription of the same id. Score, weights and payload are replaced as well, and the
            subscription counts as added last.

        Raises
        ------
        DuplicateId
            If a subscription has this id, unless `replace`.
        """
        return self.add_many([(id, expression, score, weights, payload)], replace=replace)

    def add_many(self, subscriptions: Any, *, replace: bool = False, errors: str = "raise") -> Index:
        """Add many subscriptions at once: all of them, or none if one is faulty. They become visible together.

        Parameters
        ----------
        subscriptions
            A mapping of ids to expressions; tuples of an id and an expression, which a score, weights and a payload may
            follow; or a table (Arrow, pandas or polars) with columns of these names.
        replace : bool, default False
            Whether to replace subscriptions of the same ids.
        errors : str
            Deprecated: use `add_valid`.
        """
        if errors != "raise":
            return deprecated.quarantine_errors(self, subscriptions, replace, errors)
        rows = iter_subscriptions(subscriptions)
        with self._contents.changing() as shard:
            shard.add(rows, replace)
        return self

    def add_valid(self, subscriptions: Any, *, replace: bool = False) -> list[Rejected]:
        """Add the valid ones of many subscriptions, in any form that `add_many` takes.

        Returns
        -------
        list of Rejected
            The faulty ones, each with its id, the reason, and the position of an error in its text.

        Examples
        --------
        >>> import tellwhen as tw
        >>> tw.Index().add_valid({"a": "x > 1", "b": "x > 'one"})
        [Rejected(id='b', expression="x > 'one", position=4,
                  reason="this string is never closed; a quote inside is written ''")]
        """
        rows = iter_subscriptions(subscriptions)
        rejected: list[Rejected] = []
        with self._contents.changing() as shard:
            shard.add(rows, replace, rejected)
        return rejected

    def set_score(self, id: Id, score: float) -> Index:
        """Set the score of a subscription. The engine is not rebuilt."""
        return self.set_scores({validate_id(id): score})

    def set_scores(self, scores: Mapping[Id, float], *, missing: MissingIds = "raise") -> Index:
        """Set many scores at once. They become visible together.

        Parameters
        ----------
        scores : mapping of id to float
            The new scores.
        missing : {"raise", "ignore"}, default "raise"
            Whether an unknown id raises UnknownId, and no score is set, or is passed over. Another thread may have
            removed it.
        """
        _validate_missing(missing)
        if not isinstance(scores, Mapping):
            raise ScoreError(
                f"set_scores takes a mapping from ids to scores, such as dict(pairs), not {abbreviate(scores)}"
            )
        with self._contents.whole() as shard:
            self._contents.limit.refuse_more(shard, shard.store.scores.compute_growth_bytes(len(shard.store)))
            if missing == "ignore":
                scores = {id_: score for id_, score in scores.items() if validate_id(id_) in shard.slots}
            shard.rescore(scores)
            self._contents.keep_up()
        return self

    def remove(self, id: Id) -> Index:
        """Remove a subscription; raise UnknownId, a KeyError, if no subscription has this id."""
        return self.remove_many([id])

    def remove_many(self, ids: Iterable[Id], *, missing: MissingIds = "raise") -> Index:
        """Remove many subscriptions at once.

        Parameters
        ----------
        ids : iterable of id
            The ids of the subscriptions.
        missing : {"raise", "ignore"}, default "raise"
            Whether an unknown id raises UnknownId, and nothing is removed, or is passed over.
        """
        _validate_missing(missing)
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise IdError(f"remove_many takes ids, not {abbreviate(ids)}; remove() takes one")
        with self._contents.changing(is_removal=True) as shard:
            if missing == "ignore":
                ids = dict.fromkeys(id_ for id_ in map(validate_id, ids) if id_ in shard.slots)
            shard.remove(ids)
        return self

    def discard(self, id: Id) -> Index:
        """Remove the subscription of this id, if there is one."""
        return self.remove_many([id], missing="ignore")

    def rebuild(self) -> Index:
        """Rebuild the engine now, without removed subscriptions.

        This is optional: the engine also rebuilds itself as subscriptions come and go.
        """
        with self._contents.changing(rebuilds=True):
            pass  # the end of the change rebuilds
        return self

    def optimize_for(self, events: Any) -> Index:
        """Add typical events to the profile and rebuild the engine for them.

        The engine decides by the profile what to test first; without one it guesses from the subscriptions. Results do
        not depend on it. The profile is saved with the index.

        Parameters
        ----------
        events
            Events in any form that `match_many` takes.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x = 1").optimize_for([{"x": 1}, {"y": 2}]).optimize_for([{"x": 3}])
        >>> index.profile.event_frequency["x"]
        0.6666666666666666
        """
        added = Profile.from_events(events)
        with self._contents.changing() as shard:
            shard.observe(added)
        return self

    def optimize_for_recent_events(self) -> Index:
        """Replace the profile by a sample of recently matched events, and rebuild the engine for it.

        The default engine is rebuilt in the background, the others at once.

        Raises
        ------
        StateError
            If no events were matched since the index was opened.
        """
        recent = self._recent.profile()
        if not recent.events:
            raise StateError("no events were matched yet; match some first, or call optimize_for() with typical events")
        with self._contents.changing() as shard:
            shard.adapt(recent)
        return self

    @property
    def profile(self) -> Profile:
        """A copy of the statistics by which the engine decides: those of the constructor and of `optimize_for`."""
        return copy.deepcopy(self._shard.profile)

    # Matching

    def match(
        self, event: Mapping[str, Any], *, where: Where = None, payload: bool | Sequence[str] = False
    ) -> list[Id]:
        """Return the ids of all subscriptions that are true for an event, in the order they were added.

        Parameters
        ----------
        event : mapping of str to value
            The attributes of the event.
        where : mapping, optional
            Match only subscriptions whose payloads have these values: by key a value, or a list of values of which the
            payload must have one.
        payload : bool or sequence of str
            Deprecated: use `match_with_payloads`.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x > 1", payload={"tenant": 7}).add("b", "x > 2", payload={"tenant": 8})
        >>> index.match({"x": 5})
        ['a', 'b']
        >>> index.match({"x": 5}, where={"tenant": 8})
        ['b']
        """
        if payload is not False:
            return deprecated.match_with_payload_argument(self, event, where, payload)
        state = self._contents.state
        return state.ids.of(self._match_slots(event, state, where), state.id_type)

    def match_with_payloads(
        self, event: Mapping[str, Any], *, where: Where = None, fields: Sequence[str] | None = None
    ) -> list[tuple[Id, dict[str, Any]]]:
        """Return the ids and payloads of all subscriptions that are true for an event, in the order they were added.

        Parameters
        ----------
        event, where
            As in `match`.
        fields : sequence of str, optional
            Keys of the payloads to return; all by default. A key that a payload lacks has the value None.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x > 1", payload={"tenant": 7, "to": "ann"}).add("b", "x > 2")
        >>> index.match_with_payloads({"x": 5})
        [('a', {'tenant': 7, 'to': 'ann'}), ('b', {})]
        >>> index.match_with_payloads({"x": 5}, fields=["to"])
        [('a', {'to': 'ann'}), ('b', {'to': None})]
        """
        if fields is not None and (isinstance(fields, str) or not all(isinstance(name, str) for name in fields)):
            raise ArgumentError(f"fields must be a list of payload keys, not {abbreviate(fields)}")
        state = self._contents.state
        slots = self._match_slots(event, state, where)
        payloads = [state.shard.payloads.of(slot) for slot in slots.tolist()]
        if fields is not None:
            payloads = [{name: one.get(name) for name in fields} for one in payloads]
        return list(zip(state.ids.of(slots, state.id_type), payloads, strict=True))

    def _match_slots(self, event: Mapping[str, Any], state: State, where: Where) -> I32:
        reader = state.reader if where is None else self._reader(state, where)
        slots = reader.match(self._encoded(event, state)).slot
        if len(slots) > 1:
            slots.sort()
        return slots

    def match_many(
        self,
        events: Any,
        *,
        event_id: str | None = None,
        where: Where = None,
        payload: bool | Sequence[str] = False,
        threads: int | None = None,
    ) -> pa.Table:
        """Match many events.

        Parameters
        ----------
        events
            A list of dicts, or a table (Arrow, pandas, polars or anything with the Arrow interface) with a column per
            attribute or a single map column.
        event_id : str, optional
            An attribute whose value identifies events in the result; by default the position does.
        where : mapping, optional
            As in `match`.
        payload : bool or sequence of str, default False
            True adds a column `payload` of JSON to the result, a list of keys a column for each key. The values of a
            key are JSON if they have several types.
        threads : int, optional
            Maximum number of threads; by default all processors are used.

        Returns
        -------
        pyarrow.Table
            A row for each match, with the columns `event_id` and `subscription_id`, in the order of the events. The
            matches of an event come in the order in which the subscriptions were added.
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
        """Match many events, like `match_many`, and yield the result in batches of about a million rows.

        A batch is made when the caller asks for it. All batches see the index at the moment of the call.
        """
        wanted = checked_payload(payload)
        given, matching = GivenEvents(events, event_id), self._matching(where, threads)
        return self._noting(given, matching, matching.batches(given, wanted))

    def _noting(self, given: GivenEvents, matching: Matching, batches: Iterator[Batch]) -> Iterator[Batch]:
        yield from batches
        self._noted(matching.state, given.all)

    def count(self, event: Mapping[str, Any], *, where: Where = None) -> int:
        """Return the number of subscriptions that are true for an event."""
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
        """Count the subscriptions that are true for each event.

        Parameters
        ----------
        events, event_id, where, threads
            As in `match_many`.
        by : str
            Deprecated: use `count_by_subscription`.

        Returns
        -------
        pyarrow.Table
            A row for each event, with the columns `event_id` and `count`.
        """
        if by != "event":
            return deprecated.count_with_by_argument(self, events, by, where, threads)
        return self._count_matches(events, "event", event_id, where, threads)

    def count_by_subscription(self, events: Any, *, where: Where = None, threads: int | None = None) -> pa.Table:
        """Count the events for which each subscription is true.

        Parameters
        ----------
        events, where, threads
            As in `match_many`.

        Returns
        -------
        pyarrow.Table
            A row for each subscription, with the columns `subscription_id` and `count`, which may be 0.
        """
        return self._count_matches(events, "subscription", None, where, threads)

    def _count_matches(
        self,
        events: Any,
        by: Literal["event", "subscription"],
        event_id: str | None,
        where: Where,
        threads: int | None,
    ) -> pa.Table:
        given = GivenEvents(events, event_id)
        matching = self._matching(where, threads)
        counts = matching.counts(given, by)
        self._noted(matching.state, given.all)
        return counts

    def has_match(self, event: Mapping[str, Any], *, where: Where = None) -> bool:
        """Return whether any subscription is true for an event; stop at the first band with a match."""
        state = self._contents.state
        encoded = self._encoded(event, state)
        tiers = self._reader(state, where).list_tiers(state.shard.store.scores.changes)
        return any(len(tier.reader.match(encoded).slot) for tier in tiers)

    def _reader(self, state: State, where: Where) -> Reader:
        """Return a reader of the slots whose payloads satisfy `where`."""
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
        """Sample events after all of them were matched: none was faulty."""
        self._recent.note_many(events)
        if self._recent.is_due:
            self._look(state)

    def _look(self, state: State) -> None:
        """Log attributes that recent events lack if these events have an unused attribute of a similar name."""
        missing, unused = find_missing_attributes(self._recent.carried(), state.asked())
        for name, near in missing.items():
            if near in unused and name not in self._reported_attributes:
                self._reported_attributes.add(name)
                log.warning(
                    "tellwhen: subscriptions use %s, which no recent event has; recent events have %s, which no "
                    "subscription uses; call index.inspect.check_attributes(events) for more",
                    name,
                    near,
                )

    def _count(self, mismatches: Mapping[str, int], state: State, events: Any) -> None:
        self._contents.mismatches.add(mismatches, lambda name: told(name, state.attributes, events, self._schema))

    # Ranking

    def top_k(
        self,
        event: Mapping[str, Any],
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
        where: Where = None,
    ) -> list[tuple[Id, float]]:
        """Return the k subscriptions with the highest scores among those that are true for an event.

        Parameters
        ----------
        event, where
            As in `match`.
        k : int, default 10
            The number of subscriptions.
        relaxed : bool, default False
            Rank by weights, where not all of a subscription need be true. Each attribute of an expression counts by
            itself, with all other attributes left out. The score is the sum of the weights of those attributes that
            are true: the weights of the subscription, or 1 each. See LANGUAGE.md.
        weights : mapping of str to float, optional
            Weights of the event, only with `relaxed`: they multiply the weights of the same attributes.

        Returns
        -------
        list of (id, float)
            Ids with scores, the highest score first. Of equal scores the subscription that was added first comes first.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x > 1", score=2).add("b", "x > 2", score=3.5).add("c", "x > 9", score=7)
        >>> index.top_k({"x": 5}, k=1)
        [('b', 3.5)]
        >>> index.set_score("a", 4).top_k({"x": 5})
        [('a', 4.0), ('b', 3.5)]

        >>> index = tw.Index().add("a", "age > 20 AND income > 50", weights={"age": 0.3, "income": 0.7})
        >>> index.top_k({"age": 30, "income": 10}, relaxed=True)
        [('a', 0.3)]
        >>> index.top_k({"age": 30, "income": 10}, relaxed=True, weights={"age": 10})
        [('a', 3.0)]
        """
        k, factors, wanted = validate_k(k), validate_weight_factors(weights, relaxed), checked_where(where)
        self._rankings += 1
        if self._rankings % RANKINGS_PER_UPKEEP_CHECK == 0:
            self._contents.keep_up_unless_busy()
        if relaxed:
            state = self._contents.state
            found = self._relaxed(state, k, factors, wanted)(self._encoded(event, state))
        else:
            state, found = self._contents.at_one_moment(lambda state: self._best(state, event, k, wanted))
        return list(zip(state.ids.of(found.slot, state.id_type), found.score.tolist(), strict=True))

    def _best(self, state: State, event: Mapping[str, Any], k: int, where: Where) -> Best:
        scores = state.shard.store.scores
        tiers = self._reader(state, where).list_tiers(scores.changes)
        return find_best(tiers, self._encoded(event, state), state.most(k), scores.scores_by_slot)

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
        """Return the k subscriptions with the highest scores for each of many events.

        Parameters
        ----------
        events, event_id, threads
            As in `match_many`.
        k, relaxed, weights, where
            As in `top_k`.

        Returns
        -------
        pyarrow.Table
            Columns `event_id`, `rank` (from 1), `subscription_id` and `score`, by event and rank.
        """
        k, factors, wanted = validate_k(k), validate_weight_factors(weights, relaxed), checked_where(where)
        given = GivenEvents(events, event_id)
        state, run = self._ranking(k, relaxed, factors, wanted)
        matching = Matching(state, state.reader, self._schema, checked_threads(threads), self._count)
        table = matching.ranked(given, run)
        self._noted(state, given.all)
        return table

    def _ranking(
        self, k: int, relaxed: bool, factors: Mapping[str, float], where: Where
    ) -> tuple[State, Callable[[Events], Best]]:
        """Return a function that ranks batches of events by the scores of this moment, with the state that it reads."""
        if relaxed:
            state = self._contents.state
            return state, self._relaxed(state, k, factors, where)

        def taken(state: State) -> tuple[list[Tier], F64]:
            scores = state.shard.store.scores
            return self._reader(state, where).list_tiers(scores.changes), scores.scores_by_slot.copy()

        state, (tiers, scores) = self._contents.at_one_moment(taken)
        return state, lambda some: find_best(tiers, some, state.most(k), scores)

    def get_subscription(self, id: Id) -> Subscription:
        """Return a subscription with its text, score, weights and payload; raise UnknownId if the id is unknown.

        Examples
        --------
        >>> import tellwhen as tw
        >>> tw.Index().add("a", "x > 1", score=2.5, payload={"to": "ann"}).get_subscription("a")
        Subscription(id='a', expression='x > 1', score=2.5, weights={}, payload={'to': 'ann'})
        """
        shard, slot = self._contents.located(id)
        return shard.get_subscription(slot)

    def get_payload(self, id: Id) -> dict[str, Any]:
        """Return the payload of a subscription; faster than `get_subscription`, which also reads the text."""
        shard, slot = self._contents.located(id)
        return shard.payloads.of(slot)

    def get_payload_values(self, name: str, ids: Iterable[Id]) -> list[Any]:
        """Return the value of one payload key for many subscriptions.

        The value is None for a payload without the key and for an unknown id. The values of the key are cached as a
        column, so that no payload is read twice. Copy lists and dicts before you change them.
        """
        state = self._contents.state
        find = self._contents.slots(state.shard).get
        return state.shard.payload_columns.some(name, [find(validate_id(id_)) for id_ in ids], state.slots)

    def explain(self, id: Id, event: Mapping[str, Any]) -> Explanation:
        """Explain why a subscription is true for an event, or why not; print the result to see the tree."""
        return self[id].explain(self._schema.read_event(flatten(event)))

    # Reading

    def __len__(self) -> int:
        return self._contents.state.length

    def __contains__(self, id: object) -> bool:
        try:
            return validate_id(id) in self._contents.slots(self._shard)  # type: ignore[arg-type]
        except IdError:
            return False

    def __getitem__(self, id: Id) -> Expr:
        shard, slot = self._contents.located(id)
        return parse_cached(shard.texts[slot])

    def get(self, id: Id, default: Any = None) -> Any:
        """Return the expression of a subscription, or `default` if no subscription has this id."""
        try:
            return self[id]
        except (UnknownId, IdError):
            return default

    def items(self) -> ItemsView[Id, Expr]:
        """Return a view of all ids with their expressions. Iteration sees the index at the moment when it starts."""
        return SubscriptionsView(self)

    def values(self) -> ValuesView[Expr]:
        """Return a view of all expressions. Iteration sees the index at the moment when it starts."""
        return ExpressionsView(self)

    def iter_texts(self, *, start: Id | None = None) -> Iterator[tuple[Id, str]]:
        """Iterate over all ids with the texts of their expressions, in the order in which the ids were first added.

        Nothing is parsed, so that millions can be listed. Iteration begins with the id `start`, if given. A replaced
        subscription keeps its position here, while `match` lists it as added last.
        """
        state = self._contents.state
        after = -1
        if start is not None:
            slot = self._contents.slots(state.shard).get(validate_id(start))
            if slot is None:
                raise UnknownId(f"there is no subscription {start!r}, to begin with")
            after = state.ids.ordinals[slot] - 1
        return (
            (state.ids[slot], state.shard.texts[slot]) for slots in state.iter_listing(after) for slot in slots.tolist()
        )

    @property
    def inspect(self) -> Inspection:
        """Diagnostics: how the engine finds subscriptions, what they cost, and which attributes they need."""
        return self._inspection

    # An index is a place, not a value: two are equal only if they are the same.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Id]:
        state = self._contents.state
        return iter([state.ids[slot] for slots in state.iter_listing() for slot in slots.tolist()])

    def __repr__(self) -> str:
        return f"<Index of {len(self)} subscriptions, engine {self._shard.engine.spec}>"

    @property
    def memory_limit(self) -> int | None:
        """The maximum size of the arrays in bytes, or None. A limit below the present size is refused."""
        return self._contents.limit.bytes

    @memory_limit.setter
    def memory_limit(self, limit: int | None) -> None:
        new = MemoryLimit(limit)
        with self._contents.whole() as shard:
            new.refuse_growth(shard)
            self._contents.limit = new

    @property
    def schema(self) -> Schema:
        """The declared types of attributes."""
        return self._schema

    # Copies and files

    def merge(self, other: Index, *, replace: bool = False) -> Index:
        """Add all subscriptions of another index, with their scores, weights and payloads.

        Without `replace` an id that both have raises DuplicateId, and nothing is added.
        """
        if not isinstance(other, Index):
            raise ArgumentError(f"merge takes an Index, not {abbreviate(other)}; add_many takes subscriptions")
        return self.add_many(exchange.rows(other._contents.state), replace=replace)

    def to_arrow(self) -> pa.Table:
        """Return all subscriptions in the order they were added, as a table that `add_many` takes.

        The columns are `id`, `expression`, `score`, `weights` and `payload`, which is JSON.
        """
        return pa.concat_tables(exchange.tables(self._contents.state))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `to_arrow` to a Parquet file. An interrupted write leaves the old file as it was."""
        exchange.write_parquet(self._contents.state, path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], engine: str = "auto", **given: Any) -> Index:
        """Create an index of the subscriptions in a Parquet file, with the schema that `to_parquet` stored in it.

        All subscriptions are added, or none if one is faulty. To add the valid ones only:
        `tw.Index().add_valid(pyarrow.parquet.read_table(path))`.

        Parameters
        ----------
        path : path-like
            The file.
        engine, **given
            As in `Index`.
        """
        if "errors" in given:
            raise ArgumentError(
                "from_parquet adds all or none; Index().add_valid(pyarrow.parquet.read_table(path)) adds the valid ones"
            )
        rows, declared = exchange.read_parquet(path)
        return cls(engine, **{"schema": declared, **given}).add_many(rows)

    def save(self, path: str | os.PathLike[str], *, note: Any = None) -> None:
        """Write the index to a directory. An interrupted write leaves the old index as it was.

        Parameters
        ----------
        path : path-like
            The directory.
        note
            JSON to store with this state of the index, such as how far a queue of changes was read.
            `tellwhen.read_note(path)` returns it.
        """
        with self._contents.whole() as shard:
            arrays, meta = shard.parts()
            directory.save(path, arrays, meta | {"note": note})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True, memory_limit: int | None = None) -> Index:
        """Open a saved index. Its files are mapped into memory.

        Also opens an index that Spark has built: the current version as a whole, or a single shard. Changes of the
        returned index stay in this process; `tellwhen.spark.update` changes the index on disk.

        Parameters
        ----------
        path : path-like
            The directory.
        verify : bool, default True
            Whether to compare checksums.
        memory_limit : int, optional
            As in `Index`: the limit is not saved with an index. A larger index is refused.
        """
        index = cls.__new__(cls)
        limit = MemoryLimit(memory_limit)
        shard = open_as_shard(path, verify)
        limit.refuse_growth(shard)
        index._open(shard, limit)
        return index

    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the arrays, and all else as JSON; for copy, deepcopy and pickle."""
        with self._contents.whole() as shard:
            arrays, meta = shard.parts()
            copied = {part: {name: np.array(array) for name, array in named.items()} for part, named in arrays.items()}
            others = {"mismatches": self._contents.mismatches.as_dict(), "memory_limit": self._contents.limit.bytes}
            return {"arrays": copied, "meta": meta, **others}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._open(Shard.of_parts(state["arrays"], state["meta"]), MemoryLimit(state["memory_limit"]))
        self._contents.mismatches = Mismatches(state["mismatches"])


def _validate_missing(missing: str) -> None:
    if missing not in ("raise", "ignore"):
        raise ArgumentError(f"missing must be 'raise' or 'ignore', not {abbreviate(missing)}")
