"""What can a profile answer, and how is one made, merged and saved?"""

from __future__ import annotations

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pyarrow as pa

from tellwhen.encode.columns import Unreadable
from tellwhen.encode.frames import as_table_or_dicts
from tellwhen.errors import ExpressionError, FormatError, TellwhenError, abbreviate
from tellwhen.language.ast import Expr
from tellwhen.language.read import Given, read
from tellwhen.profile.census import Census
from tellwhen.profile.events import Batch, EventSample
from tellwhen.profile.histogram import HistogramBucket, histogram
from tellwhen.profile.mappings import MappingBatch
from tellwhen.profile.rendering import show
from tellwhen.profile.sharing import Sharing, SharingLevel
from tellwhen.profile.tables import TableBatch
from tellwhen.profile.values import text_of, value_of

Side = Literal["events", "subscriptions"]


class Profile:
    """Statistics of subscriptions, of events, or of both; `|` merges.

    By the statistics of events, `tw.Index(profile=...)` chooses what to test first, and `tellwhen.spark.build` also
    which shard a subscription goes to.

    >>> import tellwhen as tw
    >>> asked = Profile.of_subscriptions(map(tw.parse, ["a = 1 AND b < 5", "a = 1", "NOT (b < 5 AND a = 1)"]))
    >>> seen = Profile.of_events([{"a": 1, "b": 4}, {"a": 1, "b": 9}, {"a": "x"}, {}])
    >>> both = asked | seen
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
        self.malformed = 0  # events that are no object
        self.operators: Counter[str] = Counter()
        self.sizes: Counter[int] = Counter()  # predicates in a subscription
        self.depths: Counter[int] = Counter()
        self._asked: defaultdict[str, Counter[str]] = defaultdict(Counter)  # families of predicates by attribute
        self._constants, self._values = Census(), Census()
        self._sharing = Sharing()
        self._sample = EventSample()

    # making

    @classmethod
    def of_subscriptions(cls, expressions: Iterable[Given] | Mapping[Any, Given]) -> Profile:
        """A profile of expressions, in one pass: in any form that `Index.add` takes, or a mapping such as an index."""
        profile = cls()
        profile.add_subscriptions(expressions)
        return profile

    @classmethod
    def of_events(cls, events: Any) -> Profile:
        """A profile of events, in one pass: in any form that `Index.match_many` takes."""
        profile = cls()
        profile.add_events(events)
        return profile

    @classmethod
    def merged(cls, profiles: Iterable[Profile]) -> Profile:
        """The profile of everything that the given ones have counted."""
        profile = cls()
        for other in profiles:
            profile.add(other)
        return profile

    def __or__(self, other: Profile) -> Profile:
        return Profile.merged([self, other])

    def add(self, other: Profile) -> None:
        """Merge another profile into this one."""
        if not isinstance(other, Profile):
            raise TellwhenError(f"only a profile can be merged into a profile, not {abbreviate(other)}")
        self.subscriptions += other.subscriptions
        self.events += other.events
        self.malformed += other.malformed
        for name, counter in self._counters().items():
            counter.update(other._counters()[name])
        for attribute, families in other._asked.items():
            self._asked[attribute].update(families)
        self._constants.merge(other._constants)
        self._values.merge(other._values)
        self._sharing.merge(other._sharing)
        self._sample.merge(other._sample)

    def _counters(self) -> dict[str, Counter[Any]]:
        return {"operators": self.operators, "sizes": self.sizes, "depths": self.depths}

    def add_subscriptions(self, expressions: Iterable[Given] | Mapping[Any, Given]) -> None:
        """Count these subscriptions, too."""
        if isinstance(expressions, str | bytes) or not isinstance(expressions, Iterable):
            raise ExpressionError(
                f"subscriptions are a list or a mapping of expressions, not {abbreviate(expressions)}"
            )
        for given in expressions.values() if isinstance(expressions, Mapping) else expressions:
            expression = given if isinstance(given, Expr) else read(given)[0]
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
                    self._asked[attribute][family] += 1
                if predicate.operator in ("=", "IN"):
                    for constant in predicate.constants:
                        self._constants.add(attribute, text_of(constant))
            self._constants.present.update(mentioned)
        self._constants.trim()
        self._sharing.trim()

    def add_events(self, events: Any) -> None:
        """Count these events, too."""
        events = as_table_or_dicts(events)
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
        for attribute, events, counts, hashes in batch.carried():
            self._values.present[attribute] += events
            if counts:
                self._values.add_counts(attribute, counts, hashes)
        self._sample.add(batch)

    # reading

    @property
    def subscription_frequency(self) -> dict[str, float]:
        """The share of the subscriptions that mention an attribute."""
        return {name: count / self.subscriptions for name, count in sorted(self._constants.present.items())}

    @property
    def event_frequency(self) -> dict[str, float]:
        """The share of the events that carry an attribute."""
        return {name: count / self.events for name, count in sorted(self._values.present.items())}

    @property
    def attributes(self) -> list[str]:
        """All attributes that subscriptions mention or events carry."""
        return sorted(self._constants.present.keys() | self._values.present.keys())

    def families(self, attribute: str, side: Side = "events") -> dict[str, int]:
        """By family: the number of values in events, or of predicates in subscriptions."""
        by_attribute = self._values.families if side == "events" else self._asked
        return dict(sorted(by_attribute.get(attribute, {}).items()))

    def heavy_hitters(self, attribute: str, side: Side = "events", top: int = 10) -> list[tuple[Any, int]]:
        """The most frequent values of the events, or constants of = and IN, with their counts.

        Exact if the attribute has few values. Else a count may be too low by `heavy_error(side)`, and values that are
        less frequent than that are not listed.
        """
        found = self._side(side).hitters(attribute)
        return [(value_of(text), count) for text, count in sorted(found.items(), key=lambda t: (-t[1], t[0]))[:top]]

    def heavy_error(self, side: Side = "events") -> int:
        """The most by which a count of `heavy_hitters` may be too low."""
        return self._side(side).heavy.error

    def distinct(self, attribute: str, side: Side = "events") -> int:
        """The number of distinct values: exact if there are few, else an estimate."""
        return self._side(side).distinct(attribute)

    def histogram(self, attribute: str, side: Side = "events", buckets: int = 16) -> list[HistogramBucket]:
        """The numbers, or the times if there are more of them, in buckets of about equal counts.

        Text is read as numbers or times only if all values are text and every sampled one reads as such.
        """
        return histogram(self._side(side).weights(attribute), buckets)

    def weights(self, attribute: str, side: Side = "events") -> list[tuple[Any, float]]:
        """Values with how often they occur: all of them if there are few; else the heavy ones, and a sample that stands
        for the rest."""
        return [(value_of(text), weight) for text, weight in self._side(side).weights(attribute).items()]

    def sample(self) -> list[tuple[dict[str, Any], float]]:
        """Events, each with the number of events that it stands for: all of them if there are few, else a sample.

        >>> Profile.of_events([{"a": 1, "b": {"c": [2, 1]}}, {}, {}]).sample()
        [({'a': 1, 'b.c': [1, 2]}, 1.0), ({}, 2.0)]
        """
        return [
            ({attribute: _value(texts) for attribute, texts in event.items()}, weight)
            for event, weight in self._sample.weighted(self.events)
        ]

    def sharing(self) -> list[SharingLevel]:
        """Sub-expressions by level, predicates first."""
        return self._sharing.levels()

    def _side(self, side: Side) -> Census:
        return self._values if side == "events" else self._constants

    # saving

    def to_json(self) -> dict[str, Any]:
        """The JSON form: dicts, lists and scalars, from which `from_json` makes an equal profile."""
        return {
            "subscriptions": self.subscriptions,
            "events": self.events,
            "malformed": self.malformed,
            # As lists of pairs: the keys of JSON objects are strings, sizes are not.
            **{name: sorted(map(list, counter.items())) for name, counter in self._counters().items()},
            "asked": {attribute: dict(families) for attribute, families in self._asked.items()},
            "constants": self._constants.to_json(),
            "values": self._values.to_json(),
            "sharing": self._sharing.to_json(),
            "sample": self._sample.to_json(),
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Profile:
        """The profile that `to_json` was called on."""
        try:
            return cls._from_json(form)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"this is not the JSON form of a profile: {error!r}") from error

    @classmethod
    def _from_json(cls, form: Mapping[str, Any]) -> Profile:
        profile = cls()
        profile.subscriptions, profile.events = form["subscriptions"], form["events"]
        profile.malformed = form["malformed"]
        for name, counter in profile._counters().items():
            counter.update(dict(form[name]))
        for attribute, families in form["asked"].items():
            profile._asked[attribute].update(families)
        profile._constants = Census.from_json(form["constants"])
        profile._values = Census.from_json(form["values"])
        profile._sharing = Sharing.from_json(form["sharing"])
        profile._sample = EventSample.from_json(form["sample"])
        return profile

    def to_bytes(self) -> bytes:
        """The JSON form, compressed."""
        return zlib.compress(json.dumps(self.to_json()).encode(), 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> Profile:
        """The profile that `to_bytes` was called on."""
        try:
            form = json.loads(zlib.decompress(data))
        except (zlib.error, ValueError, TypeError) as error:
            raise FormatError(f"these are not the bytes of a profile: {error}") from error
        return cls.from_json(form)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Profile) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return (
            f"<Profile of {self.subscriptions:,} subscriptions and {self.events:,} events, "
            f"{len(self.attributes):,} attributes>"
        )

    def __str__(self) -> str:
        return show(self)


def _value(texts: list[str]) -> Any:
    """One value, or a list."""
    values = [value_of(text) if text else Unreadable for text in texts]
    return values[0] if len(values) == 1 else values
