"""Which expressions ask for a predicate, and where in their trees? For engines that keep a tree of each expression."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tellwhen.engines.shared.calls import sizes_of
from tellwhen.engines.shared.kernels.satisfied import Satisfied
from tellwhen.engines.shared.stabbing import build_for, satisfied_sizes
from tellwhen.kernels.arrays import I32, I64, U8, Snapshot, Stabbing
from tellwhen.papers.a_tree.shared.kernels.postings import place_postings
from tellwhen.papers.a_tree.shared.trees import Trees, asked_by


class Posted(NamedTuple):
    """Expressions, numbered from 0, and by predicate the leaves that it is on.

    Those numbered below `trees` have a tree. The others have too many leaves for one: their code in the store decides,
    and they have one posting for each of their predicates.
    """

    slot: I32  # |4|7|2|           by expression
    trees: int
    always: I32  # slots of empty conjunctions: they are no expressions here, and every event satisfies them
    start: I64  # |0|2|2|5|         postings of predicate p are start[p]:start[p+1]
    expression: I32  # |0 4|0 0 1|       ascending
    annotation: I32  # |7 3|8 9 2|       where the leaf is, as the engine says; empty if it does not need that
    stabbing: Stabbing  # whose members are predicates


class PostedScratch(NamedTuple):
    """Working arrays to find the predicates that an event satisfies, and the expressions that ask for them."""

    found: Satisfied
    touched: I32  # expressions with a satisfied leaf, then those of them that match
    registers: U8


def post(snapshot: Snapshot, trees: Trees, annotation: I32 | None = None) -> Posted:
    """All leaves; their annotations, if the engine has any, come in the order of the trees."""
    expression, predicate = trees.leaves()
    if len(trees.by_code):
        number, asked = asked_by(snapshot, trees.by_code)
        expression = np.concatenate([expression, number + np.int32(len(trees.slot))])
        predicate = np.concatenate([predicate, asked])
        if annotation is not None:
            annotation = np.concatenate([annotation, np.zeros(len(asked), dtype=np.int32)])
    if annotation is None:
        annotation = np.zeros(0, dtype=np.int32)
    many = np.bincount(predicate, minlength=len(snapshot.predicates.domain))
    start = np.concatenate([[0], np.cumsum(many)])
    placed = np.empty(len(expression), dtype=np.int32), np.empty(len(annotation), dtype=np.int32)
    place_postings(predicate, expression, annotation, start[:-1].copy(), *placed)
    stabbing = build_for(snapshot.predicates, snapshot.domains, predicate)
    slot = np.concatenate([trees.slot, trees.by_code])
    return Posted(slot, len(trees.slot), trees.always, start, *placed, stabbing)


def scratch_sizes(posted: Posted, snapshot: Snapshot) -> Any:
    """The lengths of the arrays of `PostedScratch`."""
    return sizes_of(
        PostedScratch,
        found=satisfied_sizes(snapshot),
        touched=len(posted.slot) + 1,
        registers=snapshot.registers,
    )
