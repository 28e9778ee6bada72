"""Cursors are told from ids by their checksum."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellwhen.service.cursors import BODY, CHECKSUM, TEXT_LENGTH, Cursor


@given(st.integers(0, (1 << 63) - 1), st.integers(0, (1 << 64) - 1))
def test_a_cursor_is_read_back(ordinal, index_version):
    cursor = Cursor(ordinal, index_version)
    text = cursor.encode()
    assert len(text) == TEXT_LENGTH == len(base64.urlsafe_b64encode(bytes(BODY.size + CHECKSUM.size)))
    assert Cursor.decode(text) == cursor


@pytest.mark.parametrize("text", ["", "s10", "x" * TEXT_LENGTH, "\u00e4" * TEXT_LENGTH, "!" * TEXT_LENGTH, "\ud800"])
def test_an_id_is_no_cursor(text):
    assert Cursor.decode(text) is None


def test_a_cursor_that_was_changed_is_none():
    text = Cursor(5).encode()
    assert all(Cursor.decode(text[:place] + "z" + text[place + 1 :]) is None for place in range(TEXT_LENGTH))
