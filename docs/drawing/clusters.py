"""The clusters of a `cover` index, the nodes that open them, and their postings, for the pictures of `cover`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import tellwhen as tw
from docs.drawing.decoder import IndexDecoder, Spaces, get_arrays
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

UNCONDITIONAL_CLUSTER = 0
"""The number of the cluster that every event opens."""


class Posting(NamedTuple):
    """A term in a cluster: its number, its slot, the offset of its program, and its guard."""

    number: int
    slot: int
    program: int
    guard: int


class Cluster(NamedTuple):
    """The terms behind one node, which stands for the spaces `first` to `last` of a domain."""

    number: int
    first: int
    last: int
    chunk_postings: list[Posting]
    rest_postings: list[Posting]
    chunk_words: range
    """The positions of the cluster's chunks in the array of chunk words."""

    def is_opened_by(self, spaces: set[int]) -> bool:
        """Return whether the node contains any of these spaces, which are those of an event's values."""
        return any(self.first <= space <= self.last for space in spaces)


class ClusterTable(NamedTuple):
    """All clusters of an index, its arrays, and the decoders that turn numbers into texts."""

    arrays: CoverIndex
    decoder: IndexDecoder
    spaces: Spaces
    clusters: list[Cluster]

    def find_event_spaces(self, event: Mapping[str, object]) -> dict[int, int]:
        """Return the space of each value of an event, by domain."""
        return {domain: self.spaces.find(domain, point) for domain, point in self.decoder.encode_event(event).items()}


def read_cluster_table(index: tw.Index) -> ClusterTable:
    """Read the clusters of an index of `cover`."""
    cover, decoder = get_arrays(index), IndexDecoder(index)
    spaces = Spaces(decoder, cover.cut_start, cover.cuts)
    return ClusterTable(cover, decoder, spaces, _read_clusters(cover, spaces))


def _read_clusters(cover: CoverIndex, spaces: Spaces) -> list[Cluster]:
    assert cover.clusters[UNCONDITIONAL_CLUSTER, REST_END] == 0, "nothing in a picture is tested on every event"
    access, clusters = cover.access, []
    for domain in range(len(access.variant_start) - 1):
        domain_spaces = spaces.list_of_domain(domain)
        for variant in access.variants[access.variant_start[domain] : access.variant_start[domain + 1]].tolist():
            for node in range(variant[NODES]):
                number = int(access.cluster[variant[TABLE] + node])
                if number >= 0:
                    first = ((variant[NODE_FIRST] + node) << variant[LEVEL]) - variant[HALF]
                    last = first + (1 << variant[LEVEL]) - 1
                    first_space, last_space = domain_spaces[0] + max(0, first), domain_spaces[0] + last
                    clusters.append(_read_cluster(cover, number, first_space, min(domain_spaces[-1], last_space)))
    return sorted(clusters)


def _read_cluster(cover: CoverIndex, number: int, first: int, last: int) -> Cluster:
    row = cover.clusters[number].tolist()
    begin = int(cover.clusters[number - 1, REST_END])
    chunk_postings = [_read_posting(cover, k, 0) for k in range(begin, row[REST])]
    rest_postings = [
        _read_posting(cover, k, int(cover.postings.guard[row[GUARD] + k - row[REST]]))
        for k in range(row[REST], row[REST_END])
    ]
    return Cluster(number, first, last, chunk_postings, rest_postings, range(row[CHUNK], row[CHUNKS_END]))


def _read_posting(cover: CoverIndex, number: int, guard: int) -> Posting:
    slot = int(cover.postings.slot[number])
    return Posting(number, slot if slot >= 0 else -1 - slot, int(cover.postings.program[number]), guard)
