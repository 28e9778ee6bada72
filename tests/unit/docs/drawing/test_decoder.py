"""Predicates are decoded to texts as users write them."""

import pytest
from docs.drawing.decoder import IndexDecoder

import tellwhen as tw


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("price <= 300", "price <= 300"),
        ("price < 300", "price < 300"),
        ("price > 1.5", "price > 1.5"),
        ("price BETWEEN 200 AND 500", "200 <= price <= 500"),
        ("city = 'Rome'", "city = 'Rome'"),
        ("city <> 'Rome'", "city <> 'Rome'"),
        ("NOT city = 'Rome'", "NOT city = 'Rome'"),
        ("brand IN ('Nikon', 'Leica')", "brand IN ('Leica', 'Nikon')"),
        ("brand NOT IN ('Nikon', 'Leica')", "brand NOT IN ('Leica', 'Nikon')"),
        ("brand LIKE 'Ni%'", "brand STARTS WITH 'Ni'"),
        ("brand ENDS WITH 'on'", "brand ENDS WITH 'on'"),
        ("brand CONTAINS 'k'", "brand MATCHES 'k'"),
        ("brand = 'L''Oca'", "brand = 'L''Oca'"),
        ("sold", "sold = TRUE"),
        ("sold IS NULL", "sold IS NULL"),
        ("since < DATE '2026-02-01'", "since < DATE '2026-02-01'"),
    ],
)
def test_a_predicate_is_formatted_as_a_user_writes_it(expression, text):
    decoder = IndexDecoder(tw.Index("scan").add("a", expression))
    assert [decoder.format_predicate(p) for p in decoder.list_predicates(0)] == [text]
