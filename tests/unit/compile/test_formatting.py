"""Predicates are formatted as users wrote them, or as an equivalent text."""

import pytest

import tellwhen as tw

AS_WRITTEN = [
    "x = 1", "x < 1.5", "x >= 2", "x BETWEEN 1 AND 5", "x IN (1, 2, 3)", "x NOT IN (1, 2)", "x <> 7", "s = 'a''b'",
    "s > 'b'", "s < 'k'", "s STARTS WITH 'ab'", "s ENDS WITH 'xyz'", "s IN ('p', 'q')", "s NOT IN ('p', 'q')",
    "s BETWEEN 'a' AND 'c'", "b = TRUE", "b = FALSE", "z IS NULL", "z IS NOT NULL", "d >= DATE '2026-01-31'",
    "price * qty > 100", "a < c", "items[price > 5]", '"odd name" = 3', "f BETWEEN 1.5 AND 2.5", "f > 0.1", "f < -2.5",
    "x > 9007199254740993", "NOT x = 3", "NOT x > 5", "NOT s IN ('p', 'q')", "s MATCHES 'a+'", "NOT s MATCHES 'a+'",
    "x > 1e+300", "s = ''", "s > ''",
]  # fmt: skip

AS_MEANT = {
    "s CONTAINS 'q'": "s MATCHES 'q'",
    "tags HAS ANY ('a')": "tags = 'a'",
    "NOT b": "NOT b = TRUE",
    "t < TIMESTAMP '2026-01-31 12:30:00'": "t < TIMESTAMP '2026-01-31 12:30:00+00:00'",
    "s LIKE 'ab%'": "s STARTS WITH 'ab'",
}


@pytest.mark.parametrize(("text", "said"), [*zip(AS_WRITTEN, AS_WRITTEN, strict=True), *AS_MEANT.items()])
def test_a_predicate_is_written_back(text, said, tmp_path):
    index = tw.Index().add(1, text)
    assert [one.predicate for one in index.inspect.find_costly_predicates()] == [said]
    index.save(tmp_path / "index")
    assert tw.Index.load(tmp_path / "index").inspect.find_costly_predicates() == index.inspect.find_costly_predicates()
    again = tw.Index().add(1, text).add(2, said)
    assert again.inspect.get_stats()["predicates"] == 1  # it is the same one
