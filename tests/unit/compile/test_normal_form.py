"""A normal form is the same function as its program, and never larger than its budget."""

import random
import re
from collections import Counter
from itertools import product

import numpy as np
import pytest

from tellwhen.compile.kernels.normal_form import MAX_CONJUNCTIONS
from tellwhen.compile.normal_form import Translator
from tellwhen.compile.store import Store
from tellwhen.kernels.arrays import ACCEPT, PROGRAM, REJECT
from tellwhen.kernels.evaluate import run_program
from tellwhen.language.parser import parse
from tellwhen.testing.engine_checks import random_expression


def programs(expressions):
    """The subscriptions of a store, the slots of those that are programs, and the registers that they need."""
    store = Store()
    store.append(store.compile(expressions))
    subscriptions = store.snapshot().subscriptions
    return subscriptions, np.flatnonzero(subscriptions.kind == PROGRAM).astype(np.int32), store.registers


def forms(subscriptions, slots, goal):
    """By slot: its conjunctions or clauses, each a list of predicates. Slots over budget are left out."""
    translator = Translator(1 << 12, goal=goal)
    taken = slots[translator.find_translatable(subscriptions, slots)]
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
            wanted = run_program(subscriptions.code, start, truth, scratch)
            if slot in conjunctions:
                assert any(true.issuperset(conjunction) for conjunction in conjunctions[slot]) == wanted
            if slot in clauses:
                assert all(true.intersection(clause) for clause in clauses[slot]) == wanted
            judged += 1
    assert judged > 500


# near the budget


GROUPS = [(2, 2, 2, 2, 2, 2), (2, 2, 2, 2, 4), (2, 2, 4, 4), (4, 4, 4), (3, 3, 7), (3, 4, 5)]
"""Sizes of groups. OR of groups of AND has as many clauses as the product of the sizes says: 60 to 64."""


def random_text(rng):
    """An expression that tests each variable once: groups whose form is near the budget, or any tree."""
    names = [f"x{v} = 1" for v in range(15)]
    rng.shuffle(names)
    if rng.random() < 0.5:
        inner, outer = rng.choice([("AND", "OR"), ("OR", "AND")])
        groups = [join_shuffled(rng, inner, [names.pop() for _ in range(size)]) for size in rng.choice(GROUPS)]
        extra = [names.pop() for _ in range(rng.randint(0, 2))]
        return join_shuffled(rng, inner, [join_shuffled(rng, outer, groups), *extra])
    parts = names[: rng.randint(7, 12)]
    connectives = rng.sample(["AND", "OR"], 2)
    while len(parts) > 1:
        size = rng.choice([2, 2, 3, 4, len(parts)])
        parts = [join_shuffled(rng, connectives[0], parts[k : k + size]) for k in range(0, len(parts), size)]
        connectives.reverse()
    return parts[0]


def join_shuffled(rng, connective, parts):
    rng.shuffle(parts)
    return f"({f' {connective} '.join(parts)})"


def truth_table(text):
    """All assignments, and whether each makes the text true. Bit p is the variable that comes p-th in the text."""
    variables = list(dict.fromkeys(re.findall(r"x\d+ = 1", text)))
    assignments = np.arange(1 << len(variables), dtype=np.uint64)
    values = {name.split()[0]: assignments >> np.uint64(p) & np.uint64(1) != 0 for p, name in enumerate(variables)}
    return assignments, eval(text.replace(" = 1", "").replace("AND", "&").replace("OR", "|"), values)


def primes(assignments, table):
    """The number of minimal assignments that make a monotone function true: it has one conjunction for each."""
    minimal = table.copy()
    for bit in range(len(table).bit_length() - 1):
        has = assignments >> np.uint64(bit) & np.uint64(1) != 0
        minimal[has] &= ~table[assignments[has] ^ np.uint64(1 << bit)]
    return int(minimal.sum())


@pytest.mark.parametrize("seed", range(4))
def test_forms_near_the_budget(seed):
    """Both forms against the whole truth table. A form within the budget is found, a larger one is refused."""
    rng = random.Random(seed)
    texts = [random_text(rng) for _ in range(60)]
    exactly = Counter()
    for text in texts:
        subscriptions, slots, _ = programs([parse(text)])
        if not len(slots):
            continue
        assignments, table = truth_table(text)
        # The clauses are the conjunctions of the dual: the function with AND and OR exchanged.
        for goal, wanted in ((ACCEPT, table), (REJECT, ~table[::-1])):
            size = primes(assignments, wanted)
            exactly[goal, size] += 1
            form = forms(subscriptions, slots, goal).get(0)
            assert (form is not None) == (size <= MAX_CONJUNCTIONS), text
            if form is not None:
                found = np.zeros(len(table), dtype=bool)
                for mask in (np.uint64(sum(1 << p for p in part)) for part in form):
                    found |= (assignments & mask) == mask
                assert len(form) == size, text
                assert np.array_equal(found, wanted), text
    for goal in (ACCEPT, REJECT):
        assert exactly[goal, 64]
        assert exactly[goal, 65]


@pytest.mark.parametrize("goal", [ACCEPT, REJECT])
@pytest.mark.parametrize("extra", range(3))
def test_a_form_of_one_too_many(goal, extra):
    """Six pairs make 64 conjunctions or clauses. One more, wherever it comes from, is over budget."""
    inner, outer = (" OR ", " AND ") if goal == ACCEPT else (" AND ", " OR ")
    pairs = f"({outer.join(f'(p{k} = 1{inner}q{k} = 1)' for k in range(6))})"
    single = [f"e{k} = 1" for k in range(extra)]
    subscriptions, slots, _ = programs([parse(inner.join([*single, pairs])), parse(inner.join([pairs, *single]))])
    assert [len(form) for form in forms(subscriptions, slots, goal).values()] == ([] if extra else [64, 64])


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
    """64 predicates fit into a mask, 66 do not."""
    texts = [f"x = 1 AND y = 1 AND {' AND '.join(f'(a = {k} OR c <= {k})' for k in range(n))}" for n in (31, 32)]
    subscriptions, slots, _ = programs(map(parse, texts))
    found = forms(subscriptions, slots, REJECT)
    assert sorted(map(len, found.pop(0))) == [1] * 2 + [2] * 31
    assert not found
