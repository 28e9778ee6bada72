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


def rank_by_weights(state: State, k: int, where: Where, factors: Mapping[str, float], relaxed: bool) -> Rank:
    """Return a function that ranks by the weights of the attributes whose part of the expression is true.

    With `relaxed` it ranks all subscriptions with a true part, otherwise the matches. `factors` are the weights of the
    event, which multiply the weights of the subscriptions.
    """
    k = state.limit_k(k)
    if not relaxed:
        reader = state.get_reader(where)
        return lambda events: state.shard.weighted.rank(state.view, reader, events, k, factors)
    payload_filter = state.make_filter(where)
    view = state.view if payload_filter is None else state.view.select(payload_filter.mask_slots)
    return lambda events: state.shard.relaxed.rank(view, events, k, factors)
