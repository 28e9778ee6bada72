"""Do values become points, and constants labels, in the right order?"""

import bisect
import datetime as dt
import itertools
import math
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tellwhen as tw
from strategies import TEXT
from tellwhen.compile import dictionary, domains
from tellwhen.compile.dictionary import Dictionary, successor
from tellwhen.compile.domains import complement, float_point, int_point, time_point
from tellwhen.compile.kernels.intern import LONG_CONJUNCTION
from tellwhen.compile.patterns import Patterns
from tellwhen.compile.store import Store
from tellwhen.containers.batches import find_single_valued
from tellwhen.containers.texts import Texts
from tellwhen.encode.events import EventEncoder, encode
from tellwhen.encode.tables import encode_table
from tellwhen.kernels.arrays import HIGHEST, LOWEST, Predicates
from tellwhen.language.limits import INTEGER_MAX

pytestmark = pytest.mark.late

NUMBERS = st.integers(-INTEGER_MAX, INTEGER_MAX) | st.floats(allow_nan=False)


@given(st.integers(-INTEGER_MAX, INTEGER_MAX), NUMBERS)
def test_int_domains_keep_order(constant, value):
    point, at = int_point(constant), int_point(value)
    assert (at < point, at == point) == (value < constant, value == constant)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_float_domains_keep_order(a, b):
    assert (float_point(a) < float_point(b), float_point(a) == float_point(b)) == (a < b, a == b)


@given(st.floats(-(2.0**52) + 1, 2.0**52 - 1), st.integers(-INTEGER_MAX, INTEGER_MAX))
def test_integers_are_exact_against_fractions(constant, value):
    point, at = float_point(constant), float_point(value)
    assert (at < point, at == point) == (value < constant, value == constant)


def test_neighbouring_doubles_have_neighbouring_points():
    for x in (0.0, -5e-324, 0.1, 1e300, -1.0):
        assert float_point(math.nextafter(x, math.inf)) == float_point(x) + 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
@example([2**53 + 3, -(2**53) - 3, 2**60 + 255, INTEGER_MAX, -INTEGER_MAX, INTEGER_MAX + 1, 2**63 - 1, -(2**63)])
def test_columns_of_integers_agree_with_single_values(values):
    column = np.array(values, dtype=np.int64)
    assert domains.int_points(column).tolist() == [int_point(v) for v in values]
    assert domains.float_points(domains.doubles_towards_zero(column)).tolist() == [float_point(v) for v in values]


@given(st.lists(st.floats(allow_nan=False)))
def test_columns_of_doubles_agree_with_single_values(values):
    column = np.array(values, dtype=np.float64)
    assert domains.int_points_of_floats(column).tolist() == [int_point(v) for v in values]
    assert domains.float_points(column).tolist() == [float_point(v) for v in values]


@given(st.lists(st.integers(-(2**60), 2**60)))
def test_columns_of_times_agree_with_single_values(values):
    column = np.array(values, dtype=np.int64)
    assert domains.time_points(column, 1, 1000).tolist() == [time_point(v) for v in values]


@given(st.sets(st.integers(-20, 20)))
def test_complement(points):
    intervals = [(p, p) for p in sorted(points)]
    rest = complement(intervals)
    inside = {p for p in range(-25, 26) if any(low <= p <= high for low, high in rest)}
    assert inside == set(range(-25, 26)) - points
    assert not rest or rest[0][0] == LOWEST
    assert not rest or rest[-1][1] == HIGHEST


@given(TEXT, TEXT)
def test_successor_ends_the_prefix(prefix, text):
    after = successor(prefix)
    starts = text.startswith(prefix)
    assert starts == (prefix <= text and (after is None or text < after)) or prefix == ""


@given(st.lists(st.lists(TEXT, max_size=12), max_size=6), st.lists(TEXT, max_size=8))
def test_dictionary_keeps_code_point_order(batches, events):
    labelled = Dictionary(0)
    for batch in batches:
        new = labelled.missing(batch)
        if new and not labelled.add(new):
            labelled, _ = labelled.relabelled(new)
    assert labelled.keys == sorted(set().union(*map(set, batches)) if batches else [])
    labels = [labelled.labels[key] for key in labelled.keys]
    assert all(b - a >= 2 for a, b in itertools.pairwise(labels))
    for text in events:
        at = labelled.point(text)
        for key, label in labelled.labels.items():
            assert (at < label, at == label) == (text < key, text == key)


@given(st.lists(TEXT, max_size=12), st.lists(TEXT, max_size=8), st.integers(0, 3))
def test_texts_are_found_among_sorted_ones(texts, wanted, begin):
    ordered = sorted(texts)
    found, known = Texts.from_strings(["before"] * begin + ordered + ["after"]).locate(
        begin, begin + len(ordered), Texts.from_strings(wanted)
    )
    for text, at, is_known in zip(wanted, found, known, strict=True):
        assert (at, bool(is_known)) == (bisect.bisect_right(ordered, text), text in ordered)
        one = Texts.from_strings(["before"] * begin + ordered + ["after"]).locate_one(begin, begin + len(ordered), text)
        assert one == (at, is_known)


