"""Do documents become events, and do those that cannot get a reason?"""

from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.late


@pytest.mark.parametrize(
    ("document", "event"),
    [
        ({"title": 2024}, {"title_words": ["2024"], "title_phrase": [" 2024 "], "title.keyword": "2024"}),
        ({"rooms": "3.7", "pets": "", "price": "", "tags": [["a", ["b"]], None]},
         {"rooms": 3, "pets": False, "price": [], "tags": ["a", "b"]}),
        ({"span": {"gte": 1}, "other": 1, "seller": 5}, {}),
        ({"seller": [{"name": "bob"}, {"name": "eva"}]}, {"seller.name": ["bob", "eva"]}),
    ],
)  # fmt: skip
def test_a_document_as_an_event(percolator, fields, document, event):
    assert percolator.as_event(document, fields) == event


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("2026-03", "2026-03-01"), ("2026", "2026-01-01"), ("1772323200000", "2026-03-01"),
        (1772323200000, "2026-03-01"),
        ("2026-03-01T01+02:00", "2026-02-28T23:00"), ("2026-03-01T01:30-0230", "2026-03-01T04:00"),
        ("2026-03-01T00:00:00.1239", "2026-03-01T00:00:00.123"),
    ],
)  # fmt: skip
def test_dates_of_documents(percolator, fields, text, first):
    expected = datetime.fromisoformat(first).replace(tzinfo=UTC)
    assert percolator.as_event({"added": text}, fields) == {"added": expected}


def test_documents_that_are_no_events(percolator, fields):
    bad = [{"rooms": "many"}, {"city": {"a": 1}}, {"photos": 5}, {"place": "u0x"}, {"added": "soon"}, {"ip": "here"}]
    events, quarantined = percolator.as_events([*bad, {"city": "Rome"}], fields)
    assert events == [{"city": "Rome"}]
    assert [row["document"] for row in quarantined] == bad
    assert quarantined[0]["reason"] == "rooms: 'many' is not a number"
