"""Search for attributes and constants in subscriptions, compared with a search of the parsed expressions."""

import datetime as dt
import random

import pytest

import tellwhen as tw
from support import make_seed_params
from tellwhen.language.computation import iter_input_names
from tellwhen.language.values import normalize_value
from tellwhen.testing.engine_checks import random_expression

RULES = {
    1: "city = 'Rome'", 2: "price * qty > 5 OR city = 'Oslo'", 3: "price > 5", 4: "price BETWEEN 5 AND 9",
    5: "NOT price IN (5.0, 7)", 6: "day = DATE '2026-01-31'", 7: "price = 5 AND FALSE", 8: "(price = 5 OR TRUE) AND a",
    9: "city CONTAINS 'Rom'", 10: "city LIKE 'Rom%'", 11: "city LIKE '%Rom'", 12: "items[price > 5]", 13: "q IS NULL",
    14: "price > 5 AND price > 3", 15: "tags HAS NONE ('Rome', 'it''s')", 16: "a = TRUE", 17: "lower(city) = 'rome'",
    18: "price > 5.5", 19: "city STARTS WITH 'Rome'", 20: "city ENDS WITH 'Rome'",
    21: "price = '5'", 22: "cost > 1e1", 24: "cost < 10.00",
}  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "constant", "wanted"),
    [
        ("price", ..., [2, 3, 4, 5, 7, 8, 14, 18, 21]), ("qty", ..., [2]),
        ("items", ..., [12]), ("items.price", ..., [12]),
        ("items.price", 5, [12]), ("items.qty", ..., []),
        ("q", ..., [13]),
        ("city", "Rome", [1, 19, 20]), (None, "Rome", [1, 15, 19, 20]), ("price", 5, [2, 3, 4, 5, 7, 8, 14]),
        (None, 5, [2, 3, 4, 5, 7, 8, 12, 14]), ("price", 3, [14]), (None, "it's", [15]), ("price", "5", [21]),
        (None, dt.date(2026, 1, 31), [6]), ("a", True, [8, 16]), ("nothing", ..., []), (None, 12345, []),
        ("city", "Rom", [9]), ("cost", 10, [22, 24]), ("city", "rome", [17]), ("price", 5.5, [18]), ("pri", ..., []),
    ],
)  # fmt: skip
def test_by_example(attribute, constant, wanted):
    index = tw.Index().add_many(RULES)
    asked = {} if constant is ... else {"constant": constant}
    assert index.inspect.find_mentions(attribute, **asked) == wanted


@pytest.mark.parametrize("seed", make_seed_params(2, 8))
def test_as_the_expressions_say(seed):
    rng = random.Random(seed)
    index = tw.Index()
    for i in range(150):
        index.add(i, random_expression(rng, 3))
    index.remove_many(range(0, 150, 7))
    parsed = {id_: list(index[id_].predicates()) for id_ in index}
    names = {name for found in parsed.values() for one in found for name in iter_input_names(one.attribute)}
    for name in names:
        wanted = [i for i, found in parsed.items() if any(name in iter_input_names(one.attribute) for one in found)]
        assert index.inspect.find_mentions(name) == wanted
    constants = {
        (type(one.constants[0]), one.constants[0]): (one.attribute, one.constants[0])
        for found in parsed.values() for one in found if one.constants and normalize_value(one.constants[0]) is not None
    }  # fmt: skip
    for attribute, constant in constants.values():
        if attribute.startswith("\0"):
            continue
        wanted = [
            i for i, found in parsed.items()
            if any(
                attribute == one.attribute and normalize_value(constant) in map(normalize_value, one.constants)
                for one in found
            )
        ]  # fmt: skip
        found = index.inspect.find_mentions(attribute, constant=constant)
        assert set(wanted) <= set(found)
        assert all(
            attribute in iter_input_names(one.attribute) for i in found for one in parsed[i] if len(parsed[i]) == 1
        )


def test_what_cannot_be_asked():
    index = tw.Index().add(1, "x = 1")
    for bad in ({}, {"attribute": 7}, {"constant": object()}, {"constant": None}):
        with pytest.raises(tw.ArgumentError):
            index.inspect.find_mentions(**bad)
    assert tw.Index(texts=False).add(1, "x = 1").inspect.find_mentions("x") == [1]
    with pytest.raises(tw.MissingTextsError, match="stores no texts"):
        tw.Index(texts=False).add(1, "x = 1").inspect.find_mentions("x", constant=1)