def test_relabelling_moves_stored_points(monkeypatch, engine):
    """Constants that always fall into the same gap use it up. Labels then move, and every engine must follow."""
    monkeypatch.setattr(dictionary, "STRIDE", 64)
    moves = []
    original = Dictionary.relabelled
    monkeypatch.setattr(Dictionary, "relabelled", lambda self, texts: moves.append(1) or original(self, texts))
    index = tw.Index(engine).add("a", "x = 'a'").add("b", "x >= 'b'").add("prefix", "x STARTS WITH 'aa'")
    known = {"a": "x = 'a'", "b": "x >= 'b'", "prefix": "x STARTS WITH 'aa'"}
    before = index._contents.state
    for i in range(1, 60):
        known[i] = f"x = '{'a' * i}b'"
        known[-i] = f"NOT x < '{'a' * i}b' AND x ENDS WITH '{'b' * i}'"
        index.add_many({i: known[i], -i: known[-i]})
    assert len(moves) > 3
    for text in ["a", "b", "aab", "aaab", "a" * 40 + "b", "a" * 59 + "b", "zzz", "", "a" * 61, "abb"]:
        want = {id_ for id_, e in known.items() if tw.parse(e).evaluate({"x": text})}
        assert set(index.match({"x": text})) == want
    # A reader taken before still sees the index as it was.
    encoder = EventEncoder(before.attributes, index.schema)
    encoder.add({"x": "aab"})
    assert [before.ids[s] for s in before.reader.match(encoder.finish()).slot] == ["prefix"]


def test_relabelling_leaves_the_ends_of_the_domain(engine):
    index = tw.Index(engine).add("lt", "x < 'a'").add("ne", "x <> 'a'").add("ge", "x >= 'b'").add("c", "x = 'c'")
    for i in range(2, 70):
        index.add(i, f"x = '{'b' * i}'")
    assert index.match({"x": "A"}) == ["lt", "ne"]
    assert index.match({"x": "zzz"}) == ["ne", "ge"]


@pytest.mark.parametrize("seed", range(40))
def test_only_equal_predicates_are_shared(seed):
    """Many that differ in one field, in small hash tables: each field is compared."""
    rng = random.Random(seed)
    a, b, c, d = sorted(rng.sample(range(-1000, 1000), 4))
    intervals = [((a, b),), ((a, c),), ((b, c),), ((a, b), (c, d)), ((a, b), (c, d + 1))]
    distinct = list(itertools.product((0, 1), (0, 1), intervals))  # domain, quantifier, intervals
    store, known = Store(), {}
    for _ in range(6):
        batch = rng.choices(distinct, k=10)
        ends = [end for *_, own in batch for end in own]
        literals = Predicates(
            np.array([domain for domain, _, _ in batch], np.int32),
            np.array([every for _, every, _ in batch], np.uint8),
            np.cumsum([0] + [len(own) for *_, own in batch]),
            np.array([low for low, _ in ends]),
            np.array([high for _, high in ends]),
        )
        code = np.arange(10, dtype=np.int32)
        slots = store.append_arrays(literals, np.zeros(10, np.uint8), np.arange(11), code)
        predicates, subscriptions = store.snapshot()[:2]
        for slot, predicate in zip(slots, batch, strict=True):
            number = known.setdefault(predicate, len(known))
            assert subscriptions.code[subscriptions.start[slot]] == number
            begin, end = predicates.start[number : number + 2]
            assert (predicates.domain[number], predicates.every[number]) == predicate[:2]
            assert list(zip(predicates.low[begin:end], predicates.high[begin:end], strict=True)) == list(predicate[2])
    assert len(store.snapshot().predicates.domain) == len(known)


