"""Split subscriptions into parts, and build the index of the parts."""

from __future__ import annotations

import numpy as np

from tellwhen.compile.scores import Weights
from tellwhen.compile.tree import allocate_tree
from tellwhen.containers.csr import gather
from tellwhen.engines.shared.stabbing import build_predicate_stabbing
from tellwhen.kernels.arrays import CONJUNCTION, F64, I32, I64, PROGRAM, Snapshot
from tellwhen.relaxed.arrays import AND, OPERATIONS, MatchIndex, Parts, RelaxedIndex
from tellwhen.relaxed.kernels.parts import write_parts


def build_index(
    snapshot: Snapshot, slots: I32, domain_attribute: I32, weights: Weights, name_attribute: I32
) -> RelaxedIndex:
    """Build the index of some slots.

    Parameters
    ----------
    snapshot
        The store.
    slots
        The slots, ascending.
    domain_attribute
        The rank of the attribute of each domain.
    weights
        The weights of all slots that have weights.
    name_attribute
        The rank of the attribute of each name in `weights`; -1 if no domain has it.
    """
    parts = _split_slots(snapshot, slots, domain_attribute)
    is_first = np.ones(len(parts.slot), dtype=bool)
    is_first[1:] = parts.slot[1:] != parts.slot[:-1]
    owner = (np.cumsum(is_first) - 1).astype(np.int32)
    weight = _find_weights(parts, weights, name_attribute)
    is_single = np.diff(parts.start) == 0
    posting = np.where(is_single, owner, -np.cumsum(~is_single)).astype(np.int32)  # by part
    order = np.argsort(parts.pair_predicate, kind="stable")
    part = parts.pair_part[order]
    counts = np.bincount(parts.pair_predicate, minlength=len(snapshot.predicates.domain))
    return RelaxedIndex(
        stabbing=build_predicate_stabbing(snapshot.predicates, snapshot.domains, parts.pair_predicate),
        attribute=domain_attribute,
        start=np.concatenate([[0], np.cumsum(counts)]),
        posting=posting[part],
        weight=weight[part],
        slot=parts.slot[is_first],
        part_owner=owner[~is_single],
        part_weight=weight[~is_single],
        code_start=np.append(parts.start[:-1][~is_single], parts.start[-1]),
        code=parts.code,
    )


def build_match_index(
    snapshot: Snapshot, slots: I32, domain_attribute: I32, weights: Weights, name_attribute: I32
) -> MatchIndex:
    """Build the index of the parts of successive slots, for matches. The parameters are those of `build_index`."""
    parts = _split_slots(snapshot, slots, domain_attribute)
    first = int(slots[0]) if len(slots) else 0
    is_single = np.diff(parts.start) == 0
    is_pair_written = is_single[parts.pair_part]
    # Words of code by part; the sort is stable, so the words of a part remain in order.
    part = np.concatenate([
        np.repeat(np.arange(len(parts.slot), dtype=np.int32), np.diff(parts.start)),
        parts.pair_part[is_pair_written],
    ])  # fmt: skip
    order = np.argsort(part, kind="stable")
    return MatchIndex(
        first=first,
        start=np.searchsorted(parts.slot, np.arange(first, first + len(slots) + 1)).astype(np.int64),
        attribute=parts.attribute,
        weight=_find_weights(parts, weights, name_attribute),
        code_start=np.concatenate([[0], np.cumsum(np.bincount(part, minlength=len(parts.slot)))]),
        code=np.concatenate([parts.code, parts.pair_predicate[is_pair_written]])[order],
    )


def _split_slots(snapshot: Snapshot, slots: I32, domain_attribute: I32) -> Parts:
    """Split slots into parts, by slot and by the rank of the attribute."""
    return _join_parts(
        _split_conjunctions(snapshot, slots, domain_attribute), _split_programs(snapshot, slots, domain_attribute)
    )


