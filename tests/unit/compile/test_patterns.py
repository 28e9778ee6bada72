"""`Patterns` finds exactly the patterns that RE2 matches, whenever they are added."""

import random
import threading
import time

import pytest
import re2

import tellwhen as tw
from tellwhen.compile.like_shapes import LikeShape, classify_like, escape_regex
from tellwhen.compile.patterns import Patterns
from tellwhen.language.regex import has_match, make_options

ATOMS = [
    "a", "b", "ab", "abc", "bca", "é", "\n", ".", r"\.", r"\n", "[ab]", "[^a]", "[]a]", "[[:alpha:]]", r"[\]a]", r"\d",
    r"\w", "x{2}", "{", "}", "{,2}", "a{0,2}", "b?", "c*", "a+", "ab*?", "(ab)", "(?:bc)?", "(?i)", "a|b", "^", "$",
    r"\b", r"\x41", r"\x00", ".*", ".*?", r"\Aa", r"c\z", "(?s:a.b)", r"\-", "-", r"\p{L}", r"\pL", r"\Qa.b\E", r"\141",
]  # fmt: skip
LETTERS = ["a", "b", "c", "ab", "abc", "bca", "é", "\n", ".", "x", "xx", "{", "}", "A", "1", "-", "\0", "]"]


def random_pattern(rng):
    """A regular expression, a literal text or a LIKE pattern, as they are indexed."""
    kind = rng.randrange(3)
    if kind == 0:
        return "".join(rng.choices(ATOMS, k=rng.randint(0, 6)))
    if kind == 1:
        return escape_regex("".join(rng.choices("abc.é\0\n\\", k=rng.randint(0, 7))))
    shape, pattern = classify_like("".join(rng.choices("abc%_%é.", k=rng.randint(0, 8))), None)
    return pattern if shape is LikeShape.WILD else "abc"


def is_regular(pattern):
    try:
        re2.compile(pattern, make_options())
    except re2.error:
        return False
    return True


@pytest.mark.parametrize("seed", range(20))
def test_any_patterns_on_any_text(seed):
    rng = random.Random(seed)
    for _ in range(10):
        patterns, known = Patterns(), {}
        for domain in range(rng.randint(1, 30)):
            pattern = random_pattern(rng)
            if is_regular(pattern) and pattern not in known:
                known[pattern] = domain
                patterns.add(pattern, domain)
                if rng.random() < 0.3:
                    patterns.zeros.add(domain)
            if rng.random() < 0.2:
                agree(patterns, known, rng)
        agree(patterns, known, rng)
        kept = rng.randint(0, 30)
        known = {pattern: domain for pattern, domain in known.items() if domain < kept}
        patterns.rewind(kept)
        assert patterns.domains == known
        agree(patterns, known, rng)


def agree(patterns, known, rng):
    text = "".join(rng.choices(LETTERS, k=rng.randint(0, 14)))
    wanted = [(domain, 1) for pattern, domain in known.items() if has_match(pattern, text)]
    hit = {domain for domain, _ in wanted}
    assert sorted(patterns.find_points(text)) == sorted([*wanted, *((d, 0) for d in patterns.zeros if d not in hit)])


@pytest.mark.parametrize(
    ("pattern", "text", "is_one"),
    [
        ("ab%ba", "aba", False), ("ab%ba", "abba", True), ("ab%b", "ab", False), ("a%b%c", "abc", True),
        ("a%b%c", "acb", False), ("%ab%ab%", "ab", False), ("%ab%ab%", "abab", True), ("a%a%a", "aa", False),
        ("%a%aa", "aa", False), ("%a%aa", "aaa", True), ("aa%a%", "aa", False), ("%%a%%b", "ab", True),
        ("_%b_", "ab", False), ("_%b_", "abc", True), ("%é%", "é", True), ("%a_", "a\n", True),
    ],
)  # fmt: skip
def test_like(pattern, text, is_one):
    assert tw.parse(f"s LIKE '{pattern}'").evaluate({"s": text}) is is_one
    assert tw.Index().add(1, f"s LIKE '{pattern}'").match({"s": text}) == ([1] if is_one else [])
    assert tw.Index().add(1, f"s NOT LIKE '{pattern}'").match({"s": text}) == ([] if is_one else [1])


