"""What do the subscriptions ask for, and what do the events carry? Statistics: small, mergeable, however split.

Everything is a count, or one of three sketches of bounded size:

| sketch | of what | how true |
|---|---|---|
| `_Distinct`, one per level | its sub-expressions | their number exact below 2,048, then within about 2 % |
| `_Sample`, one per attribute | its distinct values | counts exact; all values while they are few |
| `hits`, one per side | the heaviest pairs of attribute and value | too low by at most `error`, 1/32,769 of all |

Counts and the first two do not depend on the order of the input or on how it was divided: what is kept is what has the
smallest hashes. Nor does the third while there are at most 32,768 pairs; beyond that only its bound holds.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from tellwhen.compile.columns import Column, columns, is_string, objects, single_values, whole
from tellwhen.compile.tables import TICKS
from tellwhen.kernels.arrays import I64
from tellwhen.lang import limits
from tellwhen.lang.ast import Connective, Expr, Not, Predicate, Truth
from tellwhen.lang.values import EPOCH, Family, Interval, flatten, is_missing, is_unicode, members, reduce
from tellwhen.schema import value_from_text

Side = Literal["events", "subscriptions"]

DISTINCT = 2_048
"""Hashes kept for each level: the error of the estimate is about 1 / sqrt(2048)."""

COUNTERS = 32_768
"""Heavy pairs of attribute and value kept for each side."""

SAMPLED, MOST, LEAST = 1 << 17, 256, 8
"""Values sampled of all attributes together; and of one, at most and at least."""

PENDING = 1 << 17
"""Values and predicates gathered before the sketches see them, each distinct one once."""

LONG = 200
"""Characters of a string that are kept; a longer one goes on with its hash."""

BUCKETS = 16
LAST = (1 << 64) - 1
U64 = NDArray[np.uint64]
FAMILY: dict[str, Family] = {"n": "number", "t": "time", "s": "string", "b": "bool"}


class Bucket(NamedTuple):
    """How many values lie from `low` to `high`, ends included. Times are microseconds since 1970 in UTC."""

    low: float
    high: float
    count: int  # type: ignore[assignment]  # a tuple has a method of this name


class Level(NamedTuple):
    """Sub-expressions of a level, and how many are distinct (A-Tree, section 6.2, figure 7).

    Predicates are level 1, what is made of them directly is level 2: a node is one above the highest of its operands.
    Deviations: the order of operands does not matter, as for the ids of the paper's section 4.2.1, but nothing is
    reorganised to share more, for that depends on the order of arrival. NOT is a node, TRUE and FALSE are not counted.
    """

    level: int
    total: int
    distinct: int

    @property
    def ratio(self) -> float:
        """How many times the average sub-expression occurs."""
        return self.total / self.distinct


class Profile:
    """Statistics of subscriptions, of events, or of both; `|` merges.

    >>> import tellwhen as tw
    >>> asked = Profile.of_subscriptions(map(tw.parse, ["a = 1 AND b < 5", "a = 1", "NOT (b < 5 AND a = 1)"]))
    >>> seen = Profile.of_events([{"a": 1, "b": 4}, {"a": 1, "b": 9}, {"a": "x"}, {}])
    >>> both = asked | seen
    >>> both.event_frequency
    {'a': 0.75, 'b': 0.5}
    >>> both.heavy_hitters("a"), both.heavy_hitters("a", "subscriptions")
    ([(1, 2), ('x', 1)], [(1, 3)])
    >>> both.histogram("b", buckets=2)
    [Bucket(low=4, high=4, count=1), Bucket(low=9, high=9, count=1)]
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
        self.malformed = 0  # of the events, those that are no object
        self.operators: Counter[str] = Counter()
        self.sizes: Counter[int] = Counter()  # predicates in a subscription
        self.depths: Counter[int] = Counter()
        self._mentioned: Counter[str] = Counter()
        self._carried: Counter[str] = Counter()
        self._asked: dict[str, Counter[str]] = {}  # families by attribute
        self._constants, self._values = _Values(), _Values()
        self._totals: Counter[int] = Counter()  # by level
        self._distinct: dict[int, _Distinct] = {}

    # making

    @classmethod
    def of_subscriptions(cls, expressions: Iterable[Expr]) -> Profile:
        """One pass over expressions."""
        profile = cls()
        profile.add_subscriptions(expressions)
        return profile

    @classmethod
    def of_events(cls, events: Iterable[Mapping[str, Any]] | pa.Table) -> Profile:
        """One pass over events: mappings, or an Arrow table of them as `Index.match_many` takes it."""
        profile = cls()
        profile.add_events(events)
        return profile

    @classmethod
    def merged(cls, profiles: Iterable[Profile]) -> Profile:
        """One profile of all that the others have seen."""
        profile = cls()
        for other in profiles:
            profile.add(other)
        return profile

    def __or__(self, other: Profile) -> Profile:
        return Profile.merged([self, other])

    def add(self, other: Profile) -> None:
        """Merge another one into this one."""
        self.subscriptions += other.subscriptions
        self.events += other.events
        self.malformed += other.malformed
        for mine, others in zip(self._counters(), other._counters(), strict=True):
            mine.update(others)
        for attribute, families in other._asked.items():
            self._asked.setdefault(attribute, Counter()).update(families)
        self._constants.merge(other._constants)
        self._values.merge(other._values)
        for level, distinct in other._distinct.items():
            self._distinct.setdefault(level, _Distinct()).merge(distinct)

    def _counters(self) -> list[Counter[Any]]:
        return [self.operators, self.sizes, self.depths, self._mentioned, self._carried, self._totals]

    def add_subscriptions(self, expressions: Iterable[Expr]) -> None:
        """Count these too."""
        walk, times = _Walk(self._totals, self._distinct), self._mentioned
        for expression in expressions:
            mentioned: set[str] = set()
            walk.digest(expression, mentioned)
            for attribute in mentioned:
                times[attribute] += 1
            self.subscriptions += 1
            self.sizes[expression.size] += 1
            self.depths[expression.depth] += 1
            if len(walk.counts) > PENDING:
                self._flush(walk)
        self._flush(walk)
        self._constants.settle()
        for distinct in self._distinct.values():
            distinct.settle()

    def _flush(self, walk: _Walk) -> None:
        """Each distinct predicate once, with its count."""
        if not walk.counts:
            return
        constants, asked = _Pending(), self._asked
        lowest = self._distinct.setdefault(1, _Distinct())
        for key, count in walk.counts.items():
            attribute, operator, operand, kinds = key
            self.operators[operator] += count
            self._totals[1] += count
            lowest.add(walk.digests[key])
            if operand is not None:
                families = asked.get(attribute)
                if families is None:
                    families = asked[attribute] = Counter()
                families[_family(kinds[0] if type(kinds) is tuple else kinds)] += count
            if operator == "=":
                constants.add(attribute, operand, count)
            elif operator == "IN":
                for constant in operand:
                    constants.add(attribute, constant, count)
        constants.flush(self._constants)
        walk.clear()

    def add_events(self, events: Iterable[Mapping[str, Any]] | pa.Table) -> None:
        """Count these too."""
        if isinstance(events, pa.Table):
            self._add_table(events)
        else:
            self._add_mappings(events)
        self._values.settle()

    def _add_mappings(self, events: Iterable[Mapping[str, Any]]) -> None:
        pending, carried = _Pending(), self._carried
        for event in events:
            self.events += 1
            for name, value in flatten(event).items():
                kind = type(value)
                if kind is str or kind is int or kind is bool:  # the plain cases first
                    carried[name] += 1
                    pending.add(name, value, 1)
                    continue
                present = False
                for member in members(value):
                    if not is_missing(member):
                        present = True
                        pending.add(name, member, 1)
                if present:
                    carried[name] += 1
            if pending.size > PENDING:
                pending.flush(self._values)
        pending.flush(self._values)

    def _add_table(self, table: pa.Table) -> None:
        self.events += table.num_rows
        if table.num_columns == 1 and pt.is_map(table.schema.field(0).type):
            self._add_map(whole(table.column(0)))
            return
        rows = np.arange(table.num_rows)
        for column in columns(table):
            self._add_columns(column.name, [column], rows)

    def _add_map(self, column: pa.MapArray) -> None:
        # A null map may still own entries in the child arrays.
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(len(column)), np.diff(column.offsets.to_numpy(zero_copy_only=False)))
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        keys, items = column.keys[first:last], column.items[first:last]
        coded = keys.dictionary_encode()
        codes = np.where(valid[rows], coded.indices.to_numpy(zero_copy_only=False), -1)
        order = np.argsort(codes, kind="stable")
        begin = np.searchsorted(codes[order], np.arange(len(coded.dictionary) + 1))
        for code, name in enumerate(coded.dictionary.to_pylist()):
            mine = order[begin[code] : begin[code + 1]]
            if len(mine) and len(name) <= limits.NAME:
                values = items.take(pa.array(mine))
                # Structs are unions by hand: whichever fields are not null.
                parts = values.flatten() if pt.is_struct(values.type) else [values]
                self._add_columns(name, [Column(name, part, None) for part in parts], rows[mine])

    def _add_columns(self, name: str, parts: list[Column], rows: I64) -> None:
        present = []
        for part in parts:
            values, owners = single_values(part.values, rows, part.valid)
            present.append(owners)
            if len(owners):
                self._values.add_column(name, values)
        carried = len(np.unique(np.concatenate(present))) if present else 0
        if carried:
            self._carried[name] += carried

    # asking

    @property
    def subscription_frequency(self) -> dict[str, float]:
        """The share of the subscriptions that mention an attribute."""
        return {name: count / self.subscriptions for name, count in sorted(self._mentioned.items())}

    @property
    def event_frequency(self) -> dict[str, float]:
        """The share of the events that carry an attribute."""
        return {name: count / self.events for name, count in sorted(self._carried.items())}

    @property
    def attributes(self) -> list[str]:
        """All that are mentioned or carried."""
        return sorted(self._mentioned.keys() | self._carried.keys())

    def families(self, attribute: str, side: Side = "events") -> dict[str, int]:
        """How many values of the events, or predicates of the subscriptions, are of which family."""
        by_attribute = self._values.families if side == "events" else self._asked
        return dict(sorted(by_attribute.get(attribute, Counter()).items()))

    def heavy_hitters(self, attribute: str, side: Side = "events", top: int = 10) -> list[tuple[Any, int]]:
        """The most frequent values of the events, or constants of = and IN, with their counts.

        Exact if the attribute has few values; else the counts are too low by at most `heavy_error(side)`, and what
        is less frequent than that is not listed.
        """
        found = self._side(side).heavy(attribute)
        return [(value_of(text), count) for text, count in sorted(found.items(), key=lambda t: (-t[1], t[0]))[:top]]

    def heavy_error(self, side: Side = "events") -> int:
        """By how much the counts of heavy hitters may be too low."""
        return self._side(side).error

    def distinct(self, attribute: str, side: Side = "events") -> int:
        """How many values there are: exact if few, else an estimate."""
        return self._side(side).distinct(attribute)

    def histogram(self, attribute: str, side: Side = "events", buckets: int = BUCKETS) -> list[Bucket]:
        """Numbers or times, whichever are more, in buckets of about equal counts; empty if there are none.

        Text is taken for numbers, or times, only if there is nothing but text and every value sampled reads as one.
        """
        return _histogram(self._side(side).weights(attribute), buckets)

    def sharing(self) -> list[Level]:
        """Sub-expressions by level, predicates first."""
        return [Level(level, total, self._distinct[level].estimate()) for level, total in sorted(self._totals.items())]

    def _side(self, side: Side) -> _Values:
        return self._values if side == "events" else self._constants

    # keeping

    def to_json(self) -> dict[str, Any]:
        """The JSON form: plain dicts, lists and scalars; `from_json` makes an equal profile of it."""
        return {
            "subscriptions": self.subscriptions,
            "events": self.events,
            "malformed": self.malformed,
            "operators": dict(self.operators),
            "sizes": {str(size): count for size, count in self.sizes.items()},
            "depths": {str(depth): count for depth, count in self.depths.items()},
            "mentioned": dict(self._mentioned),
            "carried": dict(self._carried),
            "asked": {attribute: dict(families) for attribute, families in self._asked.items()},
            "constants": self._constants.to_json(),
            "values": self._values.to_json(),
            "levels": {
                str(level): [total, sorted(digest.hex() for digest in self._distinct[level].kept)]
                for level, total in self._totals.items()
            },
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Profile:
        """The profile of which `to_json` made this."""
        profile = cls()
        profile.subscriptions, profile.events = form["subscriptions"], form["events"]
        profile.malformed = form["malformed"]
        profile.operators.update(form["operators"])
        profile.sizes.update({int(size): count for size, count in form["sizes"].items()})
        profile.depths.update({int(depth): count for depth, count in form["depths"].items()})
        profile._mentioned.update(form["mentioned"])
        profile._carried.update(form["carried"])
        profile._asked = {attribute: Counter(families) for attribute, families in form["asked"].items()}
        profile._constants = _Values.from_json(form["constants"])
        profile._values = _Values.from_json(form["values"])
        for level, (total, digests) in form["levels"].items():
            profile._totals[int(level)] = total
            profile._distinct[int(level)] = _Distinct({bytes.fromhex(digest) for digest in digests})
        return profile

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Profile) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return (
            f"<Profile of {self.subscriptions:,} subscriptions and {self.events:,} events, "
            f"{len(self.attributes):,} attributes>"
        )

    def __str__(self) -> str:
        return "\n".join(_summary(self))


