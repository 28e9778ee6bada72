"""Subscriptions -> their parts, and an index of these."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.scores import Weights
from tellwhen.compile.tree import allocate_tree
from tellwhen.containers.csr import gather
from tellwhen.engines.shared.stabbing import build_predicate_stabbing
from tellwhen.kernels.arrays import CONJUNCTION, F64, I32, I64, PROGRAM, Snapshot
from tellwhen.relaxed.arrays import ALL, OPERATIONS, Parts, RelaxedIndex
from tellwhen.relaxed.kernels.parts import write_parts


def build(snapshot: Snapshot, slots: I32, rank_of: I32, weights: Weights, name_rank: I32) -> RelaxedIndex:
    """The index of some slots, ascending. rank_of[d] is the rank of domain d's attribute, name_rank[n] that of name n
    among the weights."""
    parts = _joined(_of_conjunctions(snapshot, slots, rank_of), _of_programs(snapshot, slots, rank_of))
    is_first = np.ones(len(parts.slot), dtype=bool)
    is_first[1:] = parts.slot[1:] != parts.slot[:-1]
    number = (np.cumsum(is_first) - 1).astype(np.int32)
    weight = _weights(parts, weights, name_rank)
    is_single = np.diff(parts.start) == 0
    part = np.where(is_single, number, -np.cumsum(~is_single)).astype(np.int32)  # as postings name them
    order = np.argsort(parts.asked_predicate, kind="stable")
    asked = parts.asked_part[order]
    many = np.bincount(parts.asked_predicate, minlength=len(snapshot.predicates.domain))
    return RelaxedIndex(
        stabbing=build_predicate_stabbing(snapshot.predicates, snapshot.domains, parts.asked_predicate),
        attribute=rank_of,
        start=np.concatenate([[0], np.cumsum(many)]),
        posting=part[asked],
        weight=weight[asked],
        slot=parts.slot[is_first],
        part_number=number[~is_single],
        part_weight=weight[~is_single],
        code_start=np.append(parts.start[:-1][~is_single], parts.start[-1]),
        code=parts.code,
    )


def _of_conjunctions(snapshot: Snapshot, slots: I32, rank_of: I32) -> Parts:
    """A part of a conjunction is the conjunction of its predicates on an attribute."""
    subscriptions = snapshot.subscriptions
    mine = slots[subscriptions.kind[slots] == CONJUNCTION]
    start, which = gather(subscriptions.start, mine)
    predicate = subscriptions.code[which]
    slot = np.repeat(mine, np.diff(start))
    attribute = rank_of[snapshot.predicates.domain[predicate]]
    order = np.argsort(slot.astype(np.int64) << 32 | attribute, kind="stable")
    slot, attribute, predicate = slot[order], attribute[order], predicate[order]
    is_first = np.ones(len(slot), dtype=bool)
    is_first[1:] = (slot[1:] != slot[:-1]) | (attribute[1:] != attribute[:-1])
    part = np.cumsum(is_first) - 1
    first = np.flatnonzero(is_first)
    sizes = np.diff(np.append(first, len(slot)))
    # Of several predicates: they, and the word that joins them.
    words = np.where(sizes > 1, sizes + 1, 0)
    start = np.concatenate([[0], np.cumsum(words)])
    code = np.empty(start[-1], dtype=np.int32)
    is_joined = sizes[part] > 1
    code[(start[part] + np.arange(len(part)) - first[part])[is_joined]] = predicate[is_joined]
    code[start[1:][sizes > 1] - 1] = -1 - (OPERATIONS * sizes[sizes > 1] + ALL)
    return Parts(slot[first], attribute[first], start, code, part.astype(np.int32), predicate)


def _of_programs(snapshot: Snapshot, slots: I32, rank_of: I32) -> Parts:
    subscriptions = snapshot.subscriptions
    mine = slots[subscriptions.kind[slots] == PROGRAM]
    attribute_of = rank_of[snapshot.predicates.domain]
    tests = int((subscriptions.start[mine + 1] - subscriptions.start[mine]).max(initial=0)) // 3
    nodes = 2 * tests + 2
    scratch = (allocate_tree(tests), np.empty(nodes, dtype=np.int64), np.empty(2 * nodes, dtype=np.int64))

    def write(parts: int, words: int) -> tuple[int, int, I32, I32, I64, I32]:
        slot_of, attribute = np.empty((2, parts), dtype=np.int32)
        start, code = np.zeros(parts + 1, dtype=np.int64), np.empty(words, dtype=np.int32)
        seen = np.full(int(rank_of.max(initial=0)) + 1, -1, dtype=np.int64)
        count = write_parts(subscriptions, mine, attribute_of, seen, scratch, slot_of, attribute, start, code)
        return (*count, slot_of, attribute, start, code)

    parts, words, *_ = write(0, 0)
    *_, slot, attribute, start, code = write(parts, words)
    order = np.argsort(slot.astype(np.int64) << 32 | attribute, kind="stable")
    start, which = gather(start, order)
    code = code[which]
    part = np.repeat(np.arange(parts, dtype=np.int32), np.diff(start))
    is_predicate = code >= 0
    pairs = np.unique(part[is_predicate].astype(np.int64) << 32 | code[is_predicate])
    asked = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
    is_single = np.diff(start) == 1
    kept = np.repeat(~is_single, np.diff(start))
    start = np.concatenate([[0], np.cumsum(np.where(is_single, 0, np.diff(start)))])
    return Parts(slot[order], attribute[order], start, code[kept], *asked)


def _joined(one: Parts, other: Parts) -> Parts:
    """The parts of both, slot by slot."""
    slot = np.concatenate([one.slot, other.slot])
    order = np.argsort(slot, kind="stable")
    number = np.empty(len(slot), dtype=np.int32)
    number[order] = np.arange(len(slot), dtype=np.int32)
    start = np.concatenate([one.start, other.start[1:] + one.start[-1]])
    start, which = gather(start, order)
    return Parts(
        slot[order],
        np.concatenate([one.attribute, other.attribute])[order],
        start,
        np.concatenate([one.code, other.code])[which],
        number[np.concatenate([one.asked_part, other.asked_part + np.int32(len(one.slot))])],
        np.concatenate([one.asked_predicate, other.asked_predicate]),
    )


def _weights(parts: Parts, given: Weights, name_rank: I32) -> F64:
    """By part: the weight of its attribute. All attributes of a slot weigh 1, or, if it has any weights, others 0."""
    has_some = np.isin(parts.slot, given.slot)
    found = np.where(has_some, 0.0, 1.0)
    keys = parts.slot.astype(np.int64) << 32 | parts.attribute
    wanted = given.slot.astype(np.int64) << 32 | name_rank[given.name] if len(given.slot) else keys[:0]
    at = np.searchsorted(keys, wanted)
    is_known = at < len(keys)
    is_known[is_known] = keys[at[is_known]] == wanted[is_known]
    found[at[is_known]] = given.weight[is_known]
    return found