def _split_conjunctions(snapshot: Snapshot, slots: I32, domain_attribute: I32) -> Parts:
    """Split conjunctions: a part is the conjunction of all predicates on one attribute."""
    subscriptions = snapshot.subscriptions
    slots = slots[subscriptions.kind[slots] == CONJUNCTION]
    start, which = gather(subscriptions.start, slots)
    predicate = subscriptions.code[which]
    slot = np.repeat(slots, np.diff(start))
    attribute = domain_attribute[snapshot.predicates.domain[predicate]]
    order = np.argsort(slot.astype(np.int64) << 32 | attribute, kind="stable")
    slot, attribute, predicate = slot[order], attribute[order], predicate[order]
    is_first = np.ones(len(slot), dtype=bool)
    is_first[1:] = (slot[1:] != slot[:-1]) | (attribute[1:] != attribute[:-1])
    part = np.cumsum(is_first) - 1
    first = np.flatnonzero(is_first)
    sizes = np.diff(np.append(first, len(slot)))
    # The code of several predicates: the predicates, and the word that joins them. A single predicate has no code.
    words = np.where(sizes > 1, sizes + 1, 0)
    start = np.concatenate([[0], np.cumsum(words)])
    code = np.empty(start[-1], dtype=np.int32)
    is_joined = sizes[part] > 1
    code[(start[part] + np.arange(len(part)) - first[part])[is_joined]] = predicate[is_joined]
    code[start[1:][sizes > 1] - 1] = -1 - (OPERATIONS * sizes[sizes > 1] + AND)
    return Parts(slot[first], attribute[first], start, code, part.astype(np.int32), predicate)


def _split_programs(snapshot: Snapshot, slots: I32, domain_attribute: I32) -> Parts:
    subscriptions = snapshot.subscriptions
    slots = slots[subscriptions.kind[slots] == PROGRAM]
    attribute_of = domain_attribute[snapshot.predicates.domain]
    tests = int((subscriptions.start[slots + 1] - subscriptions.start[slots]).max(initial=0)) // 3
    nodes = 2 * tests + 2
    scratch = (allocate_tree(tests), np.empty(nodes, dtype=np.int64), np.empty(2 * nodes, dtype=np.int64))

    def write(parts: int, words: int) -> tuple[int, int, I32, I32, I64, I32]:
        """Write to new arrays; return the numbers of parts and words, and the arrays."""
        slot_of, attribute = np.empty((2, parts), dtype=np.int32)
        start, code = np.zeros(parts + 1, dtype=np.int64), np.empty(words, dtype=np.int32)
        last_slot = np.full(int(domain_attribute.max(initial=0)) + 1, -1, dtype=np.int64)
        counts = write_parts(subscriptions, slots, attribute_of, last_slot, scratch, slot_of, attribute, start, code)
        return (*counts, slot_of, attribute, start, code)

    parts, words, *_ = write(0, 0)
    *_, slot, attribute, start, code = write(parts, words)
    order = np.argsort(slot.astype(np.int64) << 32 | attribute, kind="stable")
    start, which = gather(start, order)
    code = code[which]
    part = np.repeat(np.arange(parts, dtype=np.int32), np.diff(start))
    is_predicate = code >= 0
    pairs = np.unique(part[is_predicate].astype(np.int64) << 32 | code[is_predicate])
    by_pair = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
    is_single = np.diff(start) == 1
    is_written = np.repeat(~is_single, np.diff(start))
    start = np.concatenate([[0], np.cumsum(np.where(is_single, 0, np.diff(start)))])
    return Parts(slot[order], attribute[order], start, code[is_written], *by_pair)


def _join_parts(first: Parts, second: Parts) -> Parts:
    """Join the parts of disjoint slots, ordered by slot."""
    slot = np.concatenate([first.slot, second.slot])
    order = np.argsort(slot, kind="stable")
    number = np.empty(len(slot), dtype=np.int32)
    number[order] = np.arange(len(slot), dtype=np.int32)
    start = np.concatenate([first.start, second.start[1:] + first.start[-1]])
    start, which = gather(start, order)
    return Parts(
        slot[order],
        np.concatenate([first.attribute, second.attribute])[order],
        start,
        np.concatenate([first.code, second.code])[which],
        number[np.concatenate([first.pair_part, second.pair_part + np.int32(len(first.slot))])],
        np.concatenate([first.pair_predicate, second.pair_predicate]),
    )


def _find_weights(parts: Parts, weights: Weights, name_attribute: I32) -> F64:
    """Return the weight of the attribute of each part.

    In a slot without weights, all attributes weigh 1. In a slot with weights, an attribute without a weight weighs 0.
    """
    weight = np.where(np.isin(parts.slot, weights.slot), 0.0, 1.0)
    keys = parts.slot.astype(np.int64) << 32 | parts.attribute
    wanted = weights.slot.astype(np.int64) << 32 | name_attribute[weights.name] if len(weights.slot) else keys[:0]
    at = np.searchsorted(keys, wanted)
    is_known = at < len(keys)
    is_known[is_known] = keys[at[is_known]] == wanted[is_known]
    weight[at[is_known]] = weights.weight[is_known]
    return weight
