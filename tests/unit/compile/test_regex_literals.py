"""The required text of a regular expression has every literal that a match must contain."""

import pytest

from tellwhen.compile.like_shapes import classify_like, escape_regex
from tellwhen.compile.regex_literals import find_required_text


@pytest.mark.parametrize(
    ("pattern", "literals", "is_complete"),
    [
        ("time ?out in .*s$", ["time", "out in ", "s"], False),
        ("abc", ["abc"], True),
        (r"a\.b\-c", ["a.b-c"], True),
        ("ab+c", ["ab", "c"], False),
        ("ab{0,2}c{d", ["a", "c{d"], False),
        ("[abc]def[[:digit:]]]x", ["def", "]x"], False),
        ("(?i)abc", [], False),
        ("abc|def", [], False),
        (classify_like("%Rome%hotel_", None)[1], ["Rome", "hotel"], False),
        (classify_like("Rome%hotel%x", None)[1], ["Rome", "hotel", "x"], True),
        (escape_regex("a\0b"), ["a\0b"], True),
        ("", [], False),
    ],
)
def test_what_is_required(pattern, literals, is_complete):
    assert find_required_text(pattern)[:2] == (literals, is_complete)
