"""Posting lists of the leaves of trees, by predicate, and the scratch of the kernels that read them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tellwhen.engines.shared.calls import make_sizes
from tellwhen.engines.shared.kernels.true_predicates import Satisfied
from tellwhen.engines.shared.stabbing import build_predicate_stabbing, make_satisfied_sizes
from tellwhen.kernels.arrays import I32, I64, U8, Snapshot, Stabbing, keeps
from tellwhen.papers.a_tree.shared.kernels.postings import place_postings
from tellwhen.papers.a_tree.shared.trees import LEAVES_MAX, Trees, list_predicates


class LeafPostings(NamedTuple):
    """Expressions, numbered from 0, and the posting list of each predicate: the leaves where it stands.

    Expressions numbered below `trees` have a tree. The others have too many leaves for one: their code in the store
    decides, and they have one posting for each of their predicates.
    """

    slot: I32  # |4|7|2|           by expression
    trees: int
    always: I32  # slots of empty conjunctions, which every event satisfies: they are no expressions here
    start: I64  # |0|2|2|5|         postings of predicate p are start[p]:start[p+1]
    expression: I32  # |0 4|0 0 1|       ascending in each list
    annotation: I32  # |7 3|8 9 2|       where the leaf is, encoded by the engine; empty if the engine needs none
    stabbing: Stabbing  # its members are predicates


class LeafScratch(NamedTuple):
    """Working arrays to find the predicates that an event satisfies, and the expressions with such leaves."""

    found: Satisfied
    touched: I32  # expressions with a satisfied leaf, then the matching ones among them
    registers: U8


@keeps("last")
class ChainScratch(NamedTuple):
    """Working arrays to gather the annotations of satisfied leaves by expression."""

    leaf: LeafScratch
    last: I32  # by expression: the last link of its chain, 0 for none; zero between events
    chain: I32  # |annotation, link before|   of all expressions, from link 1 on
    annotations: I32  # of the satisfied leaves of one expression, ascending


def post_leaves(snapshot: Snapshot, trees: Trees, annotation: I32 | None = None) -> LeafPostings:
    """Build the posting lists of all leaves. Annotations, if the engine has any, are in the order of the trees."""
    expression, predicate = trees.list_leaves()
    if len(trees.by_code):
        number, named = list_predicates(snapshot, trees.by_code)
        expression = np.concatenate([expression, number + np.int32(len(trees.slot))])
        predicate = np.concatenate([predicate, named])
        if annotation is not None:
            annotation = np.concatenate([annotation, np.zeros(len(named), dtype=np.int32)])
    if annotation is None:
        annotation = np.zeros(0, dtype=np.int32)
    lengths = np.bincount(predicate, minlength=len(snapshot.predicates.domain))
    start = np.concatenate([[0], np.cumsum(lengths)])
    placed = np.empty(len(expression), dtype=np.int32), np.empty(len(annotation), dtype=np.int32)
    place_postings(predicate, expression, annotation, start[:-1].copy(), *placed)
    stabbing = build_predicate_stabbing(snapshot.predicates, snapshot.domains, predicate)
    slot = np.concatenate([trees.slot, trees.by_code])
    return LeafPostings(slot, len(trees.slot), trees.always, start, *placed, stabbing)


def size_leaf_scratch(postings: LeafPostings, snapshot: Snapshot) -> Any:
    """Return the lengths of the arrays of a `LeafScratch`."""
    return make_sizes(
        LeafScratch,
        found=make_satisfied_sizes(snapshot),
        touched=len(postings.slot) + 1,
        registers=snapshot.registers,
    )


def size_chain_scratch(postings: LeafPostings, snapshot: Snapshot) -> Any:
    """Return the lengths of the arrays of a `ChainScratch`."""
    return make_sizes(
        ChainScratch,
        leaf=size_leaf_scratch(postings, snapshot),
        last=len(postings.slot),
        chain=2 * len(postings.expression) + 2,
        annotations=LEAVES_MAX,
    )
