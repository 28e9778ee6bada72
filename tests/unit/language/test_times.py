"""Times: units of NumPy, precision, and range."""

import datetime as dt

import numpy as np
import pytest

import tellwhen as tw


def test_a_timestamp_finer_than_microseconds_is_refused():
    for text in ("2026-01-01 00:00:00.123456789", "2026-01-01 00:00:00,123456789"):
        with pytest.raises(tw.ParseError):
            tw.parse(f"t = TIMESTAMP '{text}'")
        with pytest.raises(tw.ExpressionError):
            tw.from_json({"attribute": "t", "value": {"timestamp": text}})
    assert str(tw.parse("t = TIMESTAMP '2026-01-01 00:00:00,5000000'")) == "t = TIMESTAMP '2026-01-01 00:00:00.500000'"


NUMPY_TIMES = [
    ("2026", "Y", dt.date(2026, 1, 1)),
    ("2026-03", "M", dt.date(2026, 3, 1)),
    ("1600-02", "M", dt.date(1600, 2, 1)),
    ("2026-01-29", "W", dt.date(2026, 1, 29)),
    ("2026-01-31", "D", dt.date(2026, 1, 31)),
    ("2026-01-31T10", "h", dt.datetime(2026, 1, 31, 10)),
    ("2026-01-31T10:11", "m", dt.datetime(2026, 1, 31, 10, 11)),
    ("1969-12-31T23:59:59", "s", dt.datetime(1969, 12, 31, 23, 59, 59)),
    ("2026-01-31T10:11:12.123", "ms", dt.datetime(2026, 1, 31, 10, 11, 12, 123000)),
    ("2026-01-31T10:11:12.123456", "us", dt.datetime(2026, 1, 31, 10, 11, 12, 123456)),
    ("2026-01-31T10:11:12.123456", "ns", dt.datetime(2026, 1, 31, 10, 11, 12, 123456)),
    ("1970-01-01T00:00:00.000001", "ps", dt.datetime(1970, 1, 1, 0, 0, 0, 1)),
]


@pytest.mark.parametrize(("text", "unit", "meant"), NUMPY_TIMES)
def test_numpy_times_of_every_unit(text, unit, meant):
    value = np.datetime64(text, unit)
    expression = tw.col("t") == value
    assert expression == (tw.col("t") == meant)
    assert tw.parse(str(expression)) == expression
    index = tw.Index().add_many({"=": expression, "<": tw.col("t") < meant, ">": tw.col("t") > meant})
    assert index.match({"t": value}) == ["="]
    assert index.match({"t": [value, np.datetime64("NaT", "ns")]}) == ["="]
    assert index.match({"t": tw.Interval(value, None)}) == ["=", ">"]


def test_numpy_times_are_exact_or_refused():
    late = np.datetime64("2026-01-01T00:00:00.000000001")
    with pytest.raises(tw.ExpressionError, match="is finer"):
        tw.col("t") > late  # noqa: B015
    assert tw.parse("t > TIMESTAMP '2026-01-01 00:00:00'").evaluate({"t": late}) is True
    for far in (np.datetime64(2**62, "Y"), np.datetime64("10000-01"), np.datetime64(-(2**62), "D")):
        with pytest.raises(tw.ExpressionError, match="years 1 to 9999"):
            tw.col("t") == far  # noqa: B015
        assert tw.parse("t > DATE '9999-12-31'").evaluate({"t": far}) is bool(far > np.datetime64("1970"))
        assert (tw.Index().add(1, "t > DATE '9999-12-31'").match({"t": far}) == [1]) == (far > np.datetime64("1970"))
    for unit in ("D", "ns"):
        with pytest.raises(tw.ExpressionError, match="NaT"):
            tw.col("t") == np.datetime64("NaT", unit)  # noqa: B015
        assert tw.parse("t IS NULL").evaluate({"t": np.datetime64("NaT", unit)}) is True
