"""Functions that rank encoded events: they find the k best subscriptions of each event."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tellwhen.engines.shared.top_k import Best, find_best
from tellwhen.index.payloads import Where
from tellwhen.index.state import State
from tellwhen.kernels.arrays import Events

Rank = Callable[[Events], Best]


def rank_by_score(state: State, k: int, where: Where, copies_scores: bool = False) -> Rank:
    """Return a function that ranks by score the subscriptions whose payloads satisfy `where`.

    Call this inside `Contents.read_with_scores`. With `copies_scores`, the returned function may be called later, since
    it ranks by a copy of the present scores.
    """
    scores = state.shard.store.scores
    tiers = state.get_reader(where).list_tiers(scores.changes)
    scores_by_slot = scores.scores_by_slot.copy() if copies_scores else scores.scores_by_slot
    k = state.limit_k(k)
    return lambda events: find_best(tiers, events, k, scores_by_slot)


def rank_relaxed(state: State, k: int, where: Where, factors: Mapping[str, float]) -> Rank:
    """Return a function that ranks by the weights of the attributes whose part of the expression is true.

    `factors` are the weights of the event, which multiply the weights of the subscriptions.
    """
    payload_filter = state.make_filter(where)
    view = state.view if payload_filter is None else state.view.select(payload_filter.mask_slots)
    k = state.limit_k(k)
    return lambda events: state.shard.relaxed.rank(view, events, k, factors)
