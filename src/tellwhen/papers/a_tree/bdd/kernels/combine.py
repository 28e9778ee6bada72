"""Kernels that compute the diagram of f AND g, or of f OR g (`apply` of Bryant, 1986).

Both operands are split by the first predicate that either of them tests, and the halves are combined:

    f AND g  =  node(p, low(f) AND low(g), high(f) AND high(g))

A cache has the results of earlier pairs. It forgets, so a pair may be combined again. The number of steps is limited,
because the size of the result may be the product of the sizes of the operands.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import FALSE, FIRST, RESULT, SECOND, STEPS, TERMINALS, TRUE
from tellwhen.papers.a_tree.bdd.kernels.nodes import OVER_BUDGET, make_node, mix_hash

F, G, STAGE, LOW, FRAME_COLUMNS = range(5)
"""Columns of a frame of the stack: two nodes to combine, the stage, and the low half of the result."""

SPLIT, LOW_DONE, HIGH_DONE = range(3)
"""Stages of a frame: to be split, low halves being combined, high halves being combined."""

NO_PREDICATE = -1
"""Predicate of FALSE and TRUE: after all others, because the highest predicate comes first."""


@inline
def read_predicate(nodes, n):
    """Return the predicate that a node tests."""
    return nodes.predicate[n] if n >= TERMINALS else np.int32(NO_PREDICATE)


@inline
def look_up_result(is_and, f, g, cache):
    """Return (result, place, key): the result if it is trivial or in the cache, else OVER_BUDGET.

    `place` and `key` are where the cache stores the result of this pair.
    """
    neutral, absorbing = (TRUE, FALSE) if is_and else (FALSE, TRUE)
    # The order of the key distinguishes the AND and the OR of a pair.
    first, second = (min(f, g), max(f, g)) if is_and else (max(f, g), min(f, g))
    place = mix_hash(first, second, 0) & np.uint64(cache.shape[0] - 1)
    result = np.int32(OVER_BUDGET)
    if f == absorbing or g == absorbing:
        result = np.int32(absorbing)
    elif f == neutral or f == g:
        result = np.int32(g)
    elif g == neutral:
        result = np.int32(f)
    elif cache[place, FIRST] == first and cache[place, SECOND] == second:
        result = cache[place, RESULT]
    return result, place, first, second


@kernel
def combine(is_and, f, g, nodes, tables, frames):
    """Return the node of f AND g, or of f OR g; OVER_BUDGET if the limit on nodes or steps is reached.

    `frames` has room for one more than the predicates of both.
    """
    cache = tables.cache
    depth, result = 0, np.int32(OVER_BUDGET)
    frames[0, F], frames[0, G], frames[0, STAGE] = f, g, SPLIT
    while depth >= 0:
        f, g, stage = frames[depth, F], frames[depth, G], frames[depth, STAGE]
        predicate = max(read_predicate(nodes, f), read_predicate(nodes, g))
        if stage == SPLIT:
            result, _, _, _ = look_up_result(is_and, f, g, cache)
            if result != OVER_BUDGET:
                depth -= 1
                continue
            tables.state[STEPS] -= 1
            if tables.state[STEPS] < 0:
                return np.int32(OVER_BUDGET)
            frames[depth, STAGE] = LOW_DONE
            frames[depth + 1, F] = nodes.low[f] if read_predicate(nodes, f) == predicate else f
            frames[depth + 1, G] = nodes.low[g] if read_predicate(nodes, g) == predicate else g
        elif stage == LOW_DONE:
            frames[depth, STAGE], frames[depth, LOW] = HIGH_DONE, result
            frames[depth + 1, F] = nodes.high[f] if read_predicate(nodes, f) == predicate else f
            frames[depth + 1, G] = nodes.high[g] if read_predicate(nodes, g) == predicate else g
        else:
            result = make_node(nodes, tables, predicate, frames[depth, LOW], result)
            if result == OVER_BUDGET:
                return result
            _, place, first, second = look_up_result(is_and, f, g, cache)
            cache[place, FIRST], cache[place, SECOND], cache[place, RESULT] = first, second, result
            depth -= 1
            continue
        depth += 1
        frames[depth, STAGE] = SPLIT
    return result
