"""Does every engine say what the oracle says?"""

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

import tellwhen as tw
from strategies import EVENTS, expressions
from tellwhen.checks import check_engine, check_matches, expected


@pytest.mark.parametrize("seed", range(6))
def test_random_subscriptions_and_events(engine, seed):
    check_engine(engine, seed=seed, rounds=8)


@pytest.mark.parametrize("seed", range(50, 52))
def test_every_change_is_taken_into_the_index(engine, seed, monkeypatch):
    monkeypatch.setattr(import_module("tellwhen.engines.shared.conjunctions"), "PENDING_MIN", 0)
    check_engine(engine, seed=seed, rounds=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_more_of_them(engine, seed):
    check_engine(engine, seed=seed, rounds=20)


@settings(max_examples=150)
@given(st.lists(expressions(), min_size=1, max_size=6), st.lists(EVENTS, min_size=1, max_size=4), st.booleans())
def test_any_expression_on_any_event(expressions, events, built):
    for info in tw.list_engines():
        index = tw.Index(info.name)
        known = {}
        for i, expression in enumerate(expressions):
            try:
                index.add(i, expression)
                known[i] = expression
            except tw.BudgetError:
                assert "expressions" not in info.supports
        if built:
            index.rebuild()
        check_matches(index, known, events, info.name)


class Sequence(RuleBasedStateMachine):
    """Insert, remove, replace, match, save and load, in any order."""

    engine = ""
    ids = Bundle("ids")

    @initialize()
    def start(self):
        self.index = tw.Index(self.engine)
        self.known = {}

    def _addable(self, subscriptions):
        taken = {}
        for id_, expression in subscriptions.items():
            try:
                tw.Index(self.engine).add(id_, expression)
                taken[id_] = expression
            except tw.BudgetError:
                pass
        return taken

    @rule(target=ids, added=st.dictionaries(st.integers(0, 30) | st.sampled_from("abcdef"), expressions(), max_size=5))
    def add(self, added):
        added = self._addable(added)
        self.index.add_many(added, replace=True)
        self.known |= added
        return multiple(*added)

    @rule(id_=consumes(ids))
    def remove(self, id_):
        if id_ in self.known:
            self.index.remove(id_)
            del self.known[id_]
        else:
            with pytest.raises(KeyError):
                self.index.remove(id_)

    @rule(id_=ids, expression=expressions())
    def refuse_a_taken_id(self, id_, expression):
        if id_ in self.known:
            with pytest.raises(tw.DuplicateId):
                self.index.add(id_, expression)

    @rule()
    def rebuild(self):
        self.index.rebuild()

    @rule(events=st.lists(EVENTS, min_size=1, max_size=3))
    def match(self, events):
        check_matches(self.index, self.known, events, self.engine)

    @invariant()
    def holds_what_was_added(self):
        if hasattr(self, "index"):
            assert len(self.index) == len(self.known)
            assert set(self.index) == set(self.known)
            assert all(self.index[id_] == expression for id_, expression in self.known.items())


for info in tw.list_engines():
    machine = type(f"Sequence_{info.name}", (Sequence,), {"engine": info.name})
    case = machine.TestCase
    case.settings = settings(
        max_examples=25 if info.name in ("auto", "counting", "scan") else 10, stateful_step_count=20
    )
    globals()[f"Test_{info.name}"] = case
del machine, case


def test_the_oracle_is_asked():
    """A check that cannot fail is none: an index with a wrong subscription must be caught."""
    index = tw.Index().add("a", "x = 1")
    with pytest.raises(AssertionError, match="wrong: 'a'"):
        check_matches(index, {"a": tw.parse("x = 2")}, [{"x": 1}])
    with pytest.raises(AssertionError, match="missing: 'a'"):
        check_matches(index, {"a": tw.parse("x = 2")}, [{"x": 2}])
    assert expected({"a": tw.parse("x = 1")}, {"x": 1}) == {"a"}
