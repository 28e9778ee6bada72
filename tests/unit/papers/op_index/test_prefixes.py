"""Prefixes of `opindex` and `opindex-cnf`: the trie of section 6.2, and counters that are set only where needed."""

import random
from itertools import product

import pytest

import tellwhen as tw
from support import verify_index
from tellwhen.encode.events import encode
from tellwhen.papers.op_index.arrays import PREFIX

pytestmark = pytest.mark.late

ENGINES = ["opindex", "opindex-plain", "opindex-cnf"]
WORDS = {"h": "h", "ho": "ho", "hot": "hot", "hotel": "hotel", "motel": "motel", "house": "house", "i": "i"}


def get_trie(index):
    """Return by prefix the next shorter one, and the most prefixes of one string."""
    operands = index._shard.engine._index.lists.operands
    begin = len(operands.keys) - len(operands.trie.end)
    attributes = index._shard.store.attributes
    names = [
        attributes.get_dictionary(int(operands.domain[rank])).find_text(int(operands.keys[rank]))
        for rank in range(begin, len(operands.keys))
    ]
    parents = operands.trie.parent.tolist()
    return {name: names[k] if k >= 0 else None for name, k in zip(names, parents, strict=True)}, operands.trie.depth


def count_candidates(index, *events):
    arrays, _ = encode(events, index._shard.store.attributes, tw.Schema())
    return index._shard.engine.reader().count_candidates(arrays)


@pytest.mark.parametrize("spec", ENGINES)
def test_section_6_2(spec):
    """A value visits only its own prefixes: no other subscription is a candidate."""
    index = tw.Index(spec).add_many({id_: f"s STARTS WITH '{text}'" for id_, text in WORDS.items()}).rebuild()
    verify_index(index)
    assert get_trie(index) == (
        {"h": None, "ho": "h", "hot": "ho", "hotel": "hot", "house": "ho", "i": None, "motel": None}, 4,
    )  # fmt: skip
    for value, right in {
        "hotels": ["h", "ho", "hot", "hotel"],
        "hou": ["h", "ho"],
        "mote": [],
        "i": ["i"],
        "a": [],
        "z": [],
    }.items():
        assert index.match({"s": value}) == right
        assert count_candidates(index, {"s": value}) == len(right)


@pytest.mark.parametrize("spec", ENGINES)
def test_suffixes_are_prefixes_of_reversed_strings(spec):
    index = tw.Index(spec).add_many({"ber": "s ENDS WITH 'ber'", "er": "s LIKE '%er'", "x": "s LIKE 'be%'"}).rebuild()
    assert get_trie(index)[0] == {"be": None, "re": None, "reb": "re"}
    assert index.match({"s": "member"}) == ["ber", "er"]
    assert count_candidates(index, {"s": "member"}) == 2


@pytest.mark.parametrize("spec", ENGINES)
def test_between_is_in_the_trie_unless_it_crosses(spec):
    """BETWEEN for numbers is >= and <=, as in section 4.2; for strings only if it crosses a prefix."""
    index = tw.Index(spec).add_many(
        {
            "prefix": "s STARTS WITH 'c'",
            "crossing": "s BETWEEN 'a' AND 'ca'",
            "inside": "s BETWEEN 'cb' AND 'cd'",
            "number": "s BETWEEN 3 AND 12",
        }
    )
    index.rebuild()
    verify_index(index)
    trie, depth = get_trie(index)
    assert trie == {"a": None, "cb": None}
    assert depth == 1
    assert index.match({"s": "ca"}) == ["prefix", "crossing"]
    assert index.match({"s": "cb"}) == ["prefix", "inside"]
    assert index.match({"s": "ce"}) == ["prefix"]
    assert index.match({"s": 7}) == ["number"]
    assert len(get_trie(tw.Index(spec).add("n", "x BETWEEN 3 AND 12").rebuild())[0]) == 0


@pytest.mark.parametrize("spec", ENGINES)
def test_of_short_and_long_lists(spec):
    """Lists shorter and longer than the true prefixes, with negations and several values."""
    prefixes = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("ab", repeat=size)]
    index = tw.Index(spec).add_many({f"p{text}": f"s STARTS WITH '{text}'" for text in prefixes})
    index.add_many({f"t{text}": f"t = 1 AND s STARTS WITH '{text}'" for text in prefixes[:6]})
    index.add("not", "t = 1 AND NOT s STARTS WITH 'ab'").add("both", "s STARTS WITH 'ab' AND s STARTS WITH 'abb'")
    index.rebuild()
    verify_index(index)
    for values in (["abba"], ["b"], ["abb", "ba"], ["abb", "abb", "a"], ["c"]):
        right = [f"p{text}" for text in prefixes if any(value.startswith(text) for value in values)]
        right += [f"t{text}" for text in prefixes[:6] if any(value.startswith(text) for value in values)]
        right += ["not"] if not any(value.startswith("ab") for value in values) else []
        right += ["both"] if any(value.startswith("abb") for value in values) else []
        assert index.match({"s": values, "t": 1}) == right
        assert index.match({"s": values[0] if len(values) == 1 else values}) == [id_ for id_ in right if id_[0] in "pb"]