# subscriptions


class _Walk:
    """Digests of sub-expressions: equal ones for equal meaning up to the order of operands and of IN lists."""

    def __init__(self, totals: Counter[int], distinct: dict[int, _Distinct]) -> None:
        self._totals, self._distinct = totals, distinct
        # Predicates recur: each is digested once, and counted. In two dicts, as lists would be the collector's work.
        self.counts: dict[tuple[str, str, Any, Any], int] = {}
        self.digests: dict[tuple[str, str, Any, Any], bytes] = {}

    def clear(self) -> None:
        self.counts.clear()
        self.digests.clear()

    def digest(self, expr: Expr, mentioned: set[str]) -> bytes:
        """Of the expression and, counting them on the way, of all inside."""
        if isinstance(expr, Predicate):
            attribute, operand = expr.attribute, expr.operand
            mentioned.add(attribute)
            # 1 == 1.0 == True in Python, so the type is part of the key.
            kind: Any = type(operand)
            key = (attribute, expr.operator, operand, tuple(map(type, operand)) if kind is tuple else kind)
            known = self.counts.get(key)
            if known is not None:
                self.counts[key] = known + 1
                return self.digests[key]
            self.counts[key] = 1
            digest = self.digests[key] = _digest(_predicate_text(expr).encode())
            return digest
        if isinstance(expr, Truth):
            return b"TRUE    " if expr.value else b"FALSE   "
        if isinstance(expr, Not):
            digest = _digest(b"NOT " + self.digest(expr.arg, mentioned))
        else:
            assert isinstance(expr, Connective)
            parts = sorted([self.digest(arg, mentioned) for arg in expr.args])
            digest = _digest(expr.keyword.encode() + b" " + b"".join(parts))
        level = expr.depth + 1
        self._totals[level] += 1
        distinct = self._distinct.get(level)
        if distinct is None:
            distinct = self._distinct[level] = _Distinct()
        distinct.add(digest)
        return digest


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()


