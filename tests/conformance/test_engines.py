"""Does every engine say what the oracle says?"""

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

import tellwhen as tw
from strategies import EVENTS, expressions
from support import parametrize_engines_and_seeds, set_thresholds
from tellwhen.testing.engine_checks import check_engine, check_matches, evaluate_all, find_supported

pytestmark = pytest.mark.every_engine

ENGINES = [info.name for info in tw.list_engines()] + ["auto:pending=1"]
"""All engines; the default one also as it is when it is large: in segments, merged in the background."""


@parametrize_engines_and_seeds(ENGINES, range(10), quick=1)
def test_random_subscriptions_and_events(engine, seed):
    check_engine(engine, seed=seed, rounds=5)


@parametrize_engines_and_seeds(ENGINES, range(50, 54), quick=1)
def test_every_change_is_merged_into_the_index(engine, seed, monkeypatch):
    set_thresholds(monkeypatch, pending=0)
    check_engine(engine, seed=seed, rounds=4)


@parametrize_engines_and_seeds(ENGINES, range(100, 140), quick=0)
def test_many_more_of_them(engine, seed):
    check_engine(engine, seed=seed, rounds=20)


@settings(max_examples=15)
@given(st.lists(expressions(), min_size=1, max_size=6), st.lists(EVENTS, min_size=1, max_size=4), st.booleans())
def test_any_expression_on_any_event(expressions, events, built):
    subscriptions = dict(enumerate(expressions))
    wanted = [evaluate_all(subscriptions, event) for event in events]
    for info in tw.list_engines():
        taken = filter_supported(info.name, subscriptions)
        assert len(taken) == len(subscriptions) or "expressions" not in info.supports
        index = tw.Index(info.name)
        for id_, expression in taken.items():
            index.add(id_, expression)
        if built:
            index.rebuild()
        check_matches(index, taken, events, info.name, [ids & taken.keys() for ids in wanted])


def filter_supported(engine, subscriptions):
    """Those of the subscriptions that the engine takes."""
    is_taken = find_supported(engine, subscriptions.values())
    return {id_: expression for (id_, expression), taken in zip(subscriptions.items(), is_taken, strict=True) if taken}


class AnySequence(RuleBasedStateMachine):
    """Add, remove, replace, rebuild, match, save and load, in any order, on all engines alike."""

    ids = Bundle("ids")

    @initialize()
    def start(self):
        self.indexes = {engine: tw.Index(engine) for engine in ENGINES}
        self.known = {}  # all subscriptions
        self.taken = {engine: {} for engine in ENGINES}  # those in the index of an engine

    @rule(target=ids, added=st.dictionaries(st.integers(0, 30) | st.sampled_from("abcdef"), expressions(), max_size=5))
    def add(self, added):
        self.known |= added
        for engine, index in self.indexes.items():
            mine = self.taken[engine]
            taken = filter_supported(engine, added)
            index.add_many(taken, replace=True)
            mine |= taken
            for id_ in added.keys() & mine.keys() - taken.keys():
                index.remove(id_)
                del mine[id_]
            assert all(index[id_] == expression for id_, expression in taken.items())
        return multiple(*added)

    @rule(id_=consumes(ids))
    def remove(self, id_):
        self.known.pop(id_, None)
        for engine, index in self.indexes.items():
            if self.taken[engine].pop(id_, None) is not None:
                index.remove(id_)
            else:
                with pytest.raises(KeyError):
                    index.remove(id_)

    @rule(id_=ids, expression=expressions())
    def refuse_a_taken_id(self, id_, expression):
        for engine, index in self.indexes.items():
            if id_ in self.taken[engine]:
                with pytest.raises(tw.DuplicateId):
                    index.add(id_, expression)

    @rule()
    def rebuild(self):
        for index in self.indexes.values():
            index.rebuild()

    @rule(engine=st.sampled_from(ENGINES))
    def save_and_load(self, engine):
        with tempfile.TemporaryDirectory() as folder:
            self.indexes[engine].save(f"{folder}/index")
            self.indexes[engine] = tw.Index.load(f"{folder}/index")

    @rule(events=st.lists(EVENTS, min_size=1, max_size=3))
    def match(self, events):
        wanted = [evaluate_all(self.known, event) for event in events]
        for engine, index in self.indexes.items():
            taken = self.taken[engine]
            check_matches(index, taken, events, engine, [ids & taken.keys() for ids in wanted])

    @invariant()
    def holds_what_was_added(self):
        for engine, index in getattr(self, "indexes", {}).items():
            assert len(index) == len(self.taken[engine])
            assert set(index) == set(self.taken[engine])

    def teardown(self):
        # Reading an expression parses its text: once at the end rather than after every step.
        for engine, index in getattr(self, "indexes", {}).items():
            assert all(index[id_] == expression for id_, expression in self.taken[engine].items())


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(max_examples=6, stateful_step_count=20)