def test_a_whole_text_as_a_regular_expression():
    index = tw.Index().add(1, r"s MATCHES '\A(?s:abc)\z'")
    assert [index.match({"s": text}) for text in ("abc", "abcc", "aabc", "ab")] == [[1], [], [], []]


@pytest.mark.slow
def test_one_more_pattern_is_cheap():
    """Neither the automaton nor an index of all others is built again."""
    rule = "s CONTAINS 'w{:05}' OR s MATCHES '^[{}x]{{{}}}$'"
    index = tw.Index().add_many({n: rule.format(n, n % 9, n % 90 + 1) for n in range(10_000)})
    index.match({"s": "a w00017 b"})
    begin = time.process_time()
    for n in range(20):
        index.add(f"new {n}", f"s LIKE '%q{n}_%' OR s MATCHES '[{n}]+[a-z]'")
        assert index.match({"s": f"w00017 q{n}z"})[0] == 17
    assert time.process_time() - begin < 2


def test_long_patterns_and_texts_take_linear_time():
    begin = time.process_time()
    index = tw.Index().add("long", tw.col("s").contains("a.b*" * 1_000))
    index.add("like", tw.col("s").like("%a" * 1_000 + "%"))
    assert index.match({"s": "a.b*" * 100_000}) == ["long", "like"]
    assert index.match({"s": "a" * 200_000}) == ["like"]
    assert time.process_time() - begin < 20


@pytest.mark.slow
def test_patterns_that_take_too_much_memory_together():
    """They are tried one by one, and nothing else on the attribute suffers."""
    index = tw.Index().add("plain", "s = 'hello'")
    index.add_many({n: rf"s MATCHES '\pL{{0,300}}{n}$'" for n in range(20)})
    assert index.match({"s": "hello"}) == ["plain"]
    assert index.match({"s": "hello17"}) == [7, 17]
    index.add("more", r"s MATCHES '\pL{0,300}x$'")
    assert index.match({"s": "hex"}) == ["more"]


def test_strings_are_looked_up_while_patterns_come():
    index = tw.Index().add_many({n: f"s CONTAINS 'w{n:03}x'" for n in range(100)})
    stop, wrong = threading.Event(), []

    def look():
        rng = random.Random(1)
        while not stop.is_set():
            n = rng.randrange(100)
            if index.match({"s": f"w{n:03}x"})[:1] != [n]:
                wrong.append(n)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(100, 500):
        index.add(n, f"s CONTAINS 'w{n:03}x' OR s MATCHES '^[0-9]{{{n}}}$' OR NOT s CONTAINS 'w'")
        if n % 50 == 0:
            with pytest.raises(tw.ParseError):
                index.add_many({"a": f"s LIKE '%{n}_a%'", "b": "s LIKE"})
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_patterns_survive_a_set_that_runs_out_of_memory():
    """RE2's set reports no error when it runs out of memory. No match may be lost."""
    rng = random.Random(3)
    patterns = Patterns(set_bytes_max=1 << 17)
    for i in range(60):
        patterns.add("".join(rng.choices("ab", k=3)) + ".*" + "".join(rng.choices("ab", k=3)) + f"|x{i}", i)
    alone = [p for p in patterns.domains if tw.parse(f"t MATCHES '{p}'").evaluate({"t": "abbaabbbabaab" * 30})]
    found = patterns.find_points("abbaabbbabaab" * 30)
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
    assert patterns.find_points("bad") == [(0, 1)]
    stale = patterns._sets
    patterns.rewind(0)
    assert not patterns.domains
    assert stale.find_domains("bad") == [0]
    patterns.add("good|x", 0)
    assert patterns.find_points("good") == [(0, 1)]
    assert patterns.find_points("bad") == []
