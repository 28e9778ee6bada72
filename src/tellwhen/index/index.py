"""`Index`, the facade: it holds standing expressions and returns the ids of those that an event satisfies."""

from __future__ import annotations

import copy
import os
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pyarrow as pa

from tellwhen.compile.scores import parse_weights
from tellwhen.encode.events import EventEncoder
from tellwhen.engines import format_spec
from tellwhen.engines.shared.top_k import validate_k
from tellwhen.errors import (
    ArgumentError,
    FormatError,
    IdError,
    ScoreError,
    StateError,
    UnknownId,
    abbreviate,
    pluralize,
)
from tellwhen.index import deprecated_members, exchange
from tellwhen.index.ids import Id, MissingIds, validate_id, validate_missing
from tellwhen.index.limits import INDEX_LIMITS, IndexLimits
from tellwhen.index.maintenance.memory_limit import MemoryLimit
from tellwhen.index.matching import EventInput, Matching, validate_payload, validate_threads
from tellwhen.index.mismatches import Mismatches
from tellwhen.index.monitoring import EventMonitor
from tellwhen.index.payloads import Where, validate_where
from tellwhen.index.ranking import rank_by_score, rank_by_weights
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

Batch = TypeVar("Batch")

RANKINGS_PER_UPKEEP_CHECK = 64
"""Check for due upkeep every 64 rankings: upkeep may have been postponed, and without changes nothing else checks."""