def _family(kind: type) -> Family:
    """The family of constants of a type."""
    if kind is str:
        return "string"
    if kind is bool:
        return "bool"
    return "number" if kind is int or kind is float else "time"


def _predicate_text(predicate: Predicate) -> str:
    """Unlike the text that parses, the same for 1 and 1.0, and for IN (1, 2) and IN (2, 1)."""
    operand = predicate.operand
    if isinstance(operand, tuple):
        parts = [repr(part) if part is None else _text(part) for part in operand]
        if predicate.operator in ("IN", "NOT IN"):
            parts = sorted(set(parts))
        shown = repr(parts)
    else:
        shown = "" if operand is None else _text(operand)
    return f"{predicate.attribute}\0{predicate.operator}\0{shown}"


class _Distinct:
    """The smallest hashes of what came by: how many different ones were there? (KMV; Bar-Yossef et al. 2002.)"""

    __slots__ = ("_limit", "kept")

    def __init__(self, kept: set[bytes] | None = None) -> None:
        self.kept: set[bytes] = kept or set()
        self._limit = b"\xff" * 8

    def add(self, digest: bytes) -> None:
        if digest <= self._limit:
            self.kept.add(digest)
            if len(self.kept) > 2 * DISTINCT:
                self.settle()

    def merge(self, other: _Distinct) -> None:
        self.kept |= other.kept
        self.settle()

    def settle(self) -> None:
        if len(self.kept) > DISTINCT:
            smallest = sorted(self.kept)[:DISTINCT]
            self.kept, self._limit = set(smallest), smallest[-1]

    def estimate(self) -> int:
        if len(self.kept) < DISTINCT:
            return len(self.kept)
        return _estimate(len(self.kept), int.from_bytes(max(self.kept), "big"))


