"""Stages: the order in which subscriptions are placed in shards, so that an event meets few shards.

A *cover* of a subscription is a few predicates of which one must be true (`engines/cover`). Shards are filled one after
the other, in the order of *stages*. A stage is a domain, in the order of its points, for subscriptions whose cover is a
narrow stretch of this domain:

    stage      0: user, narrow    1: price, narrow     2: price, wider     wide: anything else        every event
               |||||||||||||||    |-|--|-|--|-|        |---|---|---|       |------|  IN (3, 900)  OR   TRUE
    shards     0     1     2      3         4          5                   6

The *place* of a subscription is its stage, and the first point of its cover there. An event then meets the shards that
have places where the event has a value. The choice of stages only affects speed: the routes of a shard follow from the
covers of the subscriptions that it has (`routes.py`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import LabelMoves
from tellwhen.compile.extract import Extract
from tellwhen.containers.batches import Marginals
from tellwhen.containers.csr import gather
from tellwhen.engines.cover.build_arrays import PredicateLists
from tellwhen.engines.cover.ranges import estimate_mass
from tellwhen.engines.cover.terms import choose_covers
from tellwhen.engines.shared.spaces import cut_spaces
from tellwhen.kernels.arrays import CONJUNCTION, F64, I32, I64, LOWEST, NEVER, PROGRAM, Predicates
from tellwhen.warehouse.kernels.routes import find_taking_stages, sum_shares, sum_shares_without_overlap

CUTS_PER_DOMAIN_MAX = 4_096
"""Most cuts of a domain for which shares are stored."""

UNSTAGED_PRICE = 1e3
"""Added to the price of a predicate that no stage takes: more than the price of any cover that stages take."""

SHARE_TOLERANCE = 1 + 1e-9
"""Factor by which equal shares may differ, due to rounding."""

NARROW_SHARE = 1 / 8
"""A stage takes every stretch whose share is below this part of the share of the events that meet one shard of it."""

EVERYWHERE = 1 << 40
"""The last stage, with the subscriptions that any event may satisfy."""


class Shares(NamedTuple):
    """Expected shares of the events by stretch of a domain.

    Domain d has the spaces cut_start[d] + d to cut_start[d+1] + d, and mass[s] is the share in all spaces before s.
    """

    cut_start: I64
    cuts: I64
    mass: F64

    def estimate(self, domain: I32, low: I64, high: I64) -> F64:
        """Estimate the share in the spaces that each stretch touches; 0 on an unknown domain."""
        found = np.empty(len(domain))
        sum_shares(*self, domain, low, high, found)
        return found

    def estimate_without_overlap(self, domain: I32, low: I64, high: I64) -> F64:
        """Estimate shares as `estimate` does, but count a space only for the first stretch that touches it.

        So the shares of all stretches of a domain add up. The stretches are ordered by domain and ascending.
        """
        found = np.empty(len(domain))
        sum_shares_without_overlap(*self, domain, low, high, found)
        return found

    def sum_by_domain(self) -> F64:
        """Return the share of the events that have a value on each domain."""
        at = self.cut_start + np.arange(len(self.cut_start))
        return self.mass[at[1:]] - self.mass[at[:-1]]


def estimate_shares(
    sample: Extract, domains: int, marginals: Marginals | None, cuts_per_domain_max: int = CUTS_PER_DOMAIN_MAX
) -> Shares:
    """Estimate shares as the engine `cover` does: from a profile of the events, or else from the subscriptions."""
    literals = sample.literals
    known = cut_spaces(literals, np.arange(len(literals.domain), dtype=np.int32), domains)
    mass = estimate_mass(known, sample, marginals)
    start, cut_numbers, at = [0], [], []
    for domain in range(domains):
        first, end = known.cut_start[domain], known.cut_start[domain + 1]
        numbers = np.arange(first, end)
        if len(numbers) > cuts_per_domain_max:
            numbers = numbers[np.linspace(0, len(numbers) - 1, cuts_per_domain_max).astype(np.int64)]
        cut_numbers.append(numbers)
        at += [np.array([first + domain]), numbers + domain + 1]  # the space behind a cut
        start.append(start[-1] + len(numbers))
    if not domains:
        return Shares(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(1))
    cuts = known.cuts[np.concatenate(cut_numbers)]
    return Shares(np.array(start, dtype=np.int64), cuts, np.append(mass[np.concatenate(at)], mass[-1]))


class Places(NamedTuple):
    """The places of subscriptions, by slot, and the covers that determine them."""

    stage: I64
    point: I64
    covers: PredicateLists  # empty for a subscription that any event may satisfy, or none


class Stages(NamedTuple):
    """The stages by domain: domain d has the stages start[d]:start[d+1], with ascending `widest`."""

    shares: Shares
    start: I64  # |0|1|3|
    widest: F64  # |0.01|0.1 0.4|    the largest share of the events that a stretch of the stage may have
    number: I64  # |1|0 2|           the order of the stages
    price: F64  # |0.3|0.1 0.6|     the estimated share of the events that meet a shard of the stage

    def price_predicates(self, literals: Predicates) -> F64:
        """Return the price of each predicate as a part of a cover: a cover with a lower sum meets fewer events."""
        if not len(literals.domain):
            return np.zeros(0)
        owner = np.repeat(literals.domain, np.diff(literals.start))
        share = np.add.reduceat(self.shares.estimate(owner, literals.low, literals.high), literals.start[:-1])
        at = self._find_taking_stages(literals.domain, *_get_hulls(literals))
        # One predicate on a stage is always better than two.
        prices = np.where(at >= 0, 1 + np.append(self.price, 0.0)[at] / 2, UNSTAGED_PRICE + share)
        # Few events are expected to have a value on a new domain.
        return np.where(literals.domain < len(self.start) - 1, prices, 1.0)

    def _find_taking_stages(self, domain: I32, low: I64, high: I64) -> I64:
        """Return the stage that takes each stretch, as an index into the arrays; -1 if no stage does."""
        at = np.empty(len(domain), dtype=np.int64)
        find_taking_stages(self.start, self.widest, domain, self.shares.estimate(domain, low, high), at)
        return at

    def find_places(self, extract: Extract) -> Places:
        """Choose the covers of subscriptions, and return them with their places."""
        literals = extract.literals
        covers, _ = choose_covers(extract, self.price_predicates(literals))
        predicate = covers.predicate[: covers.start[-1]]
        covered, domain, low, high, is_on_one_domain = _compute_bounds(
            PredicateLists(covers.start, predicate), literals
        )
        at = self._find_taking_stages(domain, low, high)
        stage = np.full(len(extract.kind), EVERYWHERE)
        point = np.zeros(len(stage), dtype=np.int64)
        is_narrow = is_on_one_domain & (at >= 0)
        wide = len(self.number) + domain.astype(np.int64)
        stage[covered] = np.where(is_narrow, np.append(self.number, 0)[at], wide)
        point[covered] = low
        never = extract.kind == NEVER
        stage[never], point[never] = 0, LOWEST
        return Places(stage, point, PredicateLists(covers.start, predicate))

    def find_domains(self, stage: I64) -> I64:
        """Return the domain of each stage, given by its number; -1 for EVERYWHERE, which has no domain."""
        count = len(self.number)
        by_number = np.empty(count, dtype=np.int64)
        by_number[self.number] = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        found = np.where(stage < count, np.append(by_number, 0)[np.minimum(stage, count)], stage - count)
        return np.where(stage == EVERYWHERE, -1, found)

    def move_labels(self, moved: Mapping[int, LabelMoves]) -> Stages:
        """Return the stages with cuts that follow the moves of labels; `moved` has the moves by domain."""
        start, cuts, mass = self.shares
        cuts = cuts.copy()
        for domain, moves in moved.items():
            if domain < len(start) - 1:
                own = slice(start[domain], start[domain + 1])
                cuts[own] = moves.map_points(cuts[own])
        return self._replace(shares=Shares(start, cuts, mass))


def _get_hulls(literals: Predicates) -> tuple[I64, I64]:
    """Return the first and the last point of each predicate."""
    return literals.low[literals.start[:-1]], literals.high[literals.start[1:] - 1]


class _Bounds(NamedTuple):
    """The range of each cover that is not empty. A cover on several domains has the range of its first predicate."""

    subscription: I64
    domain: I32  # of the first predicate
    low: I64  # the first and the last point of all predicates, or, on several domains, of the first predicate
    high: I64
    is_on_one_domain: NDArray[np.bool_]


def _compute_bounds(covers: PredicateLists, literals: Predicates) -> _Bounds:
    start, predicate = covers
    subscription = np.flatnonzero(np.diff(start))
    if not len(subscription):
        nothing = np.zeros(0, dtype=np.int64)
        return _Bounds(subscription, nothing.astype(np.int32), nothing, nothing, nothing.astype(np.bool_))
    begin = start[subscription]
    low, high = (ends[predicate] for ends in _get_hulls(literals))
    domain = literals.domain[predicate]
    is_on_one_domain = np.minimum.reduceat(domain, begin) == np.maximum.reduceat(domain, begin)
    return _Bounds(
        subscription,
        domain[begin],
        np.where(is_on_one_domain, np.minimum.reduceat(low, begin), low[begin]),
        np.where(is_on_one_domain, np.maximum.reduceat(high, begin), high[begin]),
        is_on_one_domain,
    )


def choose_stages(sample: Extract, shares: Shares, shards: int) -> Stages:
    """Choose the stages greedily: the next one is the stage whose shards are met by the fewest events.

    n subscriptions on a domain fill k = n / (subscriptions in a shard) shards. If a share c of the events has a value
    on the domain, and the widest stretch has a share w, an event meets about c + k w of them. The price of the domain
    is (c + k w) / k. The remaining subscriptions are on no stage once every event would meet their shards anyway.
    """
    subscriptions_per_shard = max(1.0, len(sample.kind) / shards)
    domain_share = shares.sum_by_domain()
    left: list[tuple[I64, F64]] = list(_list_candidates(sample, shares))
    is_left = np.ones(len(sample.kind), dtype=np.bool_)

    def price_next_stage(domain: int) -> tuple[float, float]:
        """Return the price of the domain as the next stage, and the largest share of a stretch on this stage."""
        slots, share = left[domain]
        stays = is_left[slots]
        slots, share = left[domain] = slots[stays], share[stays]
        if not len(slots):
            return np.inf, 0.0
        count = np.arange(1, len(slots) + 1)
        price = subscriptions_per_shard * (domain_share[domain] / count + share / subscriptions_per_shard)
        at = int(np.argmin(price))
        return float(price[at]), float(max(share[at] * SHARE_TOLERANCE, price[at] * NARROW_SHARE))

    # A price only rises when subscriptions leave the domain, so that an old price is a lower bound.
    queue = [(price_next_stage(domain)[0], domain) for domain in range(len(left))]
    heapq.heapify(queue)
    chosen: list[tuple[int, float, float]] = []
    while queue:
        _, domain = heapq.heappop(queue)
        price, widest = price_next_stage(domain)
        if queue and price > queue[0][0] * SHARE_TOLERANCE:
            heapq.heappush(queue, (price, domain))
            continue
        if not price < 1:
            break
        slots, share = left[domain]
        is_left[slots[share <= widest]] = False
        chosen.append((domain, widest, price))
        heapq.heappush(queue, (price_next_stage(domain)[0], domain))
    order = sorted(range(len(chosen)), key=lambda number: (chosen[number][0], number))
    domains = np.array([chosen[number][0] for number in order], dtype=np.int64)
    return Stages(
        shares,
        np.searchsorted(domains, np.arange(len(left) + 1)),
        np.array([chosen[number][1] for number in order], dtype=np.float64),
        np.array(order, dtype=np.int64),
        np.array([chosen[number][2] for number in order], dtype=np.float64),
    )


def _list_candidates(sample: Extract, shares: Shares) -> Iterator[tuple[I64, F64]]:
    """Yield (slots, shares) for each domain: the subscriptions that have a cover on this domain alone.

    `shares` are the expected shares of the events that touch the stretches of these covers, ascending. Each predicate
    of a conjunction is a cover. Of any other expression, only the two cheapest covers are considered.
    """
    literals = sample.literals
    hull_share = shares.estimate(literals.domain, *_get_hulls(literals))
    is_conjunction = sample.kind == CONJUNCTION
    which = np.flatnonzero(is_conjunction)
    start, at = gather(sample.start, which)
    predicate = sample.code[at]
    slots, domains, stretch_shares = (
        [np.repeat(which, np.diff(start))],
        [literals.domain[predicate]],
        [hull_share[predicate]],
    )
    if (sample.kind == PROGRAM).any():
        for lists in choose_covers(sample, hull_share):
            bounds = _compute_bounds(PredicateLists(lists.start, lists.predicate[: lists.start[-1]]), literals)
            is_candidate = bounds.is_on_one_domain & ~is_conjunction[bounds.subscription]
            slot, domain, low, high = (array[is_candidate] for array in bounds[:4])
            slots.append(slot)
            domains.append(domain)
            stretch_shares.append(shares.estimate(domain, low, high))
    share, domain = np.concatenate(stretch_shares), np.concatenate(domains)
    order = np.lexsort((share, domain))
    slot, share = np.concatenate(slots)[order], share[order]
    for begin, end in pairwise(np.searchsorted(domain[order], np.arange(len(shares.cut_start)))):
        yield slot[begin:end], share[begin:end]
