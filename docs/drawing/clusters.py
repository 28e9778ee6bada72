"""What is in an index of `cover`, in a user's words? Its clusters, the nodes that they wait on, and their postings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import tellwhen as tw
from docs.drawing.words import Spaces, Words, structure
from tellwhen.engines.cover.arrays import (
    CHUNK,
    CHUNKS_END,
    GUARD,
    HALF,
    LEVEL,
    NODE_FIRST,
    NODES,
    REST,
    REST_END,
    TABLE,
    CoverIndex,
)

OPENED_BY_ALL = 0
"""The cluster that every event opens."""


class Posting(NamedTuple):
    """A term that waits in a cluster: its number, its slot, where its program begins, and its guard."""

    number: int
    slot: int
    program: int
    guard: int


class Cluster(NamedTuple):
    """What waits on one node: the spaces first to last of a domain."""

    number: int
    first: int
    last: int
    in_chunks: list[Posting]
    rest: list[Posting]
    chunks: range
    """Where the words of its chunks are."""

    def is_opened_by(self, spaces: set[int]) -> bool:
        """Does an event with values in these spaces have one on the node?"""
        return any(self.first <= space <= self.last for space in spaces)


class Clusters(NamedTuple):
    """An index, and how to say what is in it."""

    arrays: CoverIndex
    words: Words
    spaces: Spaces
    all: list[Cluster]

    @classmethod
    def of(cls, index: tw.Index) -> Clusters:
        cover, words = structure(index), Words(index)
        spaces = Spaces(words, cover.cut_start, cover.cuts)
        return cls(cover, words, spaces, clusters_of(cover, spaces))

    def values(self, event: Mapping[str, object]) -> dict[int, int]:
        """By domain of an event: the space of its value."""
        return {domain: self.spaces.of(domain, point) for domain, point in self.words.entries(event).items()}


def clusters_of(cover: CoverIndex, spaces: Spaces) -> list[Cluster]:
    """All clusters, by the nodes on which an event finds them."""
    assert cover.clusters[OPENED_BY_ALL, REST_END] == 0, "nothing in a picture is tested on every event"
    access, found = cover.access, []
    for domain in range(len(access.variant_start) - 1):
        on = spaces.on(domain)
        for variant in access.variants[access.variant_start[domain] : access.variant_start[domain + 1]].tolist():
            for node in range(variant[NODES]):
                number = int(access.cluster[variant[TABLE] + node])
                if number >= 0:
                    first = ((variant[NODE_FIRST] + node) << variant[LEVEL]) - variant[HALF]
                    last = first + (1 << variant[LEVEL]) - 1
                    stretch = on[0] + max(0, first), min(on[-1], on[0] + last)
                    found.append(_cluster(cover, number, *stretch))
    return sorted(found)


def _cluster(cover: CoverIndex, number: int, first: int, last: int) -> Cluster:
    row = cover.clusters[number].tolist()
    begin = int(cover.clusters[number - 1, REST_END])
    in_chunks = [_posting(cover, k, 0) for k in range(begin, row[REST])]
    rest = [
        _posting(cover, k, int(cover.postings.guard[row[GUARD] + k - row[REST]]))
        for k in range(row[REST], row[REST_END])
    ]
    return Cluster(number, first, last, in_chunks, rest, range(row[CHUNK], row[CHUNKS_END]))


def _posting(cover: CoverIndex, number: int, guard: int) -> Posting:
    slot = int(cover.postings.slot[number])
    return Posting(number, slot if slot >= 0 else -1 - slot, int(cover.postings.program[number]), guard)
