"""The oracle of LIKE agrees with a plain recursive definition."""

import random

import pytest

from tellwhen.language.like_patterns import Wildcard, is_like, parse_pattern


def _fits(text, wanted):
    """As slow and as plain as it gets."""
    if not wanted:
        return not text
    if wanted[0] is Wildcard.ANY:
        return any(_fits(text[skipped:], wanted[1:]) for skipped in range(len(text) + 1))
    return bool(text) and wanted[0] in (Wildcard.ONE, text[0]) and _fits(text[1:], wanted[1:])


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_of_like(seed):
    rng = random.Random(seed)
    for _ in range(5_000):
        text, pattern = (
            "".join(rng.choices("ab", k=rng.randint(0, 7))),
            "".join(rng.choices("ab%_", k=rng.randint(0, 7))),
        )
        assert is_like(text, pattern, None) == _fits(text, parse_pattern(pattern, None)), (text, pattern)
