"""Labels keep the order of strings, and a relabelling moves stored points in every engine."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellwhen as tw
from strategies import TEXT
from tellwhen.compile import dictionary
from tellwhen.compile.dictionary import Dictionary
from tellwhen.encode.events import EventEncoder
from tellwhen.language.values import find_successor

pytestmark = pytest.mark.late


@given(TEXT, TEXT)
def test_successor_ends_the_prefix(prefix, text):
    after = find_successor(prefix)
    starts = text.startswith(prefix)
    assert starts == (prefix <= text and (after is None or text < after)) or prefix == ""


@given(st.lists(st.lists(TEXT, max_size=12), max_size=6), st.lists(TEXT, max_size=8))
def test_dictionary_keeps_code_point_order(batches, events):
    labelled = Dictionary(0)
    for batch in batches:
        new = labelled.find_missing(batch)
        if new and not labelled.add(new):
            labelled, _ = labelled.relabel(new)
    assert labelled.keys == sorted(set().union(*map(set, batches)) if batches else [])
    labels = [labelled.labels[key] for key in labelled.keys]
    assert all(b - a >= 2 for a, b in itertools.pairwise(labels))
    for text in events:
        at = labelled.get_point(text)
        for key, label in labelled.labels.items():
            assert (at < label, at == label) == (text < key, text == key)


def test_relabelling_moves_stored_points(monkeypatch, engine):
    """Constants that always fall into the same gap use it up. Labels then move, and every engine must follow."""
    monkeypatch.setattr(dictionary, "STRIDE", 64)
    moves = []
    original = Dictionary.relabel
    monkeypatch.setattr(Dictionary, "relabel", lambda self, texts: moves.append(1) or original(self, texts))
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
