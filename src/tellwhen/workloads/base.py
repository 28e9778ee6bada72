"""Workloads: numbered blocks of subscriptions and of events, each generated independently from a seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from tellwhen.kernels.arrays import I32, I64
from tellwhen.workloads.conjunctions import Conjunctions

BLOCK = 10_000
"""Subscriptions or events per block. Another size changes the data of every workload."""


class Pairs(NamedTuple):
    """Events as arrays: event e has attribute[i] = value[i] for i in start[e]:start[e+1]."""

    start: I64
    attribute: I32
    value: I64


class Workload(ABC):
    """Seeded generator with equal results on every machine; any process can generate any block."""

    def prepare(self) -> None:  # noqa: B027  most have nothing to prepare
        """Compute and store the data that all blocks need, so that copies of this object on Spark's workers have it."""

    @abstractmethod
    def generate_subscriptions(self, block: int) -> list[str]:
        """Generate the texts of a block of expressions."""

    @abstractmethod
    def generate_events(self, block: int) -> list[dict[str, Any]]:
        """Generate a block of events."""


class ArrayWorkload(Workload):
    """Generator of conjunctions over integers as arrays, from which their texts are derived."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Names of the attributes."""

    @abstractmethod
    def generate_conjunctions(self, block: int) -> Conjunctions:
        """Generate a block of subscriptions as arrays."""

    @abstractmethod
    def generate_pairs(self, block: int) -> Pairs:
        """Generate a block of events as arrays."""

    def generate_subscriptions(self, block: int) -> list[str]:
        return self.generate_conjunctions(block).format_texts(self.names)

    def generate_events(self, block: int) -> list[dict[str, Any]]:
        start, attribute, value = self.generate_pairs(block)
        names = self.names
        entries = [(names[a], v) for a, v in zip(attribute.tolist(), value.tolist(), strict=True)]
        return [dict(entries[a:b]) for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)]


def take_subscriptions(work: Workload, count: int) -> list[str]:
    """Return the first `count` subscriptions of a workload."""
    return [text for block in range(-(-count // BLOCK)) for text in work.generate_subscriptions(block)][:count]


def take_events(work: Workload, count: int) -> list[dict[str, Any]]:
    """Return the first `count` events of a workload."""
    return [event for block in range(-(-count // BLOCK)) for event in work.generate_events(block)][:count]


def concatenate_blocks(parts: list[Conjunctions], count: int) -> Conjunctions:
    """Concatenate blocks and return the first `count` subscriptions."""
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
