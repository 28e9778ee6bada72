"""By which of its values is a subscription placed, so that an event meets few shards?

A *cover* of a subscription is a few predicates of which one must be true (`engines/cover`). Shards are filled along a
line of *stages*, one after the other. A stage is a domain, in the order of its points, for subscriptions whose cover is
a narrow stretch of this domain:

    stage      0: user, narrow    1: price, narrow     2: price, wider     wide: anything else        every event
               |||||||||||||||    |-|--|-|--|-|        |---|---|---|       |------|  IN (3, 900)  OR   TRUE
    shards     0     1     2      3         4          5                   6

A shard is then met by events with a value on its part of the line. Which covers are chosen is a matter of speed only:
what a shard must be met for is read off the covers of the subscriptions that it has (`routes.py`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellwhen.compile.dictionary import Moved
from tellwhen.compile.extract import Extract
from tellwhen.containers.batches import Marginals
from tellwhen.containers.csr import gather
from tellwhen.engines.cover.build_arrays import PredicateLists
from tellwhen.engines.cover.ranges import estimate_mass
from tellwhen.engines.cover.terms import choose_covers
from tellwhen.engines.shared.spaces import cut_spaces
from tellwhen.kernels.arrays import CONJUNCTION, F64, I32, I64, LOWEST, NEVER, PROGRAM, Predicates
from tellwhen.warehouse.kernels.routes import find_taking, shares_between, shares_united

MAX_CUTS = 4_096
"""Cuts of a domain for which shares are kept."""

WIDE = 1e3
"""Added to the price of what no stage takes: more than any cover of predicates that stages take."""

TOLERANCE = 1 + 1e-9
"""Equal shares may differ by rounding."""

SLACK = 1 / 8
"""A stage takes whatever has less than this part of the share of the events that meet one of its shards."""

EVERYWHERE = 1 << 40
"""The stage of subscriptions that any event may satisfy: behind all others."""


class Shares(NamedTuple):
    """The share of the events to expect in a stretch of a domain: domain d has the spaces cut_start[d] + d to
    cut_start[d+1] + d, and mass[s] is the share in all spaces before s."""

    cut_start: I64
    cuts: I64
    mass: F64

    def between(self, domain: I32, low: I64, high: I64) -> F64:
        """The share in the spaces that each stretch touches; 0 on a domain that was not known."""
        found = np.empty(len(domain))
        shares_between(*self, domain, low, high, found)
        return found

    def united(self, domain: I32, low: I64, high: I64) -> F64:
        """The same of stretches by domain and ascending, each space counted once: domains have fewer spaces here than
        there are constants."""
        found = np.empty(len(domain))
        shares_united(*self, domain, low, high, found)
        return found

    def whole(self) -> F64:
        """By domain: the share of the events that carry it."""
        at = self.cut_start + np.arange(len(self.cut_start))
        return self.mass[at[1:]] - self.mass[at[:-1]]


def expected_shares(sample: Extract, domains: int, marginals: Marginals | None) -> Shares:
    """Estimated as in the engine `cover`: from a profile of the events, or else guessed from the subscriptions."""
    literals = sample.literals
    known = cut_spaces(literals, np.arange(len(literals.domain), dtype=np.int32), domains)
    mass = estimate_mass(known, sample, marginals)
    start, kept, at = [0], [], []
    for domain in range(domains):
        first, end = known.cut_start[domain], known.cut_start[domain + 1]
        mine = np.arange(first, end)
        if len(mine) > MAX_CUTS:
            mine = mine[np.linspace(0, len(mine) - 1, MAX_CUTS).astype(np.int64)]
        kept.append(mine)
        at += [np.array([first + domain]), mine + domain + 1]  # the space behind a cut
        start.append(start[-1] + len(mine))
    if not domains:
        return Shares(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(1))
    cuts = known.cuts[np.concatenate(kept)]
    return Shares(np.array(start, dtype=np.int64), cuts, np.append(mass[np.concatenate(at)], mass[-1]))


class Found(NamedTuple):
    """Where subscriptions are on the line, and the covers that put them there."""

    stage: I64
    point: I64
    covers: PredicateLists  # empty for those that any event may satisfy, or none


class Stages(NamedTuple):
    """The stages by domain: those of domain d are start[d]:start[d+1], with ascending `widest`."""

    shares: Shares
    start: I64  # |0|1|3|
    widest: F64  # |0.01|0.1 0.4|    the largest share of the events that a stretch of the stage may have
    number: I64  # |1|0 2|           the order of the stages
    price: F64  # |0.3|0.1 0.6|     the share of the events that meet a shard of the stage, about

    def prices(self, literals: Predicates) -> F64:
        """The prices of predicates as parts of a cover."""
        if not len(literals.domain):
            return np.zeros(0)
        owner = np.repeat(literals.domain, np.diff(literals.start))
        whole = np.add.reduceat(self.shares.between(owner, literals.low, literals.high), literals.start[:-1])
        at = self._taking(literals.domain, *_hulls(literals))
        # One predicate on a stage is always better than two.
        prices = np.where(at >= 0, 1 + np.append(self.price, 0.0)[at] / 2, WIDE + whole)
        # A domain that was not known before is taken for a rare one.
        return np.where(literals.domain < len(self.start) - 1, prices, 1.0)

    def _taking(self, domain: I32, low: I64, high: I64) -> I64:
        """The stage that takes each stretch, as an index into the arrays; -1 if none does."""
        at = np.empty(len(domain), dtype=np.int64)
        find_taking(self.start, self.widest, domain, self.shares.between(domain, low, high), at)
        return at

    def find(self, extract: Extract) -> Found:
        """The covers of subscriptions, and where these put them on the line."""
        literals = extract.literals
        covers, _ = choose_covers(extract, self.prices(literals))
        predicate = covers.predicate[: covers.start[-1]]
        some, domain, low, high, is_one = _stretches(PredicateLists(covers.start, predicate), literals)
        at = self._taking(domain, low, high)
        stage = np.full(len(extract.kind), EVERYWHERE)
        point = np.zeros(len(stage), dtype=np.int64)
        is_narrow = is_one & (at >= 0)
        wide = len(self.number) + domain.astype(np.int64)
        stage[some] = np.where(is_narrow, np.append(self.number, 0)[at], wide)
        point[some] = low
        never = extract.kind == NEVER
        stage[never], point[never] = 0, LOWEST
        return Found(stage, point, PredicateLists(covers.start, predicate))

    def domains(self, stage: I64) -> I64:
        """The domain of each stage; -1 for EVERYWHERE."""
        count = len(self.number)
        by_number = np.empty(count, dtype=np.int64)
        by_number[self.number] = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        found = np.where(stage < count, np.append(by_number, 0)[np.minimum(stage, count)], stage - count)
        return np.where(stage == EVERYWHERE, -1, found)

    def moved(self, moved: Mapping[int, Moved]) -> Stages:
        """The same after labels have moved on some domains."""
        start, cuts, mass = self.shares
        cuts = cuts.copy()
        for domain, moves in moved.items():
            if domain < len(start) - 1:
                mine = slice(start[domain], start[domain + 1])
                cuts[mine] = moves(cuts[mine])
        return self._replace(shares=Shares(start, cuts, mass))


def _hulls(literals: Predicates) -> tuple[I64, I64]:
    """By predicate: its first and its last point."""
    return literals.low[literals.start[:-1]], literals.high[literals.start[1:] - 1]


def _stretches(lists: PredicateLists, literals: Predicates) -> tuple[I64, I32, I64, I64, NDArray[np.bool_]]:
    """Of every list that is not empty: its number, the domain of its first predicate, the first and the last point of
    all on that domain, and whether all are on it."""
    start, predicate = lists
    some = np.flatnonzero(np.diff(start))
    if not len(some):
        nothing = np.zeros(0, dtype=np.int64)
        return some, nothing.astype(np.int32), nothing, nothing, nothing.astype(np.bool_)
    begin = start[some]
    low, high = (ends[predicate] for ends in _hulls(literals))
    domain = literals.domain[predicate]
    is_one = np.minimum.reduceat(domain, begin) == np.maximum.reduceat(domain, begin)
    first = domain[begin]
    low = np.where(is_one, np.minimum.reduceat(low, begin), low[begin])
    high = np.where(is_one, np.maximum.reduceat(high, begin), high[begin])
    return some, first, low, high, is_one


def chosen_stages(sample: Extract, shares: Shares, shards: int) -> Stages:
    """Greedily: the next stage is the one whose shards are met by the fewest events, for the subscriptions in them.

    n subscriptions on a domain that a share c of the events carry fill k = n / (subscriptions in a shard) shards. If
    the widest has a share w, an event meets about c + k w of them. What is left is on no stage when every event would
    meet its shards anyway.
    """
    full = max(1.0, len(sample.kind) / shards)
    carried = shares.whole()
    left: list[tuple[I64, F64]] = list(_candidates(sample, shares))
    is_left = np.ones(len(sample.kind), dtype=np.bool_)

    def best(domain: int) -> tuple[float, float]:
        """The price of the domain as the next stage, and the widest stretch on it."""
        slots, share = left[domain]
        stays = is_left[slots]
        slots, share = left[domain] = slots[stays], share[stays]
        if not len(slots):
            return np.inf, 0.0
        count = np.arange(1, len(slots) + 1)
        price = full * (carried[domain] / count + share / full)
        at = int(np.argmin(price))
        return float(price[at]), float(max(share[at] * TOLERANCE, price[at] * SLACK))

    # A price only rises when others are taken away, so that an old one is a lower bound.
    queue = [(best(domain)[0], domain) for domain in range(len(left))]
    heapq.heapify(queue)
    chosen: list[tuple[int, float, float]] = []
    while queue:
        _, domain = heapq.heappop(queue)
        price, widest = best(domain)
        if queue and price > queue[0][0] * TOLERANCE:
            heapq.heappush(queue, (price, domain))
            continue
        if not price < 1:
            break
        slots, share = left[domain]
        is_left[slots[share <= widest]] = False
        chosen.append((domain, widest, price))
        heapq.heappush(queue, (best(domain)[0], domain))
    order = sorted(range(len(chosen)), key=lambda number: (chosen[number][0], number))
    domains = np.array([chosen[number][0] for number in order], dtype=np.int64)
    return Stages(
        shares,
        np.searchsorted(domains, np.arange(len(left) + 1)),
        np.array([chosen[number][1] for number in order], dtype=np.float64),
        np.array(order, dtype=np.int64),
        np.array([chosen[number][2] for number in order], dtype=np.float64),
    )


def _candidates(sample: Extract, shares: Shares) -> Iterator[tuple[I64, F64]]:
    """By domain: the subscriptions with a cover on this domain alone, and the share of its stretch, ascending.

    Of a conjunction each predicate is one. Of any other expression only its cheapest cover, and the next one, are
    looked at.
    """
    literals = sample.literals
    hull = shares.between(literals.domain, *_hulls(literals))
    is_conjunction = sample.kind == CONJUNCTION
    which = np.flatnonzero(is_conjunction)
    start, at = gather(sample.start, which)
    predicate = sample.code[at]
    slots, domains, stretches = [np.repeat(which, np.diff(start))], [literals.domain[predicate]], [hull[predicate]]
    if (sample.kind == PROGRAM).any():
        for lists in choose_covers(sample, hull):
            found = PredicateLists(lists.start, lists.predicate[: lists.start[-1]])
            some, domain, low, high, is_one = _stretches(found, literals)
            mine = is_one & ~is_conjunction[some]
            slots.append(some[mine])
            domains.append(domain[mine])
            stretches.append(shares.between(domain[mine], low[mine], high[mine]))
    stretch, of = np.concatenate(stretches), np.concatenate(domains)
    order = np.lexsort((stretch, of))
    slot, stretch = np.concatenate(slots)[order], stretch[order]
    for begin, end in pairwise(np.searchsorted(of[order], np.arange(len(shares.cut_start)))):
        yield slot[begin:end], stretch[begin:end]
