"""`python -m bench.patterns`: the cost of tens of thousands of CONTAINS, LIKE and MATCHES, and of adding one more.

The rival, timed in turn, is RE2's own set of the same patterns. It is fast while its automaton fits into memory, but
adding a pattern compiles the whole set again.
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
from bench.timing import time_interleaved
from tellwhen.compile.like_shapes import classify_like, escape_regex
from tellwhen.language.regex import make_options

TEXT_COUNT = 100
SET_MEMORY_BYTES = 256 << 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(3, 9))) for _ in range(20_000)]
    texts = [" ".join(rng.choices(words, k=5)) for _ in range(TEXT_COUNT)]

    def draw_word(length: int = 9) -> str:
        return rng.choice(words)[:length]

    kinds: dict[str, tuple[int, Callable[[], tuple[str, str]]]] = {
        "CONTAINS 'word'": (50_000, lambda: ("CONTAINS", draw_word())),
        "LIKE '%word%word%'": (20_000, lambda: ("LIKE", f"%{draw_word()}%{draw_word()}%")),
        "LIKE '%word_word%'": (20_000, lambda: ("LIKE", f"%{draw_word()}_{draw_word()}%")),
        "LIKE '%ab%cd%'": (20_000, lambda: ("LIKE", f"%{draw_word(2)}%{draw_word(2)}%")),
        "LIKE '%a%b%c%'": (20_000, lambda: ("LIKE", f"%{draw_word(1)}%{draw_word(1)}%{draw_word(1)}%")),
        "MATCHES 'word[0-9]+ word'": (50_000, lambda: ("MATCHES", f"{draw_word()}[0-9]+ {draw_word()}")),
    }
    table = Table(
        "", "patterns", "match, us", "RE2's set", "noise", "one more, ms", "RE2's set", title="Strings of words"
    )
    for name, (count, make) in kinds.items():
        table.add_row(name, f"{count:,}", *_measure([make() for _ in range(count)], texts))
    Console(width=120).print(table)


def _measure(patterns: list[tuple[str, str]], texts: list[str]) -> list[str]:
    index = tw.Index().add_many({n: f"s {operator} '{text}'" for n, (operator, text) in enumerate(patterns)}).rebuild()
    pattern_set = _compile_set(patterns)
    # The last pattern is the empty one, which every text matches unless RE2 runs out of memory.
    has_memory = len(patterns) in (pattern_set.Match(texts[0]) or [])

    def match_index() -> None:
        for text in texts:
            index.match({"s": text})

    def match_set() -> None:
        for text in texts:
            pattern_set.Match(text)

    runs: dict[str, Callable[[], object]] = {"index": match_index, **({"set": match_set} if has_memory else {})}
    times = time_interleaved(runs, 5)
    begin = time.perf_counter()
    index.add("one more", "s CONTAINS 'qqqqq'")
    index.match({"s": texts[0]})
    addition_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    _compile_set([*patterns, ("CONTAINS", "qqqqq")]).Match(texts[0])
    recompile_seconds = time.perf_counter() - begin
    cells = [f"{timing.median / TEXT_COUNT * 1e6:.0f}" for timing in times.values()]
    noise = max(timing.noise for timing in times.values())
    return [
        *cells,
        *([] if has_memory else ["out of memory"]),
        f"{noise:.0%}",
        f"{addition_seconds * 1e3:.1f}",
        f"{recompile_seconds * 1e3:.0f}",
    ]


def _compile_set(patterns: list[tuple[str, str]]) -> Any:
    pattern_set = re2.Set.SearchSet(make_options(SET_MEMORY_BYTES))
    for operator, text in patterns:
        is_like, is_regular = operator == "LIKE", operator == "MATCHES"
        pattern_set.Add(classify_like(text, None)[1] if is_like else text if is_regular else escape_regex(text))
    pattern_set.Add("")
    pattern_set.Compile()
    return pattern_set


if __name__ == "__main__":
    main()
