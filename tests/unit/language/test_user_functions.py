"""User-defined functions: registration, errors, and indexes that call them."""

import logging
import subprocess
import sys

import pyarrow as pa
import pytest

import tellwhen as tw
from tellwhen.language.functions import FUNCTIONS
from tellwhen.testing.engine_checks import to_pairs

A = tw.col("a")


@pytest.fixture
def restore_functions():
    before = dict(FUNCTIONS)
    yield
    FUNCTIONS.clear()
    FUNCTIONS.update(before)


@pytest.mark.usefixtures("restore_functions")
def test_a_function_of_ones_own(caplog):
    @tw.function
    def risk(amount, country="X"):
        if country == "?":
            raise KeyError(country)
        return None if country == "none" else amount * (2 if country == "X" else 1)

    index = tw.Index().add_many({1: "risk(a, c) > 10", 2: "NOT risk(a, c) > 10", 3: "risk(a) = 12"})
    assert index.match({"a": 6, "c": "X"}) == [1, 3]
    assert index.match({"a": 6, "c": "Y"}) == [2, 3]
    assert index.match({"a": 6}) == [3]
    assert index.match({"a": [6, 1], "c": ["X", "Y"]}) == [1, 3]
    with caplog.at_level(logging.WARNING, "tellwhen"):
        for _ in range(3):
            assert index.match({"a": 6, "c": "?"}) == [3]
    assert [record.message for record in caplog.records if record.message.startswith("risk()")] == [
        "risk() failed, its result is undefined for such events: KeyError('?')"
    ]
    table = pa.table({"a": [6, 6, 6], "c": ["X", "none", None]})
    assert sorted(to_pairs(index.match_many(table))) == [(0, 1), (0, 3), (1, 3), (2, 3)]
    assert risk(2, "X") == 4
    assert (risk(A, "X") > 3) == tw.parse("risk(a, 'X') > 3")
    with pytest.raises(tw.ParseError, match="takes 1 to 2 arguments, not 3"):
        tw.parse("risk(a, b, c) = 1")


@pytest.mark.usefixtures("restore_functions")
def test_an_index_needs_its_functions(tmp_path):
    tw.Index().add(1, tw.function(lambda x: x + 1, name="more")(A) > 3).save(tmp_path / "index")
    assert tw.Index.load(tmp_path / "index").match({"a": 3}) == [1]
    code = f"import tellwhen as tw; tw.Index.load({str(tmp_path / 'index')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "more(a) cannot be computed: there is no function more" in done.stderr
    assert "tellwhen.function before you open an index that calls them" in done.stderr


@pytest.mark.parametrize("name", ["lower", "len", "cast", "in", "Risk", "a b", "", 5, "a.b"])
def test_names_of_functions(name):
    with pytest.raises(tw.ExpressionError):
        tw.function(lambda x: x, name=name)
    with pytest.raises(tw.ExpressionError):
        tw.function(5)