@pytest.mark.parametrize("spec", ENGINES)
def test_counters_of_a_large_pivot_are_set_where_postings_are_true(spec):
    """Few true postings among many conjunctions, again and again: no counter keeps what an event has left in it."""
    index = tw.Index(spec).add_many({k: f"s STARTS WITH 'x{k:03}' AND s STARTS WITH 'x' AND y = 1" for k in range(400)})
    index.add("any", "s STARTS WITH 'x001' AND s STARTS WITH 'x0012' AND y IN (1, 2)").rebuild()
    for _ in range(2):
        for number in (1, 399):
            assert index.match({"s": f"x{number:03}"}) == []
            assert index.match({"s": f"x{number:03}", "y": 1}) == [number]
        assert index.match({"s": ["x001", "x0012", "x001"], "y": [1, 2]}) == [1, "any"]
        assert index.match({"s": "x0012", "y": 2}) == ["any"]
    single = tw.Index(spec).add_many({k: f"s = {k}" for k in range(400)}).rebuild()
    assert single.match({"s": [3, 399, 3]}) == [3, 399]
    assert single.match({"s": 3}) == [3]


@pytest.mark.parametrize("spec", ENGINES)
def test_against_scan(spec):
    rng = random.Random(3)

    def draw_text():
        return "".join(rng.choice("ab") for _ in range(rng.randint(1, 5)))

    def draw_predicate():
        low, high = sorted([draw_text(), draw_text()])
        return rng.choice(
            [
                f"s STARTS WITH '{draw_text()}'",
                f"s ENDS WITH '{draw_text()}'",
                f"s BETWEEN '{low}' AND '{high}'",
                f"NOT s LIKE '{draw_text()}%'",
                f"s NOT LIKE '%{draw_text()}'",
                f"s = '{draw_text()}'",
                f"t STARTS WITH '{draw_text()}'",
                f"NOT t NOT LIKE '{draw_text()}%'",
            ]
        )

    subscriptions = {k: " AND ".join(draw_predicate() for _ in range(rng.randint(1, 3))) for k in range(300)}
    rivals = [tw.Index(spec).add_many(subscriptions).rebuild(), tw.Index("scan").add_many(subscriptions)]
    verify_index(rivals[0])
    for _ in range(60):
        event = {name: draw_text() if rng.random() < 0.7 else [draw_text(), draw_text()] for name in "st"}
        found, right = (index.match(event) for index in rivals)
        assert found == right
    lists = rivals[0]._shard.engine._index.lists
    assert lists.operands.start[-1] > lists.operands.start[PREFIX * (len(lists.operands.start) // 4)]


@pytest.mark.parametrize("spec", [*ENGINES, "opindex:insertion=1"])
def test_intervals_of_strings(spec):
    """An interval of strings makes all prefixes true of which it has a string: in short and in long lists."""
    prefixes = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("abc", repeat=size)]
    intervals = [
        tw.Interval(None, "c"), tw.Interval("b", "bba"), tw.Interval("abc", None, "(]"), tw.Interval("ab", "b", "[)"),
        tw.Interval("cd", "d", "[)"), tw.Interval("d", None), [tw.Interval("aab", "ab"), "ca", tw.Interval("c", None)],
    ]  # fmt: skip
    for texts in (prefixes, prefixes[::20]):
        index = tw.Index(spec).add_many({text: f"s STARTS WITH '{text}'" for text in texts})
        index.add("other", "x = 1 AND s STARTS WITH 'b'").add("suffix", "x = 2 AND s ENDS WITH 'b'").rebuild()
        verify_index(index)
        scan = tw.Index("scan").merge(index)
        for interval in intervals:
            for event in ({"s": interval}, {"s": interval, "x": [1, 2]}):
                assert index.match(event) == scan.match(event)
        assert index.match({"s": tw.Interval("ab", "b", "[)")}) == [t for t in texts if t == "a" or "ab" <= t < "b"]