@pytest.mark.parametrize("length", [2, LONG_CONJUNCTION, LONG_CONJUNCTION + 1, 3000])
def test_a_conjunction_keeps_a_repeated_predicate_once(length):
    """An engine that counts predicates would wait for the second one for ever."""
    rng = random.Random(length)
    index, known = tw.Index("scan").add("before", "n = 0 AND m = 1"), {}
    for i in range(3):
        numbers = [rng.randrange(length // 2 + 1) for _ in range(length)]
        text = " AND ".join(f"x{number} = {number}" for number in numbers)
        new = {f"program {i}": f"({text}) OR n = {i}", i: text}
        known |= new
        index.add_many(new)
        _, start, code, _ = index._shard.store.snapshot().subscriptions
        conjunction = code[start[-2] : start[-1]].tolist()
        assert len(conjunction) == len(set(conjunction)) == len(set(numbers))
    whole = {f"x{number}": number for number in range(length)}
    for event in (whole, whole | {"x0": -1}, {"n": 1}):
        assert set(index.match(event)) == {id_ for id_, text in known.items() if tw.parse(text).evaluate(event)}


def test_single_valued_events():
    start, domain = np.array([0, 1, 2, 2, 4, 6]), np.array([3, 3, 5, 5, 5, 6], dtype=np.int32)
    assert find_single_valued(start, domain).tolist() == [1, 1, 1, 0, 1]
    assert find_single_valued(np.zeros(3, np.int64), domain[:0]).tolist() == [1, 1]


COLUMNS = {
    "n": (pa.int64(), lambda rng: rng.choice([0, 1, -5, 2**53 + 1, INTEGER_MAX, -INTEGER_MAX, 2**63 - 1, -(2**63)])),
    "u": (pa.uint64(), lambda rng: rng.choice([0, 7, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1])),
    "f": (pa.float64(), lambda rng: rng.choice([0.0, -0.0, 1.5, 2.0**62, -(2.0**62), math.inf, -math.inf, 1e-300])),
    "b": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "s": (pa.string(), lambda rng: rng.choice(["", "a", "ab", "zz", "é"])),
    "t": (pa.timestamp("ns"), lambda rng: dt.datetime(2026, 1, 1) + dt.timedelta(microseconds=rng.randrange(3))),
    "l": (pa.list_(pa.int64()), lambda rng: [rng.randrange(3) for _ in range(rng.randrange(4))]),
    "k": (pa.list_(pa.string()), lambda rng: rng.choices(["a", "b", "ab"], k=rng.randrange(4))),
}


@pytest.mark.parametrize("seed", range(20))
def test_tables_become_the_same_points_as_dicts(seed):
    index = tw.Index().add_many(enumerate([
        "n < 3 AND n > 0.5", "u < 3 AND u > 0.5", "f < 3 AND f <> 0.5", "b", "l = 1 AND l < 1.5", "n IS NULL",
        "s > 'a' AND s ENDS WITH 'b' AND s CONTAINS 'a'", "k = 'a' OR k ENDS WITH 'b'", "k IS NULL",
        "t < TIMESTAMP '2026-01-01 00:00:00.000001'",
    ]))  # fmt: skip
    rng = random.Random(seed)
    events = [{n: draw(rng) for n, (_, draw) in COLUMNS.items() if rng.random() < 0.8} for _ in range(rng.randrange(9))]
    columns = {name: pa.array([event.get(name) for event in events], kind) for name, (kind, _) in COLUMNS.items()}
    attributes = index._contents.state.attributes
    wanted, _ = encode(events, attributes, index.schema)
    found, _ = encode_table(pa.table(columns), len(events), attributes, index.schema)
    for one in (wanted, found):
        assert one.start.dtype == one.low.dtype == np.int64
        assert (one.domain.dtype, one.single_valued.dtype) == (np.int32, np.uint8)
    assert found.start.tolist() == wanted.start.tolist()
    assert found.single_valued.tolist() == wanted.single_valued.tolist()
    for begin, end in itertools.pairwise(wanted.start):
        entries = [sorted(zip(one.domain[begin:end], one.low[begin:end], strict=True)) for one in (wanted, found)]
        assert entries[0] == entries[1]


def test_patterns_survive_a_set_that_runs_out_of_memory(monkeypatch):
    """RE2's set reports no error when it runs out of memory. No match may be lost."""
    monkeypatch.setattr("tellwhen.compile.patterns.SET_MEMORY", 1 << 17)
    rng = random.Random(3)
    patterns = Patterns()
    for i in range(60):
        patterns.add("".join(rng.choices("ab", k=3)) + ".*" + "".join(rng.choices("ab", k=3)) + f"|x{i}", i)
    alone = [p for p in patterns.domains if tw.parse(f"t MATCHES '{p}'").evaluate({"t": "abbaabbbabaab" * 30})]
    found = patterns.points("abbaabbbabaab" * 30)
    assert sorted(domain for domain, _ in found) == [patterns.domains[p] for p in alone]
    assert alone


def test_pattern_cannot_hang():
    index = (
        tw.Index().add(1, "x MATCHES '^(a+)+$'").add(2, "x LIKE '%a%a%a%a%a%a%a%a%b'").add(3, "x MATCHES '(x+x+)+y'")
    )
    assert index.match({"x": "a" * 100_000 + "!"}) == []
    assert index.explain(2, {"x": "a" * 20_000}).value is False


def test_patterns_of_a_change_that_was_taken_back_are_forgotten():
    """Even if a match, in another thread, compiled them meanwhile and keeps the result only now."""
    patterns = Patterns()
    patterns.add("bad|x", 0)
    assert patterns.points("bad") == [(0, 1)]
    stale = patterns._sets
    assert not patterns.rewind(0)
    assert stale.found("bad") == [0]
    patterns.add("good|x", 0)
    assert patterns.points("good") == [(0, 1)]
    assert patterns.points("bad") == []