def _estimate(kept: int, last: int) -> int:
    return round((kept - 1) * (LAST / max(1, last)))


# values


class _Pending:
    """Values as they come, counted by attribute and type, so that the sketches see each distinct one once."""

    def __init__(self) -> None:
        self.size = 0
        self._counts: dict[tuple[str, type], dict[Any, int]] = {}

    def add(self, attribute: str, value: Any, count: int) -> None:
        kind = type(value)
        if kind is not str and kind is not int and kind is not bool:
            if isinstance(value, Interval):
                return  # carried, but no value
            reduced = reduce(value)
            if reduced is None:
                return
            value = reduced.key
            if reduced.family == "time":
                kind, value = dt.datetime, value // 1000
            else:
                kind = bool if reduced.family == "bool" else type(value)
        counts = self._counts.get((attribute, kind))
        if counts is None:
            counts = self._counts[attribute, kind] = {}
        counts[value] = counts.get(value, 0) + count
        self.size += 1

    def flush(self, into: _Values) -> None:
        for (attribute, kind), found in self._counts.items():
            counts = np.fromiter(found.values(), np.int64, len(found))
            if kind is str:
                into.add_texts(attribute, "string", ["s" + value for value in found], counts)
            elif kind is bool:
                into.add_texts(attribute, "bool", [f"b{int(value)}" for value in found], counts)
            elif kind is int and max(found) <= limits.INTEGER and min(found) >= -limits.INTEGER:
                numbers = np.fromiter(found, np.int64, len(found))
                into.add_distinct(attribute, "number", numbers, counts, _mixed(numbers, 0))
            elif kind is int:
                for value, count in found.items():
                    key: Any = reduce(value).key  # type: ignore[union-attr]
                    into.add_numbers(attribute, np.array([key]), np.array([count]))
            elif kind is float:
                into.add_numbers(attribute, np.fromiter(found, np.float64, len(found)), counts)
            else:
                into.add_times(attribute, np.fromiter(found, np.int64, len(found)), counts)
        self._counts.clear()
        self.size = 0


