"""What is the diagram of f AND g, or of f OR g? (Bryant 1986: apply.)

Both are split by the first predicate that one of them tests, and the halves are combined:

    f AND g  =  node(p, low(f) AND low(g), high(f) AND high(g))

The cache knows pairs that were combined before. It forgets: a pair may be combined again. The number of steps is
limited, since their product may be the size of the result.
"""

from __future__ import annotations

import numpy as np

from tellwhen.kernels.jit import inline, kernel
from tellwhen.papers.a_tree.bdd.arrays import FALSE, FIRST, RESULT, SECOND, STEPS, TERMINALS, TRUE
from tellwhen.papers.a_tree.bdd.kernels.nodes import OVER_BUDGET, mixed, node_of

F, G, STAGE, LOW, FRAME_COLUMNS = range(5)
"""Columns of a frame: two nodes to combine, what is done already, and the low half of the result."""

SPLIT, LOW_DONE, HIGH_DONE = range(3)
"""Stages of a frame, by what comes next or was done last."""

NOTHING = -1
"""What FALSE and TRUE test: behind all predicates, since the highest comes first."""


@inline
def tested_by(nodes, n):
    """The predicate that a node tests first."""
    return nodes.predicate[n] if n >= TERMINALS else np.int32(NOTHING)


@inline
def known_result(is_and, f, g, cache):
    """The result if it is plain or in the cache, else OVER_BUDGET; and the place in the cache, and the key."""
    neutral, absorbing = (TRUE, FALSE) if is_and else (FALSE, TRUE)
    # AND and OR of a pair are told apart by the order of the key.
    first, second = (min(f, g), max(f, g)) if is_and else (max(f, g), min(f, g))
    place = mixed(first, second, 0) & np.uint64(cache.shape[0] - 1)
    found = np.int32(OVER_BUDGET)
    if f == absorbing or g == absorbing:
        found = np.int32(absorbing)
    elif f == neutral or f == g:
        found = np.int32(g)
    elif g == neutral:
        found = np.int32(f)
    elif cache[place, FIRST] == first and cache[place, SECOND] == second:
        found = cache[place, RESULT]
    return found, place, first, second


@kernel
def combine(is_and, f, g, nodes, tables, frames):
    """The node of f AND g, or of f OR g; OVER_BUDGET if that takes too many nodes or steps.

    `frames` has room for one more than the predicates of both.
    """
    cache = tables.cache
    depth, found = 0, np.int32(OVER_BUDGET)
    frames[0, F], frames[0, G], frames[0, STAGE] = f, g, SPLIT
    while depth >= 0:
        f, g, stage = frames[depth, F], frames[depth, G], frames[depth, STAGE]
        predicate = max(tested_by(nodes, f), tested_by(nodes, g))
        if stage == SPLIT:
            found, _, _, _ = known_result(is_and, f, g, cache)
            if found != OVER_BUDGET:
                depth -= 1
                continue
            tables.state[STEPS] -= 1
            if tables.state[STEPS] < 0:
                return np.int32(OVER_BUDGET)
            frames[depth, STAGE] = LOW_DONE
            frames[depth + 1, F] = nodes.low[f] if tested_by(nodes, f) == predicate else f
            frames[depth + 1, G] = nodes.low[g] if tested_by(nodes, g) == predicate else g
        elif stage == LOW_DONE:
            frames[depth, STAGE], frames[depth, LOW] = HIGH_DONE, found
            frames[depth + 1, F] = nodes.high[f] if tested_by(nodes, f) == predicate else f
            frames[depth + 1, G] = nodes.high[g] if tested_by(nodes, g) == predicate else g
        else:
            found = node_of(nodes, tables, predicate, frames[depth, LOW], found)
            if found == OVER_BUDGET:
                return found
            _, place, first, second = known_result(is_and, f, g, cache)
            cache[place, FIRST], cache[place, SECOND], cache[place, RESULT] = first, second, found
            depth -= 1
            continue
        depth += 1
        frames[depth, STAGE] = SPLIT
    return found
