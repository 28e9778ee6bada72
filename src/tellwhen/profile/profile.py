"""The class `Profile`: statistics that are computed, merged, read and saved."""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pyarrow as pa

from tellwhen.deprecation import rename_parameters, warn_deprecated
from tellwhen.encode.columns import Unreadable
from tellwhen.encode.frames import to_table_or_dicts
from tellwhen.errors import ArgumentError, ExpressionError, FormatError, abbreviate
from tellwhen.language.ast import Expr
from tellwhen.language.reading import ExpressionInput, read_expression
from tellwhen.profile.census import Census
from tellwhen.profile.events import Batch, EventSample
from tellwhen.profile.histogram import HistogramBucket, build_histogram
from tellwhen.profile.mappings import MappingBatch
from tellwhen.profile.rendering import render_profile
from tellwhen.profile.sharing import Sharing, SharingLevel
from tellwhen.profile.tables import TableBatch
from tellwhen.profile.values import decode_value, encode_value

Side = Literal["events", "subscriptions"]


class Profile:
    """Statistics of subscriptions, of events, or of both; `|` merges.

    With the statistics of events, `tw.Index(profile=...)` chooses which predicates to test first, and
    `tellwhen.spark.build` also chooses the shard of a subscription.

    Attributes
    ----------
    subscriptions, events : int
        The number of counted subscriptions and events.
    malformed : int
        The number of events that are no JSON object.
    operators : Counter of str
        By operator, the number of predicates.
    sizes, depths : Counter of int
        By number of predicates, and by depth, the number of subscriptions.

    Examples
    --------
    >>> import tellwhen as tw
    >>> subscriptions = Profile.from_subscriptions(map(tw.parse, ["a = 1 AND b < 5", "a = 1", "NOT (b < 5 AND a = 1)"]))
    >>> events = Profile.from_events([{"a": 1, "b": 4}, {"a": 1, "b": 9}, {"a": "x"}, {}])
    >>> both = subscriptions | events
    >>> both.event_frequency
    {'a': 0.75, 'b': 0.5}
    >>> both.heavy_hitters("a"), both.heavy_hitters("a", "subscriptions")
    ([(1, 2), ('x', 1)], [(1, 3)])
    >>> both.histogram("b", buckets=2)
    [HistogramBucket(low=4, high=4, count=1), HistogramBucket(low=9, high=9, count=1)]
    >>> print(both)
    3 subscriptions: 1.7 predicates on average, 2 at most; nested 2 deep at most
    operators: = 3, < 2
    4 events: 1.2 attributes on average
    level  sub-expressions  distinct  sharing
        1                5         2     2.50
        2                2         1     2.00
        3                1         1     1.00
    attribute  in subscriptions  in events  families        most frequent in events
    a                   100.0 %     75.0 %  number, string  1 (2), 'x' (1)
    b                    66.7 %     50.0 %  number          4 (1), 9 (1)
    """

    def __init__(self) -> None:
        self.subscriptions = 0
        self.events = 0
        self.malformed = 0
        self.operators: Counter[str] = Counter()
        self.sizes: Counter[int] = Counter()
        self.depths: Counter[int] = Counter()
        self._families: defaultdict[str, Counter[str]] = defaultdict(Counter)  # families of predicates by attribute
        self._constants, self._values = Census(), Census()
        self._sharing = Sharing()
        self._sample = EventSample()

    # building

    @classmethod
    def from_subscriptions(cls, expressions: Iterable[ExpressionInput] | Mapping[Any, ExpressionInput]) -> Profile:
        """Build a profile of expressions in one pass.

        Parameters
        ----------
        expressions
            Expressions in any form that `Index.add` accepts, or a mapping with such values, such as an index.
        """
        profile = cls()
        profile.add_subscriptions(expressions)
        return profile

    @classmethod
    def from_events(cls, events: Any) -> Profile:
        """Build a profile of events in one pass.

        Parameters
        ----------
        events
            Events in any form that `Index.match_many` accepts.
        """
        profile = cls()
        profile.add_events(events)
        return profile

    @classmethod
    def merge(cls, profiles: Iterable[Profile]) -> Profile:
        """Merge profiles into a new one."""
        profile = cls()
        for other in profiles:
            profile.add(other)
        return profile

    @classmethod
    def of_subscriptions(cls, expressions: Iterable[ExpressionInput] | Mapping[Any, ExpressionInput]) -> Profile:
        """Call `Profile.from_subscriptions`. Deprecated."""
        warn_deprecated("Profile.of_subscriptions()", "Profile.from_subscriptions()")
        return cls.from_subscriptions(expressions)

    @classmethod
    def of_events(cls, events: Any) -> Profile:
        """Call `Profile.from_events`. Deprecated."""
        warn_deprecated("Profile.of_events()", "Profile.from_events()")
        return cls.from_events(events)

    @classmethod
    def _merge_and_warn(cls, profiles: Iterable[Profile]) -> Profile:
        """Call `Profile.merge`. Deprecated."""
        warn_deprecated("Profile.merged()", "Profile.merge()")
        return cls.merge(profiles)

    merged = _merge_and_warn

    def __or__(self, other: Profile) -> Profile:
        return Profile.merge([self, other])

    def add(self, other: Profile) -> None:
        """Merge another profile into this one."""
        if not isinstance(other, Profile):
            raise ArgumentError(f"only a profile can be merged into a profile, not {abbreviate(other)}")
        self.subscriptions += other.subscriptions
        self.events += other.events
        self.malformed += other.malformed
        for name, counter in self._counters().items():
            counter.update(other._counters()[name])
        for attribute, families in other._families.items():
            self._families[attribute].update(families)
        self._constants.merge(other._constants)
        self._values.merge(other._values)
        self._sharing.merge(other._sharing)
        self._sample.merge(other._sample)

    def _counters(self) -> dict[str, Counter[Any]]:
        return {"operators": self.operators, "sizes": self.sizes, "depths": self.depths}

    def add_subscriptions(self, expressions: Iterable[ExpressionInput] | Mapping[Any, ExpressionInput]) -> None:
        """Add subscriptions to the counts."""
        if isinstance(expressions, str | bytes) or not isinstance(expressions, Iterable):
            raise ExpressionError(
                f"subscriptions must be a list or a mapping of expressions, not {abbreviate(expressions)}"
            )
        for given in expressions.values() if isinstance(expressions, Mapping) else expressions:
            expression = given if isinstance(given, Expr) else read_expression(given)[0]
            self.subscriptions += 1
            self.sizes[expression.size] += 1
            self.depths[expression.depth] += 1
            self._sharing.add(expression)
            mentioned = set()
            for predicate in expression.predicates():
                attribute, family = predicate.attribute, predicate.family
                mentioned.add(attribute)
                self.operators[predicate.operator] += 1
                if family is not None:
                    self._families[attribute][family] += 1
                if predicate.operator in ("=", "IN"):
                    for constant in predicate.constants:
                        self._constants.add(attribute, encode_value(constant))
            self._constants.present.update(mentioned)
        self._constants.trim()
        self._sharing.trim()

    def add_events(self, events: Any) -> None:
        """Add events to the counts."""
        events = to_table_or_dicts(events)
        if isinstance(events, pa.Table):
            self._add_batch(TableBatch(events))
        else:
            batch = MappingBatch()
            for event in events:
                batch.add(event)
                if batch.is_full:
                    self._add_batch(batch)
                    batch = MappingBatch()
            self._add_batch(batch)
        self._values.trim()

    def _add_batch(self, batch: Batch) -> None:
        self.events += len(batch)
        for attribute, events, counts, hashes in batch.count_attributes():
            self._values.present[attribute] += events
            if counts:
                self._values.add_counts(attribute, counts, hashes)
        self._sample.add(batch)

    # reading

    @property
    def subscription_frequency(self) -> dict[str, float]:
        """By attribute, the share of the subscriptions that mention it."""
        return {name: count / self.subscriptions for name, count in sorted(self._constants.present.items())}

    @property
    def event_frequency(self) -> dict[str, float]:
        """By attribute, the share of the events that carry it."""
        return {name: count / self.events for name, count in sorted(self._values.present.items())}

    @property
    def attributes(self) -> list[str]:
        """Names of all attributes that subscriptions mention or events carry, sorted."""
        return sorted(self._constants.present.keys() | self._values.present.keys())

    def families(self, attribute: str, side: Side = "events") -> dict[str, int]:
        """Return by family the number of an attribute's values in events, or of its predicates in subscriptions."""
        by_attribute = self._values.families if side == "events" else self._families
        return dict(sorted(by_attribute.get(attribute, {}).items()))

    @rename_parameters(top="limit")
    def heavy_hitters(self, attribute: str, side: Side = "events", limit: int = 10) -> list[tuple[Any, int]]:
        """Return the most frequent values of an attribute with their counts, in descending order.

        Counts are exact if the attribute has few values. Otherwise, counts may be too low by `heavy_error(side)`, and
        values with a lower count than this are not listed.

        Parameters
        ----------
        attribute
            The name of the attribute.
        side
            "events" for values of events, "subscriptions" for constants of = and IN.
        limit
            The most values to return.
        """
        counts = self._get_census(side).list_hitters(attribute)
        most_frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [(decode_value(text), count) for text, count in most_frequent]

    def heavy_error(self, side: Side = "events") -> int:
        """Return the greatest error of the counts of `heavy_hitters`, which are never too high."""
        return self._get_census(side).heavy.error

    def distinct(self, attribute: str, side: Side = "events") -> int:
        """Return the number of distinct values of an attribute: exact if there are few, else an estimate."""
        return self._get_census(side).estimate_distinct(attribute)

    def histogram(self, attribute: str, side: Side = "events", buckets: int = 16) -> list[HistogramBucket]:
        """Return buckets of about equal counts of an attribute's numbers, or of its times if there are more of them.

        Text is read as numbers or times only if all values are text and every sampled value can be read so.
        """
        return build_histogram(self._get_census(side).estimate_weights(attribute), buckets)

    def weights(self, attribute: str, side: Side = "events") -> list[tuple[Any, float]]:
        """Return the values of an attribute with their counts.

        If there are many values, these are the heavy ones and a sample, which is weighted to represent all others.
        """
        weights = self._get_census(side).estimate_weights(attribute)
        return [(decode_value(text), weight) for text, weight in weights.items()]

    def sample(self) -> list[tuple[dict[str, Any], float]]:
        """Return all distinct events if there are few, else a sample, each with the number of events it represents.

        Examples
        --------
        >>> Profile.from_events([{"a": 1, "b": {"c": [2, 1]}}, {}, {}]).sample()
        [({'a': 1, 'b.c': [1, 2]}, 1.0), ({}, 2.0)]
        """
        return [
            ({attribute: _decode_values(texts) for attribute, texts in event.items()}, weight)
            for event, weight in self._sample.list_events_with_weights(self.events)
        ]

    def sharing(self) -> list[SharingLevel]:
        """Return the counts of sub-expressions by level, predicates first."""
        return self._sharing.list_levels()

    def _get_census(self, side: Side) -> Census:
        return self._values if side == "events" else self._constants

    # saving

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: dicts, lists and scalars, from which `from_json` makes an equal profile."""
        return {
            "subscriptions": self.subscriptions,
            "events": self.events,
            "malformed": self.malformed,
            # Lists of pairs, because the keys of JSON objects are strings, and sizes are not.
            **{name: sorted(map(list, counter.items())) for name, counter in self._counters().items()},
            "asked": {attribute: dict(families) for attribute, families in self._families.items()},
            "constants": self._constants.to_json(),
            "values": self._values.to_json(),
            "sharing": self._sharing.to_json(),
            "sample": self._sample.to_json(),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Profile:
        """Restore a profile from its JSON form.

        Raises
        ------
        FormatError
            If this is not the JSON form of a profile.
        """
        try:
            return cls._from_json(form)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"expected the JSON form of a profile: {error!r}") from error

    @classmethod
    def _from_json(cls, form: Mapping[str, Any]) -> Profile:
        profile = cls()
        profile.subscriptions, profile.events = form["subscriptions"], form["events"]
        profile.malformed = form["malformed"]
        for name, counter in profile._counters().items():
            counter.update(dict(form[name]))
        for attribute, families in form["asked"].items():
            profile._families[attribute].update(families)
        profile._constants = Census.from_json(form["constants"])
        profile._values = Census.from_json(form["values"])
        profile._sharing = Sharing.from_json(form["sharing"])
        profile._sample = EventSample.from_json(form["sample"])
        return profile

    def to_bytes(self) -> bytes:
        """Return the compressed JSON form."""
        return zlib.compress(json.dumps(self.to_json()).encode(), 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> Profile:
        """Restore a profile from the result of `to_bytes`.

        Raises
        ------
        FormatError
            If these are not the bytes of a profile.
        """
        try:
            form = json.loads(zlib.decompress(data))
        except (zlib.error, ValueError, TypeError) as error:
            raise FormatError(f"expected the bytes of a profile: {error}") from error
        return cls.from_json(form)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Profile) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # profiles are mutable

    def __repr__(self) -> str:
        return (
            f"<Profile of {self.subscriptions:,} subscriptions and {self.events:,} events, "
            f"{len(self.attributes):,} attributes>"
        )

    def __str__(self) -> str:
        return render_profile(self)


def _decode_values(texts: list[str]) -> Any:
    """Return the value of a single text, or the list of the values of several."""
    values = [decode_value(text) if text else Unreadable for text in texts]
    return values[0] if len(values) == 1 else values
