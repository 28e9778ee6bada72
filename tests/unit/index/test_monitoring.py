"""Attributes that no recent event has are logged once, with a similar attribute of the events."""

import logging

import pyarrow as pa

import tellwhen as tw
from support import limit_index


def test_a_renamed_column_is_seen(caplog):
    index_class = limit_index(first_coverage_check=10)
    index = index_class().add_many({"a": "price * 2 < 20", "b": "city = 'Rome' AND rare = 1"})
    with caplog.at_level(logging.WARNING, "tellwhen"):
        for n in range(200):
            index.match({"Price": n, "city": "Rome"})
    told = [record.message for record in caplog.records]
    assert len(told) == 1
    assert "subscriptions use price, which no recent event has; recent events have Price" in told[0]
    assert index.inspect.get_stats()["unseen"] == {"price": "Price", "rare": None}
    assert index.inspect.get_stats()["mismatches"] == {}
    for events in (pa.table({"citty": ["Rome"] * 20}), [{"citty": "Rome"}] * 20):
        other = index_class().add("b", "city = 'Rome'")
        caplog.clear()
        other.match_many(events)
        other.match_many(events)
        assert sum("recent events have citty" in record.message for record in caplog.records) == 1
    assert tw.Index().add("b", "city = 'Rome'").inspect.get_stats()["unseen"] == {}
