"""Texts are located among sorted ones."""

import bisect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import TEXT
from tellwhen.containers.texts import Texts

pytestmark = pytest.mark.late


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