class Index(deprecated_members.DeprecatedMembers, Mapping[Id, Expr]):
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

    _limits: ClassVar[IndexLimits] = INDEX_LIMITS

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
        # The profile is copied because the caller may add more events to it.
        shard = Shard.empty(format_spec(engine, options), Schema.coerce(schema), copy.deepcopy(profile), texts)
        self._open(shard, MemoryLimit(memory_limit))

    def _open(self, shard: Shard, limit: MemoryLimit) -> None:
        self._schema = shard.store.schema
        self._contents = Contents(shard, limit, self._limits.compaction)
        self._monitor = EventMonitor(
            self._contents, self._schema, find_missing_attributes, self._limits.first_coverage_check
        )
        self._inspection = Inspection(self._contents, self._schema, self._monitor.sample)
        self._rankings = 0  # approximate: several threads count

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

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Raises
        ------
        DuplicateId
            If a subscription has this id, unless `replace`.
        """
        return self.add_many([(id, expression, score, weights, payload)], replace=replace)

    def add_many(self, subscriptions: Any, *, replace: bool = False, errors: str = "raise") -> Index:
        """Add many subscriptions: all of them or, if one is faulty, none. They become visible together.

        Parameters
        ----------
        subscriptions
            A mapping of ids to expressions; tuples of an id and an expression, which a score, weights and a payload may
            follow; or a table (Arrow, pandas or polars) with columns of these names.
        replace : bool, default False
            Whether to replace subscriptions of the same ids.
        errors : str
            Deprecated: use `add_valid`.

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Raises
        ------
        DuplicateId
            If two subscriptions have the same id, unless `replace`.
        ParseError, SchemaError, ScoreError, PayloadError, BudgetError
            If a subscription is faulty. All these are a TellwhenError, and the message starts with the id.
        LimitError
            If the index would be larger than its `memory_limit`.
        """
        if errors != "raise":
            return deprecated_members.add_many_with_errors_argument(self, subscriptions, replace, errors)
        rows = iter_subscriptions(subscriptions)
        with self._contents.change() as shard:
            shard.add(rows, replace)
        return self

    def add_valid(self, subscriptions: Any, *, replace: bool = False) -> list[Rejected]:
        """Add all valid subscriptions, and return the faulty ones.

        Parameters
        ----------
        subscriptions, replace
            As in `add_many`.

        Returns
        -------
        list of Rejected
            The faulty subscriptions, each with its id, the reason, and the position of an error in its text.

        Examples
        --------
        >>> import tellwhen as tw
        >>> tw.Index().add_valid({"a": "x > 1", "b": "x > 'one"})
        [Rejected(id='b', expression="x > 'one", position=4,
                  reason="this string is never closed; a quote inside is written ''")]
        """
        rows = iter_subscriptions(subscriptions)
        rejected: list[Rejected] = []
        with self._contents.change() as shard:
            shard.add(rows, replace, rejected)
        return rejected

    def set_score(self, id: Id, score: float) -> Index:
        """Set the score by which `top_k` ranks a subscription. The engine is not rebuilt.

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Raises
        ------
        UnknownId
            If no subscription has this id.
        """
        return self.set_scores({validate_id(id): score})

    def set_scores(self, scores: Mapping[Id, float], *, missing: MissingIds = "raise") -> Index:
        """Set many scores: all of them or, if one is faulty, none. They become visible together.

        Parameters
        ----------
        scores : mapping of id to float
            The new scores.
        missing : {"raise", "ignore"}, default "raise"
            What to do about an unknown id, which another thread may have removed: raise UnknownId, or ignore the id.

        Returns
        -------
        Index
            This index, so that calls can be chained.
        """
        validate_missing(missing)
        if not isinstance(scores, Mapping):
            raise ScoreError(
                f"set_scores takes a mapping from ids to scores, such as dict(pairs), not {abbreviate(scores)}"
            )
        with self._contents.lock_shard() as shard:
            self._contents.limit.refuse_scores(shard, shard.store.scores.compute_growth_bytes(len(shard.store)))
            if missing == "ignore":
                scores = {id_: score for id_, score in scores.items() if validate_id(id_) in shard.slots}
            shard.set_scores_by_id(scores)
            self._contents.start_due_upkeep()
        return self

    def remove(self, id: Id) -> Index:
        """Remove a subscription.

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Raises
        ------
        UnknownId
            If no subscription has this id. UnknownId is a KeyError.
        """
        return self.remove_many([id])

    def remove_many(self, ids: Iterable[Id], *, missing: MissingIds = "raise") -> Index:
        """Remove many subscriptions: all of them or, if an id is unknown, none.

        Parameters
        ----------
        ids : iterable of id
            The ids of the subscriptions.
        missing : {"raise", "ignore"}, default "raise"
            What to do about an unknown id: raise UnknownId, or ignore the id.

        Returns
        -------
        Index
            This index, so that calls can be chained.
        """
        validate_missing(missing)
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise IdError(f"remove_many takes ids, not {abbreviate(ids)}; remove() takes one")
        with self._contents.change(is_removal=True) as shard:
            if missing == "ignore":
                ids = dict.fromkeys(id_ for id_ in map(validate_id, ids) if id_ in shard.slots)
            shard.remove(ids)
        return self

    def discard(self, id: Id) -> Index:
        """Remove a subscription; do nothing if no subscription has this id.

        Returns
        -------
        Index
            This index, so that calls can be chained.
        """
        return self.remove_many([id], missing="ignore")

    def rebuild(self) -> Index:
        """Rebuild the engine now, without removed subscriptions.

        This is optional: the engine also rebuilds itself after enough changes.

        Returns
        -------
        Index
            This index, so that calls can be chained.
        """
        with self._contents.change(needs_rebuild=True):
            pass  # the rebuild is at the end of the change
        return self

    def optimize_for(self, events: Any) -> Index:
        """Add typical events to the profile and rebuild the engine for them.

        The engine decides by the profile what to test first; without a profile it guesses from the subscriptions.
        Results do not depend on the profile. It is saved with the index.

        Parameters
        ----------
        events
            Events in any form that `match_many` takes.

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x = 1").optimize_for([{"x": 1}, {"y": 2}]).optimize_for([{"x": 3}])
        >>> index.profile.event_frequency["x"]
        0.6666666666666666
        """
        added = Profile.from_events(events)
        with self._contents.change() as shard:
            shard.extend_profile(added)
        return self

    def optimize_for_recent_events(self) -> Index:
        """Replace the profile by a sample of recently matched events, and rebuild the engine for it.

        The default engine is rebuilt in the background, the others at once.

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Raises
        ------
        StateError
            If no events were matched since the index was opened.
        """
        recent = self._monitor.sample.build_profile()
        if not recent.events:
            raise StateError("no events were matched yet; match some first, or call optimize_for() with typical events")
        with self._contents.change() as shard:
            shard.replace_profile(recent)
        return self

    @property
    def profile(self) -> Profile:
        """A copy of the event statistics by which the engine decides what to test first."""
        return copy.deepcopy(self._shard.profile)

    # Matching

    def match(
        self, event: Mapping[str, Any], *, where: Where = None, payload: bool | Sequence[str] = False
    ) -> list[Id]:
        """Return the ids of all subscriptions that are true for an event, in the order in which they were added.

        Parameters
        ----------
        event : mapping of str to value
            The attributes of the event.
        where : str, Expr or mapping, optional
            Match only subscriptions whose payloads satisfy this expression. A mapping asks for values: by key a value,
            or a list of values of which the payload must have one.
        payload : bool or sequence of str
            Deprecated: use `match_with_payloads`.

        Returns
        -------
        list of str or int
            The ids.

        Raises
        ------
        EventError
            If the event is not a mapping from names to values.

        Examples
        --------
        >>> import tellwhen as tw
        >>> index = tw.Index().add("a", "x > 1", payload={"tenant": 7}).add("b", "x > 2", payload={"tenant": 8})
        >>> index.match({"x": 5})
        ['a', 'b']
        >>> index.match({"x": 5}, where={"tenant": 8})
        ['b']
        >>> index.match({"x": 5}, where="tenant BETWEEN 1 AND 7")
        ['a']
        """
        if payload is not False:
            return deprecated_members.match_with_payload_argument(self, event, where, payload)
        state = self._contents.state
        return state.ids.to_list(self._match_slots(event, state, where), state.id_type)

    def match_with_payloads(
        self, event: Mapping[str, Any], *, where: Where = None, fields: Sequence[str] | None = None
    ) -> list[tuple[Id, dict[str, Any]]]:
        """Return the ids and payloads of all matching subscriptions, in the order in which they were added.

        Parameters
        ----------
        event, where
            As in `match`.
        fields : sequence of str, optional
            Keys of the payloads to return; all by default. A key that a payload lacks has the value None.

        Returns
        -------
        list of (id, dict)
            Ids with payloads.

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
        payloads = [state.shard.payloads.get(slot) for slot in slots.tolist()]
        if fields is not None:
            payloads = [{name: payload.get(name) for name in fields} for payload in payloads]
        return list(zip(state.ids.to_list(slots, state.id_type), payloads, strict=True))

    def _match_slots(self, event: Mapping[str, Any], state: State, where: Where) -> I32:
        slots = state.get_reader(where).match(self._encode_and_record(event, state)).slot
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
        where : str, Expr or mapping, optional
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

        Raises
        ------
        EventError
            If an event is faulty, or `event_id` cannot identify the events.
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

        Events are matched while the caller iterates. All batches see the index at the moment of the call.

        Parameters
        ----------
        events, event_id, where, payload, threads
            As in `match_many`.
        """
        payload = validate_payload(payload)
        source = EventInput.read(events, event_id)
        matching = self._prepare_matching(self._contents.state, where, threads)
        return self._record_after(matching.iter_batches(source, payload), source, matching.state)

    def _record_after(self, batches: Iterator[Batch], source: EventInput, state: State) -> Iterator[Batch]:
        yield from batches
        self._monitor.record_many(source.events, state)

    def count(self, event: Mapping[str, Any], *, where: Where = None) -> int:
        """Return the number of subscriptions that are true for an event.

        Parameters
        ----------
        event, where
            As in `match`.
        """
        state = self._contents.state
        return len(state.get_reader(where).match(self._encode_and_record(event, state)).slot)

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
            return deprecated_members.count_with_by_argument(self, events, by, where, threads)
        source = EventInput.read(events, event_id)
        matching = self._prepare_matching(self._contents.state, where, threads)
        counts = matching.count_by_event(source)
        self._monitor.record_many(source.events, matching.state)
        return counts

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
        source = EventInput.read(events)
        matching = self._prepare_matching(self._contents.state, where, threads)
        counts = matching.count_by_subscription(source)
        self._monitor.record_many(source.events, matching.state)
        return counts

    def has_match(self, event: Mapping[str, Any], *, where: Where = None) -> bool:
        """Return whether any subscription is true for an event; stop early if the engine can.

        Parameters
        ----------
        event, where
            As in `match`.
        """
        state = self._contents.state
        encoded = self._encode_and_record(event, state)
        tiers = state.get_reader(where).list_tiers(state.shard.store.scores.changes)
        return any(len(tier.reader.match(encoded).slot) for tier in tiers)

    def _encode_and_record(self, event: Mapping[str, Any], state: State) -> Events:
        encoder = EventEncoder(state.attributes, self._schema)
        encoder.add(event)
        self._monitor.record(event, encoder.mismatches, state)
        return encoder.finish()

    def _prepare_matching(self, state: State, where: Where, threads: int | None) -> Matching:
        reader = state.get_reader(where)
        count_mismatches = self._monitor.record_mismatches
        return Matching(state, reader, self._schema, validate_threads(threads), count_mismatches, self._limits.batches)

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
            Rank by weights, also subscriptions that are only partly true. Each attribute of an expression is evaluated
            by itself, with all other attributes left out. The score is the sum of the weights of the attributes that
            are true. The weights are those of the subscription, or 1 each. See LANGUAGE.md.
        weights : mapping of str to float, optional
            Weights of the event. They multiply the weights of the same attributes in subscriptions. With weights, even
            with none in an empty mapping, the subscriptions that are true are also ranked by this sum, instead of
            by their scores.

        Returns
        -------
        list of (id, float)
            Ids with scores, the highest score first; of equal scores, the subscription that was added first.

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
        >>> index.top_k({"age": 30, "income": 60}, weights={"age": 10})  # only subscriptions that are true as a whole
        [('a', 3.7)]
        """
        k, factors, where = validate_k(k), parse_weights(weights), validate_where(where)
        self._rankings += 1
        if self._rankings % RANKINGS_PER_UPKEEP_CHECK == 0:
            self._contents.try_start_due_upkeep()
        if relaxed or factors is not None:
            state = self._contents.state
            rank = rank_by_weights(state, k, where, factors or {}, relaxed)
            best = rank(self._encode_and_record(event, state))
        else:
            state, best = self._contents.read_with_scores(
                lambda state: rank_by_score(state, k, where)(self._encode_and_record(event, state))
            )
        return list(zip(state.ids.to_list(best.slot, state.id_type), best.score.tolist(), strict=True))

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
        k, factors, where = validate_k(k), parse_weights(weights), validate_where(where)
        source = EventInput.read(events, event_id)
        if relaxed or factors is not None:
            state = self._contents.state
            rank = rank_by_weights(state, k, where, factors or {}, relaxed)
        else:
            state, rank = self._contents.read_with_scores(
                lambda state: rank_by_score(state, k, where, copies_scores=True)
            )
        table = self._prepare_matching(state, None, threads).rank(source, rank)
        self._monitor.record_many(source.events, state)
        return table

    # Reading

    def get_subscription(self, id: Id) -> Subscription:
        """Return a subscription with its text, score, weights and payload.

        Raises
        ------
        UnknownId
            If no subscription has this id.

        Examples
        --------
        >>> import tellwhen as tw
        >>> tw.Index().add("a", "x > 1", score=2.5, payload={"to": "ann"}).get_subscription("a")
        Subscription(id='a', expression='x > 1', score=2.5, weights={}, payload={'to': 'ann'})
        """
        shard, slot = self._contents.locate(id)
        return shard.get_subscription(slot)

    def get_payload(self, id: Id) -> dict[str, Any]:
        """Return the payload of a subscription. This is faster than `get_subscription`, which also reads the text.

        Raises
        ------
        UnknownId
            If no subscription has this id.
        """
        shard, slot = self._contents.locate(id)
        return shard.payloads.get(slot)

    def get_payload_values(self, name: str, ids: Iterable[Id]) -> list[Any]:
        """Return the values of one payload key for many subscriptions.

        The values of the key are cached as a column, so that no payload is read twice.

        Parameters
        ----------
        name : str
            The key.
        ids : iterable of id
            The ids of the subscriptions.

        Returns
        -------
        list
            The values, in the order of the ids; None for a payload without the key and for an unknown id. Copy lists
            and dicts before you change them.
        """
        state = self._contents.state
        get_slot = self._contents.get_slots(state.shard).get
        slots = [get_slot(validate_id(id_)) for id_ in ids]
        return state.shard.payload_columns.get_values(name, slots, state.slot_count)

    def explain(self, id: Id, event: Mapping[str, Any]) -> Explanation:
        """Explain why a subscription is true for an event, or why not; print the result to see the tree.

        Raises
        ------
        UnknownId
            If no subscription has this id.
        """
        return self[id].explain(self._schema.read_event(flatten(event)))

    def __len__(self) -> int:
        return self._contents.state.length

    def __contains__(self, id: object) -> bool:
        try:
            return validate_id(id) in self._contents.get_slots(self._shard)  # type: ignore[arg-type]
        except IdError:
            return False

    def __getitem__(self, id: Id) -> Expr:
        shard, slot = self._contents.locate(id)
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

        No text is parsed, so that millions can be listed. A replaced subscription keeps its position here, while
        `match` returns it as the one that was added last.

        Parameters
        ----------
        start : str or int, optional
            The id to start with.

        Raises
        ------
        UnknownId
            If no subscription has the id `start`.
        MissingTextsError
            If the index stores no texts.
        """
        state = self._contents.state
        after = -1
        if start is not None:
            slot = self._contents.get_slots(state.shard).get(validate_id(start))
            if slot is None:
                raise UnknownId(f"there is no subscription {start!r} to start with")
            after = state.ids.ordinals[slot] - 1
        return (
            (state.ids[slot], state.shard.texts[slot]) for slots in state.iter_listing(after) for slot in slots.tolist()
        )

    @property
    def inspect(self) -> Inspection:
        """Diagnostics: how the engine finds subscriptions, what they cost, and which attributes they need."""
        return self._inspection

    # Mapping compares by content, but an index can change: two are equal only if they are the same object.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Id]:
        state = self._contents.state
        return iter([state.ids[slot] for slots in state.iter_listing() for slot in slots.tolist()])

    def __repr__(self) -> str:
        return f"<Index of {pluralize(len(self), 'subscription')}, engine {self._shard.engine.spec}>"

    @property
    def memory_limit(self) -> int | None:
        """The maximum size of the arrays in bytes; None for no limit. A limit below the present size is refused."""
        return self._contents.limit.bytes

    @memory_limit.setter
    def memory_limit(self, limit: int | None) -> None:
        new = MemoryLimit(limit)
        with self._contents.lock_shard() as shard:
            new.refuse_growth(shard)
            self._contents.limit = new

    @property
    def schema(self) -> Schema:
        """The declared types of attributes."""
        return self._schema

    # Copies and files

    def merge(self, other: Index, *, replace: bool = False) -> Index:
        """Add all subscriptions of another index, with their scores, weights and payloads.

        Parameters
        ----------
        other : Index
            The other index, which stays unchanged.
        replace : bool, default False
            Whether to replace subscriptions of the same ids.

        Returns
        -------
        Index
            This index, so that calls can be chained.

        Raises
        ------
        DuplicateId
            If both indexes have the same id, unless `replace`. Nothing is added then.
        """
        if not isinstance(other, Index):
            raise ArgumentError(f"merge takes an Index, not {abbreviate(other)}; add_many takes subscriptions")
        # Before the change: two indexes that are merged into each other must not wait for each other's lock.
        state, (slots, scores) = other._contents.read_with_scores(_read_live_scores)
        with self._contents.change() as shard:
            if shard.store.schema == state.shard.store.schema:
                view = state.view.snapshot
                shard.add_compiled(state.shard, view, state.attributes, slots, scores=scores, replace=replace)
            else:  # declared types change what a constant means, so the texts are compiled again
                shard.add(exchange.iter_rows(state), replace)
        return self

    def to_arrow(self) -> pa.Table:
        """Return all subscriptions as a table that `add_many` takes, in the order in which they were added.

        Returns
        -------
        pyarrow.Table
            The columns `id`, `expression`, `score`, `weights` and `payload`, which is JSON.

        Raises
        ------
        IdError
            If the index has both int and str ids, since a column has one type.
        """
        return pa.concat_tables(exchange.iter_tables(self._contents.state))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `to_arrow` to a Parquet file.

        An existing file is replaced atomically: an interrupted write leaves the old file unchanged.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        FormatError
            If the file cannot be written.
        IdError
            If the index has both int and str ids.
        """
        exchange.write_parquet(self._contents.state, path)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], engine: str = "auto", **options: Any) -> Index:
        """Create an index of the subscriptions in a Parquet file, with the schema that `to_parquet` stored in it.

        All subscriptions are added, or none if one is faulty. To add the valid ones only:
        `tw.Index().add_valid(pyarrow.parquet.read_table(path))`.

        Parameters
        ----------
        path : path-like
            The file.
        engine, **options
            As in `Index`.

        Raises
        ------
        FormatError
            If the file cannot be read as Parquet.
        """
        if "errors" in options:
            raise ArgumentError(
                "from_parquet adds all or none; Index().add_valid(pyarrow.parquet.read_table(path)) adds the valid ones"
            )
        rows, declared = exchange.read_parquet(path)
        return cls(engine, **{"schema": declared, **options}).add_many(rows)

    def save(self, path: str | os.PathLike[str], *, note: Any = None) -> None:
        """Write the index to a directory. An interrupted write leaves the old index unchanged.

        Parameters
        ----------
        path : path-like
            The directory.
        note
            JSON to store with this state of the index, such as how far a queue of changes was read.
            `tellwhen.read_note(path)` returns it.

        Raises
        ------
        FormatError
            If the directory cannot be written, or has other files.
        """
        with self._contents.lock_shard() as shard:
            arrays, meta = shard.split()
            try:
                directory.save(path, arrays, meta | {"note": note})
            except OSError as error:
                raise FormatError(f"{os.fspath(path)} cannot be written: {error.strerror or error}") from error

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
            As in `Index`. The limit is not saved with an index.

        Raises
        ------
        FormatError
            If the directory has no index, or the index is damaged.
        LimitError
            If the index is larger than `memory_limit`.
        """
        index = cls.__new__(cls)
        limit = MemoryLimit(memory_limit)
        shard = open_as_shard(path, verify)
        limit.refuse_growth(shard)
        index._open(shard, limit)
        return index

    def __getstate__(self) -> dict[str, Any]:
        """Return copies of the arrays, and all else as JSON; for copy, deepcopy and pickle."""
        with self._contents.lock_shard() as shard:
            arrays, meta = shard.split()
            copied = {part: {name: np.array(array) for name, array in named.items()} for part, named in arrays.items()}
            others = {"mismatches": self._contents.mismatches.as_dict(), "memory_limit": self._contents.limit.bytes}
            return {"arrays": copied, "meta": meta, **others}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._open(Shard.join(state["arrays"], state["meta"]), MemoryLimit(state["memory_limit"]))
        self._contents.mismatches = Mismatches(state["mismatches"])


def _read_live_scores(state: State) -> tuple[I32, F64]:
    """Return the slots that are not removed, and their scores."""
    slots = np.array(state.list_live_slots(), dtype=np.int32)
    return slots, state.shard.store.scores.get_scores(slots)
