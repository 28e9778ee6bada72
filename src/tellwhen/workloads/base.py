"""What is a workload? Numbered blocks of subscriptions and of events, each made from a seed, independently."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I32, I64
from tellwhen.workloads.conjunctions import Conjunctions

BLOCK = 10_000
"""Subscriptions or events in a block. Part of the definition of every workload: another size gives other data."""


class Pairs(NamedTuple):
    """Events as arrays: event e has attribute[i] = value[i] for i in start[e]:start[e+1]."""

    start: I64
    attribute: I32
    value: I64


class Workload(ABC):
    """A seeded generator, the same on every machine; any process can make any block."""

    def prepare(self) -> None:  # noqa: B027  most have nothing to prepare
        """Compute once what every block needs. Copies of the workload, as on Spark's workers, then have it."""

    @abstractmethod
    def subscriptions(self, block: int) -> list[str]:
        """A block of expressions, as text."""

    @abstractmethod
    def events(self, block: int) -> list[dict[str, Any]]:
        """A block of events."""


class ArrayWorkload(Workload):
    """Conjunctions over integers, made as arrays; the text is derived from them."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the attributes."""

    @abstractmethod
    def conjunctions(self, block: int) -> Conjunctions:
        """A block of subscriptions."""

    @abstractmethod
    def pairs(self, block: int) -> Pairs:
        """A block of events."""

    def subscriptions(self, block: int) -> list[str]:
        return self.conjunctions(block).texts(self.names)

    def events(self, block: int) -> list[dict[str, Any]]:
        start, attribute, value = self.pairs(block)
        names = self.names
        entries = [(names[a], v) for a, v in zip(attribute.tolist(), value.tolist(), strict=True)]
        return [dict(entries[a:b]) for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]


def taken(work: Workload, count: int) -> list[str]:
    """The first subscriptions of a workload."""
    return [text for block in range(-(-count // BLOCK)) for text in work.subscriptions(block)][:count]


def taken_events(work: Workload, count: int) -> list[dict[str, Any]]:
    """The first events of a workload."""
    return [event for block in range(-(-count // BLOCK)) for event in work.events(block)][:count]


def joined(parts: list[Conjunctions], count: int) -> Conjunctions:
    """Blocks concatenated, cut after `count` subscriptions."""
    starts = np.cumsum([0, *(len(part.attribute) for part in parts)])
    firsts = np.cumsum([0, *(len(part.operand) for part in parts)])
    start = np.concatenate([*(p.start[:-1] + at for p, at in zip(parts, starts[:-1], strict=True)), starts[-1:]])
    first = np.concatenate([*(p.first[:-1] + at for p, at in zip(parts, firsts[:-1], strict=True)), firsts[-1:]])
    end = start[min(count, len(start) - 1)]
    return Conjunctions(
        start[: count + 1],
        np.concatenate([part.attribute for part in parts])[:end],
        np.concatenate([part.operator for part in parts])[:end],
        first[: end + 1],
        np.concatenate([part.operand for part in parts])[: first[end]],
    )
