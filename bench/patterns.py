"""`python -m bench.patterns`: what do tens of thousands of CONTAINS, LIKE and MATCHES cost, and one more of them?

The rival, timed in turn, is RE2's own set of the same patterns: fast while its automaton fits into memory, and compiled
again as a whole for a pattern more.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import re2
from rich.console import Console
from rich.table import Table

import tellwhen as tw
from bench.measure import interleaved
from tellwhen.compile.like_shapes import classify_like, escape_regex
from tellwhen.language.regex import make_options

TEXTS = 100
SET_MEMORY = 256 << 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(3, 9))) for _ in range(20_000)]
    texts = [" ".join(rng.choices(words, k=5)) for _ in range(TEXTS)]

    def word(length: int = 9) -> str:
        return rng.choice(words)[:length]

    kinds: dict[str, tuple[int, Callable[[], tuple[str, str]]]] = {
        "CONTAINS 'word'": (50_000, lambda: ("CONTAINS", word())),
        "LIKE '%word%word%'": (20_000, lambda: ("LIKE", f"%{word()}%{word()}%")),
        "LIKE '%word_word%'": (20_000, lambda: ("LIKE", f"%{word()}_{word()}%")),
        "LIKE '%ab%cd%'": (20_000, lambda: ("LIKE", f"%{word(2)}%{word(2)}%")),
        "LIKE '%a%b%c%'": (20_000, lambda: ("LIKE", f"%{word(1)}%{word(1)}%{word(1)}%")),
        "MATCHES 'word[0-9]+ word'": (50_000, lambda: ("MATCHES", f"{word()}[0-9]+ {word()}")),
    }
    shown = Table(
        "", "patterns", "match, us", "RE2's set", "noise", "one more, ms", "RE2's set", title="Strings of words"
    )
    for name, (count, make) in kinds.items():
        shown.add_row(name, f"{count:,}", *_measured([make() for _ in range(count)], texts))
    Console(width=120).print(shown)


def _measured(patterns: list[tuple[str, str]], texts: list[str]) -> list[str]:
    index = tw.Index().add_many({n: f"s {operator} '{text}'" for n, (operator, text) in enumerate(patterns)}).rebuild()
    together = _compiled(patterns)
    is_whole = len(patterns) in (together.Match(texts[0]) or [])  # the empty pattern is the last one

    def ours() -> None:
        for text in texts:
            index.match({"s": text})

    def theirs() -> None:
        for text in texts:
            together.Match(text)

    runs: dict[str, Callable[[], object]] = {"ours": ours, **({"theirs": theirs} if is_whole else {})}
    times = interleaved(runs, 5)
    begin = time.perf_counter()
    index.add("one more", "s CONTAINS 'qqqqq'")
    index.match({"s": texts[0]})
    more = time.perf_counter() - begin
    begin = time.perf_counter()
    _compiled([*patterns, ("CONTAINS", "qqqqq")]).Match(texts[0])
    again = time.perf_counter() - begin
    each = [f"{time.median / TEXTS * 1e6:.0f}" for time in times.values()]
    noise = max(time.noise for time in times.values())
    return [*each, *([] if is_whole else ["out of memory"]), f"{noise:.0%}", f"{more * 1e3:.1f}", f"{again * 1e3:.0f}"]


def _compiled(patterns: list[tuple[str, str]]) -> Any:
    made = re2.Set.SearchSet(make_options(SET_MEMORY))
    for operator, text in patterns:
        is_like, is_regular = operator == "LIKE", operator == "MATCHES"
        made.Add(classify_like(text, None)[1] if is_like else text if is_regular else escape_regex(text))
    made.Add("")
    made.Compile()
    return made


if __name__ == "__main__":
    main()
