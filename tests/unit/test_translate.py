"""Is a normal form the same function as the program it was made of?"""

import random
from itertools import product

import numpy as np
import pytest

from tellwhen.checks import random_expression
from tellwhen.compile.normal_form import Translator
from tellwhen.compile.store import Store
from tellwhen.kernels.arrays import ACCEPT, PROGRAM, REJECT
from tellwhen.kernels.evaluate import program_accepts
from tellwhen.lang.parser import parse


def programs(expressions):
    store = Store()
    store.append(store.compile(expressions))
    subscriptions = store.snapshot().subscriptions
    return subscriptions, np.flatnonzero(subscriptions.kind == PROGRAM).astype(np.int32), store.registers


def forms(subscriptions, slots, goal):
    translator = Translator(1 << 12, goal=goal)
    taken = slots[translator.takes(subscriptions, slots)]
    translator.add(subscriptions, taken)
    found = {slot: [] for slot in taken.tolist()}
    slot, start, predicate = translator.conjunctions
    for k, of in enumerate(slot.tolist()):
        found[-1 - of if of < 0 else of].append(predicate[start[k] : start[k + 1]].tolist())
    return found


@pytest.mark.parametrize("seed", range(5))
def test_forms_mean_what_the_program_means(seed):
    rng = random.Random(seed)
    subscriptions, slots, registers = programs([random_expression(rng) for _ in range(100)])
    conjunctions, clauses = forms(subscriptions, slots, ACCEPT), forms(subscriptions, slots, REJECT)
    scratch = np.zeros(registers + 1, dtype=np.uint8)
    truth = np.zeros(100, dtype=np.uint64)
    judged = 0
    for slot in slots.tolist():
        start, end = subscriptions.start[slot : slot + 2]
        tests = sorted({p for p in subscriptions.code[start:end:3].tolist() if p >= 0})
        assert slot not in clauses or clauses[slot]
        if len(tests) > 10:
            continue
        for values in product([False, True], repeat=len(tests)):
            true = {p for p, value in zip(tests, values, strict=True) if value}
            truth[:] = 0
            for p in true:
                truth[p >> 6] |= np.uint64(1 << (p & 63))
            wanted = program_accepts(subscriptions.code, start, truth, scratch)
            if slot in conjunctions:
                assert any(true.issuperset(conjunction) for conjunction in conjunctions[slot]) == wanted
            if slot in clauses:
                assert all(true.intersection(clause) for clause in clauses[slot]) == wanted
            judged += 1
    assert judged > 500


def test_paths_that_meet_again_are_walked_once():
    """Thirty clauses of two have a billion paths, and as many conjunctions."""
    many = " AND ".join(f"(a{k} = 1 OR b{k} = 1)" for k in range(30))
    subscriptions, slots, _ = programs(
        [parse(many), parse(many.replace("OR", "x").replace("AND", "OR").replace("x", "AND"))]
    )
    conjunctions, clauses = forms(subscriptions, slots, ACCEPT), forms(subscriptions, slots, REJECT)
    assert sorted(map(len, clauses.pop(0))) == sorted(map(len, conjunctions.pop(1))) == [2] * 30
    assert not conjunctions
    assert not clauses


def test_over_budget():
    """Clauses of more than 64 predicates are too many for a mask."""
    texts = [f"x = 1 AND {' AND '.join(f'(a = {k} OR c <= {k})' for k in range(n))}" for n in (31, 63)]
    subscriptions, slots, _ = programs(map(parse, texts))
    assert [len(found) for found in forms(subscriptions, slots, REJECT).values()] == [32]
