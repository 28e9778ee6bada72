"""Wrong engines that a check must notice, and every engine as users compile it."""

from typing import NamedTuple

import numpy as np
import pytest

import tellwhen as tw
from tellwhen.containers.growing import Growing
from tellwhen.engines.base import Reader
from tellwhen.engines.counting.engine import Counting
from tellwhen.engines.scan.engine import Scan
from tellwhen.engines.shared import calls
from tellwhen.kernels.arrays import I64, Matches, keeps
from tellwhen.testing.engine_checks import check_engine, check_matches, evaluate_all, find_supported, random_script


def is_noticed(engine):
    """Does a check of a few seeds fail?"""
    for seed in range(3):
        try:
            check_engine(engine.name, seed=seed, rounds=8)
        except AssertionError:
            return True
    return False


def engine(base, **changed):
    return type("Wrong", (base,), {"name": "test-wrong", **changed})


class Changed(Reader):
    """The answers of another reader, changed."""

    def __init__(self, inner, change):
        self._inner, self._change = inner, change

    def match(self, events):
        return self._change(self._inner.match(events), events)

    def count_candidates(self, events):
        return self._inner.count_candidates(events)


def changing(change, base=Scan):
    return engine(base, reader=lambda self: Changed(base.reader(self), change))


def drop_last_match(matches, events):
    """Lacks the last match of a batch."""
    return Matches(np.minimum(matches.start, max(0, len(matches.slot) - 1)), matches.slot[:-1])


def repeat_slot_0(matches, events):
    """Has slot 0 once more."""
    return Matches(np.append(matches.start[:-1], matches.start[-1] + 1), np.append(matches.slot, np.int32(0)))


def drop_in_batches(matches, events):
    return drop_last_match(matches, events) if len(events.single_valued) > 1 else matches


def drop_with_several_values(matches, events):
    return matches if events.single_valued.all() else drop_last_match(matches, events)


def drop_with_single_values(matches, events):
    return drop_last_match(matches, events) if events.single_valued.all() else matches


@pytest.mark.parametrize(
    "change",
    [drop_last_match, repeat_slot_0, drop_in_batches, drop_with_several_values, drop_with_single_values],
    ids=lambda f: f.__name__,
)
def test_wrong_answers_are_noticed(registry, change):
    assert is_noticed(changing(change))


def test_wrong_bookkeeping_is_noticed(registry):
    def forget_pending(self):
        self._pending = Growing(np.int32)
        Counting.rebuild(self)

    assert is_noticed(engine(Counting, rebuild=forget_pending))
    assert is_noticed(engine(Counting, insert=lambda self, slots: Counting.insert(self, slots[:-1])))
    assert is_noticed(engine(Counting, delete=lambda self, slots: None))
    assert is_noticed(engine(Scan, __len__=lambda self: Scan.__len__(self) + 1))


def test_a_broken_structure_is_noticed(registry):
    def verify(self):
        assert len(self) < 5

    assert is_noticed(engine(Scan, verify=verify))


def test_an_expression_that_is_refused_after_all_is_noticed(registry):
    """An index asks `can_index` of its own store: the answer must be the same there."""
    asked = []

    def can_index(self, slots):
        asked.append(1)
        return np.full(len(slots), len(asked) == 1)

    wrong = engine(Scan, can_index=can_index)
    with pytest.raises(tw.BudgetError):
        check_engine(wrong.name, seed=0, rounds=1)


@keeps("marks", "clock")
class Seen(NamedTuple):
    """When each slot was found last, and the clock: of a reader that wants them to have one history."""

    marks: I64
    clock: I64


class Unkept(NamedTuple):
    """Of a reader that takes for granted that new arrays are zero."""

    marks: I64


def drop_repeated_matches(matches, events):
    """Of each event the slots that were not found at this time, as a kernel would mark them."""
    scratch = calls.take_scratch(Seen(int(matches.slot.max(initial=0)) + 1, 1))
    marks, clock = scratch.arrays
    kept = np.ones(len(matches.slot), dtype=bool)
    for event in range(len(matches.start) - 1):
        clock[0] += 1
        mine = slice(matches.start[event], matches.start[event + 1])
        kept[mine] = marks[matches.slot[mine]] != clock[0]
        marks[matches.slot[mine]] = clock[0]
    calls.release_memory(scratch)
    start = np.concatenate([[0], np.cumsum(kept)])[matches.start]
    return Matches(start, matches.slot[kept])


def test_arrays_that_depend_on_each_other_are_noticed(registry):
    """A clock that is new, among marks that are old, takes an old mark for one of now."""
    assert is_noticed(changing(drop_repeated_matches))


def test_garbage_in_an_array_that_is_not_kept_is_noticed(registry):
    """The same engine, which does not say that it needs to find its marks again."""

    def drop_all_if_marked(matches, events):
        scratch = calls.take_scratch(Unkept(int(matches.slot.max(initial=0)) + 1))
        found = Matches(matches.start, matches.slot)
        is_clean = not scratch.arrays.marks.any()
        calls.release_memory(scratch)
        return found if is_clean else Matches(found.start * 0, found.slot[:0])

    assert is_noticed(changing(drop_all_if_marked))


def test_a_script_is_the_same_for_all_and_does_what_it_should():
    script = random_script(3, 8)
    assert random_script(3, 8) is script
    assert random_script.__wrapped__(3, 8).rounds == script.rounds
    steps = [step for steps in script.rounds for step in steps]
    assert sum(len(step.removed) for step in steps) > 5
    assert sum(step.rebuild for step in steps) > 5
    assert sum(step.is_optimized for step in steps) > 2
    assert sum(len(ids) for step in steps for ids in step.matches) > 200
    before = {}
    for step in script.rounds[0]:
        assert set(step.subscriptions) == (set(before) - set(step.removed)) | set(step.added)
        before = step.subscriptions


def test_what_an_engine_takes():
    simple, complex_ = tw.parse("a = 1"), tw.parse(" AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(12)))
    assert find_supported("scan", [simple, complex_]) == [True, True]
    assert find_supported("counting:strict=1", [simple, complex_, simple]) == [True, False, True]
    assert find_supported("counting", [simple, complex_]) == [True, True]
    assert find_supported("counting", []) == []


def test_the_oracle_is_asked():
    """A check must be able to fail: an index with a wrong subscription is noticed."""
    index = tw.Index().add("a", "x = 1")
    with pytest.raises(AssertionError, match="wrong: 'a'"):
        check_matches(index, {"a": tw.parse("x = 2")}, [{"x": 1}])
    with pytest.raises(AssertionError, match="missing: 'a'"):
        check_matches(index, {"a": tw.parse("x = 2")}, [{"x": 2}])
    assert evaluate_all({"a": tw.parse("x = 1")}, {"x": 1}) == {"a"}