class _Sample:
    """Of the distinct values of an attribute those with the smallest hashes, each with its exact count.

    Exact, because a value among the smallest in the end was among the smallest ever since it first came.
    """

    __slots__ = ("kept", "limit")

    def __init__(self) -> None:
        self.kept: dict[int, tuple[str, int]] = {}  # hash -> text, count
        self.limit = LAST

    def add_all(self, hashes: Iterable[int], texts: Iterable[str], counts: Iterable[int]) -> None:
        kept = self.kept
        for hash_, text, count in zip(hashes, texts, counts, strict=True):
            known = kept.get(hash_)
            kept[hash_] = (text, count) if known is None else (text, known[1] + count)

    def cut(self, room: int) -> None:
        if len(self.kept) > room:
            smallest = sorted(self.kept)[:room]
            self.kept = {hash_: self.kept[hash_] for hash_ in smallest}
            self.limit = smallest[-1]


class _Values:
    """The values of all attributes, as texts with a letter for the family in front: n1, n0.5, sred, b1, t0."""

    def __init__(self) -> None:
        self.families: dict[str, Counter[str]] = {}
        self.samples: dict[str, _Sample] = {}
        self.hits: dict[str, dict[str, int]] = {}
        self.error = 0
        self._size = 0  # of all hits

    def _room(self) -> int:
        """Values to sample of an attribute: fewer, the more attributes there are.

        It never grows again, so whatever a part has cut away is cut from the whole too.
        """
        return max(LEAST, min(MOST, SAMPLED // max(1, len(self.samples))))

    # coming in

    def add_column(self, attribute: str, values: pa.Array | list[Any]) -> None:
        """Arrow values, none of them null, or Python objects."""
        if not isinstance(values, list):
            kind = values.type
            if pt.is_dictionary(kind):
                values = values.dictionary_decode()
                kind = values.type
            if pt.is_floating(kind):
                values = pa.array(values.to_numpy() + 0.0)  # -0.0 is 0.0
            if pt.is_integer(kind) or pt.is_floating(kind):
                self.add_numbers(attribute, *_counted(values))
                return
            if pt.is_timestamp(kind) or pt.is_date(kind):
                self.add_times(attribute, *_counted(pa.array(_microseconds(values))))
                return
            if is_string(kind) or pt.is_boolean(kind):
                counted = values.value_counts()
                found, counts = counted.field(0).to_pylist(), counted.field(1).to_numpy()
                texts = ["s" + text for text in found] if is_string(kind) else [f"b{int(text)}" for text in found]
                self.add_texts(attribute, "string" if is_string(kind) else "bool", texts, counts)
                return
            values = objects(values)
        pending = _Pending()
        for value in values:
            pending.add(attribute, value, 1)
        pending.flush(self)

    def add_numbers(self, attribute: str, values: NDArray[Any], counts: I64) -> None:
        """Whole ones as integers, others as doubles, so that equal numbers have equal texts and hashes."""
        if values.dtype.kind != "f":
            large = values > limits.INTEGER
            if values.dtype.kind == "i":
                large |= values < -limits.INTEGER
        else:
            large = ~((np.floor(values) == values) & (np.abs(values) < float(limits.INTEGER)))
        for part, kind, salt in ((~large, np.int64, 0), (large, np.float64, 1)):
            if part.any():
                numbers = values[part].astype(kind)
                self.add_distinct(attribute, "number", numbers, counts[part], _mixed(numbers, salt))

    def add_times(self, attribute: str, values: I64, counts: I64) -> None:
        self.add_distinct(attribute, "time", values, counts, _mixed(values, 2))

    def add_texts(self, attribute: str, family: Family, texts: list[str], counts: I64) -> None:
        if family == "string":
            if not all([text.isascii() or is_unicode(text) for text in texts]):
                good = [is_unicode(text) for text in texts]  # a lone surrogate is no text
                texts, counts = [text for text, fine in zip(texts, good, strict=True) if fine], counts[np.array(good)]
            texts = [text if len(text) <= LONG else _shortened(text) for text in texts]
        if texts:
            self.add_distinct(attribute, family, texts, counts, _hashed(texts))

    def add_distinct(self, attribute: str, family: Family, values: Any, counts: I64, hashes: U64) -> None:
        """Values of one family, each once: whole numbers, doubles, times, or texts, with their counts and hashes."""
        families = self.families.get(attribute)
        if families is None:
            families = self.families[attribute] = Counter()
            self.samples[attribute] = _Sample()
            self.hits[attribute] = {}
        families[family] += int(counts.sum())
        sample, room = self.samples[attribute], self._room()
        if len(counts) > COUNTERS:
            # As `_compact` does, before any text is made of what would not stay.
            least = np.partition(counts, -COUNTERS - 1)[-COUNTERS - 1]
            frequent = np.flatnonzero(counts > least)
            texts, fewer = _texts(family, values, frequent), (counts[frequent] - least).tolist()
            self.error += int(least)
        else:
            texts, fewer = _texts(family, values, None), counts.tolist()
        if len(counts) <= LEAST:
            # Most calls, if there are many attributes: no arithmetic on arrays to spare so few.
            sample.add_all(hashes.tolist(), texts, fewer)
        else:
            near = np.flatnonzero(hashes <= np.uint64(sample.limit))
            if len(near) > room:
                near = near[np.argpartition(hashes[near], room - 1)[:room]]
            sample.add_all(hashes[near].tolist(), _texts(family, values, near), counts[near].tolist())
        if len(sample.kept) > 2 * room:
            sample.cut(room)
        mine = self.hits[attribute]
        self._size -= len(mine)
        for text, count in zip(texts, fewer, strict=True):
            mine[text] = mine.get(text, 0) + count
        self._size += len(mine)
        if self._size > 2 * COUNTERS:
            self._compact()

    def _compact(self) -> None:
        """Misra-Gries: what the first pair that does not fit counts is taken from all (Agarwal et al. 2012).

        This takes it from at least COUNTERS + 1 pairs, hence the bound of the error, merged or not.
        """
        if self._size <= COUNTERS:
            return
        counts = np.fromiter((count for mine in self.hits.values() for count in mine.values()), np.int64, self._size)
        least = int(np.partition(counts, -COUNTERS - 1)[-COUNTERS - 1])
        for attribute, mine in self.hits.items():
            self.hits[attribute] = {text: count - least for text, count in mine.items() if count > least}
        self.error += least
        self._size = sum(map(len, self.hits.values()))

    def settle(self) -> None:
        """Cut to size, so that equal input gives equal profiles."""
        room = self._room()
        for sample in self.samples.values():
            sample.cut(room)
        self._compact()

    def merge(self, other: _Values) -> None:
        for attribute, families in other.families.items():
            self.families.setdefault(attribute, Counter()).update(families)
            sample = self.samples.setdefault(attribute, _Sample())
            found = other.samples[attribute].kept
            sample.add_all(found, *zip(*found.values(), strict=True))
            mine = self.hits.setdefault(attribute, {})
            self._size -= len(mine)
            for text, count in other.hits[attribute].items():
                mine[text] = mine.get(text, 0) + count
            self._size += len(mine)
        self.error += other.error
        self.settle()

    # going out

    def _sampled(self, attribute: str) -> tuple[dict[str, int], bool]:
        """The sample, and whether it is all there is."""
        sample = self.samples.get(attribute, _Sample())
        return dict(sample.kept.values()), len(sample.kept) < self._room()

    def heavy(self, attribute: str) -> dict[str, int]:
        sampled, complete = self._sampled(attribute)
        if complete:
            return sampled
        # What counts less than the error may be no heavier than a value that has been dropped.
        found = {text: count for text, count in self.hits[attribute].items() if count > self.error}
        return {text: sampled.get(text, count) for text, count in found.items()}

    def weights(self, attribute: str) -> dict[str, float]:
        """All values if few; else the heavy ones, and a sample standing for the rest."""
        sampled, complete = self._sampled(attribute)
        heavy: dict[str, float] = dict(self.heavy(attribute))
        light = {text: count for text, count in sampled.items() if text not in heavy}
        rest = self.families[attribute].total() - sum(heavy.values()) if light else 0
        if complete or rest <= 0:
            return heavy
        scale = rest / sum(light.values())
        return heavy | {text: count * scale for text, count in light.items()}

    def distinct(self, attribute: str) -> int:
        sampled, complete = self._sampled(attribute)
        return len(sampled) if complete else _estimate(len(sampled), max(self.samples[attribute].kept))

    def to_json(self) -> dict[str, Any]:
        return {
            "families": {attribute: dict(families) for attribute, families in self.families.items()},
            "samples": {attribute: dict(sample.kept.values()) for attribute, sample in self.samples.items()},
            "hits": self.hits,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> _Values:
        values = cls()
        values.families = {attribute: Counter(families) for attribute, families in form["families"].items()}
        for attribute, counts in form["samples"].items():
            sample = values.samples[attribute] = _Sample()
            sample.add_all(_hashes_of(list(counts)), counts, counts.values())
        values.hits = {attribute: dict(mine) for attribute, mine in form["hits"].items()}
        values.error = form["error"]
        values._size = sum(map(len, values.hits.values()))
        return values


def _counted(column: pa.Array) -> tuple[NDArray[Any], I64]:
    counted = column.value_counts()
    return counted.field(0).to_numpy(), counted.field(1).to_numpy()


def _microseconds(column: pa.Array) -> I64:
    if pt.is_date32(column.type):
        ticks, (multiply, divide) = column.cast(pa.int32()).cast(pa.int64()), (86_400_000_000, 1)
    else:
        ticks = column.cast(pa.int64())
        multiply, divide = TICKS["ms" if pt.is_date64(column.type) else column.type.unit]
    most = ((1 << 63) - 1) // multiply
    return np.clip(ticks.to_numpy(), -most, most) * multiply // divide


# texts and hashes


def _text(value: Any) -> str:
    """A constant as `_Values` writes it."""
    kind = type(value)
    if kind is int or kind is str:  # the plain cases first: constants are in range
        return f"n{value}" if kind is int else "s" + value
    reduced = reduce(value)
    assert reduced is not None
    family, key = reduced
    if family == "number":
        return f"n{int(key) if isinstance(key, float) and abs(key) < limits.INTEGER and key.is_integer() else key}"
    return f"t{key // 1000}" if family == "time" else f"{family[0]}{key}"


def _shortened(text: str) -> str:
    return f"{text[:LONG]}…{_digest(text.encode()).hex()}"


def value_of(text: str) -> Any:
    """The value that a text stands for."""
    kind, rest = text[0], text[1:]
    if kind == "s":
        return rest
    if kind == "b":
        return rest == "1"
    if kind == "t":
        try:
            return EPOCH + dt.timedelta(microseconds=int(rest))
        except OverflowError:  # Arrow has times beyond year 9999
            return int(rest)
    return _number(rest)


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _texts(family: Family, values: Any, which: I64 | None) -> list[str]:
    """Texts of some of the values; of strings these are the values."""
    if isinstance(values, list):
        return values if which is None else [values[i] for i in which.tolist()]
    letter = family[0]
    return [f"{letter}{value}" for value in (values if which is None else values[which]).tolist()]


def _hashed(texts: list[str]) -> U64:
    return np.frombuffer(b"".join([_digest(text.encode()) for text in texts]), ">u8").astype(np.uint64)


def _mixed(values: NDArray[Any], salt: int) -> U64:
    """Hashes of numbers, all at once: the finalizer of SplitMix64."""
    bits = values.view(np.uint64) + np.uint64((salt * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) % (1 << 64))
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _hashes_of(texts: list[str]) -> list[int]:
    """The same hashes as when the values came in."""
    hashes = np.zeros(len(texts), np.uint64)
    parts: dict[int, list[int]] = {}
    for i, text in enumerate(texts):
        salt = 3
        if text[0] == "t":
            salt = 2
        elif text[0] == "n":
            salt = 0 if isinstance(_number(text[1:]), int) else 1
        parts.setdefault(salt, []).append(i)
    for salt, which in parts.items():
        chosen = [texts[i] for i in which]
        if salt == 3:
            hashes[which] = _hashed(chosen)
        else:
            numbers = [_number(text[1:]) for text in chosen]
            hashes[which] = _mixed(np.array(numbers, np.float64 if salt == 1 else np.int64), salt)
    found: list[int] = hashes.tolist()
    return found


# showing


def _histogram(weights: dict[str, float], buckets: int) -> list[Bucket]:
    points: dict[Family, dict[float, float]] = {}
    for text, weight in weights.items():
        family = FAMILY[text[0]]
        if family in ("number", "time"):
            points.setdefault(family, {})[_number(text[1:])] = weight
    if not points and all([text[0] == "s" for text in weights]):
        for family in ("number", "time"):
            read = _read(weights, family)
            if read is not None:
                points[family] = read
                break
    if not points or not weights:
        return []
    chosen = max(points.values(), key=lambda found: sum(found.values()))
    values = sorted(chosen)
    sums = np.cumsum([chosen[value] for value in values])
    ends = np.searchsorted(sums, sums[-1] * np.arange(1, buckets + 1) / buckets - 1e-6)
    ends = np.unique(np.minimum(ends, len(values) - 1)).tolist()
    found, begin, before = [], 0, 0
    for end in ends:
        upto = round(float(sums[end]))
        found.append(Bucket(values[begin], values[end], upto - before))
        begin, before = end + 1, upto
    return found


def _read(weights: dict[str, float], family: Family) -> dict[float, float] | None:
    """Text as numbers or times, if all of it is."""
    points: dict[float, float] = {}
    for text, weight in weights.items():
        reduced = reduce(value_from_text(text[1:], family))
        if reduced is None:
            return None
        key = reduced.key // 1000 if family == "time" else reduced.key
        points[key] = points.get(key, 0) + weight
    return points


def _summary(profile: Profile) -> list[str]:
    lines = []
    if profile.subscriptions:
        mean = sum(size * count for size, count in profile.sizes.items()) / profile.subscriptions
        lines.append(
            f"{profile.subscriptions:,} subscriptions: {mean:.1f} predicates on average, "
            f"{max(profile.sizes):,} at most; nested {max(profile.depths)} deep at most"
        )
        frequent = sorted(profile.operators.items(), key=lambda t: (-t[1], t[0]))
        lines.append("operators: " + ", ".join(f"{operator} {count:,}" for operator, count in frequent))
    if profile.events:
        mean = math.fsum(profile.event_frequency.values())
        malformed = f"; {profile.malformed:,} are no object" if profile.malformed else ""
        lines.append(f"{profile.events:,} events: {mean:.1f} attributes on average{malformed}")
    if profile.sharing():
        rows = [(str(s.level), f"{s.total:,}", f"{s.distinct:,}", f"{s.ratio:.2f}") for s in profile.sharing()]
        lines += _table(("level", "sub-expressions", "distinct", "sharing"), rows, ">>>>")
    asked, seen = profile.subscription_frequency, profile.event_frequency
    names = sorted(profile.attributes, key=lambda name: (-asked.get(name, 0) - seen.get(name, 0), name))
    rows_of = []
    for name in names[:10]:
        families = sorted({*profile.families(name), *profile.families(name, "subscriptions")})
        hits = ", ".join(f"{value!r:.30} ({count:,})" for value, count in profile.heavy_hitters(name, top=3))
        rows_of.append((name, _percent(asked, name), _percent(seen, name), ", ".join(families), hits))
    if rows_of:
        lines += _table(
            ("attribute", "in subscriptions", "in events", "families", "most frequent in events"), rows_of, "<>><<"
        )
    if len(names) > 10:
        lines.append(f"and {len(names) - 10:,} more attributes")
    return lines or ["nothing yet"]


def _percent(frequency: dict[str, float], name: str) -> str:
    return f"{frequency.get(name, 0):.1%}".replace("%", " %")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], align: str) -> list[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]
