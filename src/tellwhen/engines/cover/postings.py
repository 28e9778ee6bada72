"""The places where the subscriptions of an index wait, for the plan that users see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tellwhen.engines.cover.arrays import HALF, LEVEL, NODE_FIRST, NODES, REST, REST_END, TABLE, CoverIndex
from tellwhen.kernels.arrays import I32, I64

ABSENT = 0
"""The point of events without the attribute, on a presence domain."""


def find_slots_by_domain(index: CoverIndex) -> dict[int, I32]:
    """Return by domain the slots that wait on its nodes. A slot may wait on several domains."""
    clusters_of: dict[int, list[I64]] = {}
    for domain, variant in _iterate_variants(index):
        clusters = index.access.cluster[variant[TABLE] : variant[TABLE] + variant[NODES]]
        clusters_of.setdefault(domain, []).append(clusters[clusters >= 0].astype(np.int64))
    return {domain: _find_slots(index, np.concatenate(clusters)) for domain, clusters in clusters_of.items()}


def find_slots_tested_together(index: CoverIndex) -> I32:
    """Return the slots in the chunks that are tested on every event."""
    return _decode_slots(index.postings.slot[: index.clusters[0, REST]])


def find_slots_tested_singly(index: CoverIndex, is_absent: NDArray[np.bool_]) -> I32:
    """Return the slots that are tested one by one on every event.

    These are in the cluster that every event opens, but in no chunk; or they wait for the absence of an attribute that
    most events lack, as is_absent[domain] says.
    """
    clusters = []
    for domain, variant in _iterate_variants(index):
        if is_absent[domain]:
            cuts = index.cuts[index.cut_start[domain] : index.cut_start[domain + 1]]
            absent = int(np.searchsorted(cuts, ABSENT, side="right"))
            node = ((absent + variant[HALF]) >> variant[LEVEL]) - variant[NODE_FIRST]
            if 0 <= node < variant[NODES]:
                clusters.append(int(index.access.cluster[variant[TABLE] + node]))
    waiting = _find_slots(index, np.array([cluster for cluster in clusters if cluster >= 0], dtype=np.int64))
    return np.union1d(
        _decode_slots(index.postings.slot[index.clusters[0, REST] : index.clusters[0, REST_END]]), waiting
    )


def _iterate_variants(index: CoverIndex) -> Iterator[tuple[int, I64]]:
    start = index.access.variant_start
    for domain in np.flatnonzero(np.diff(start)).tolist():
        for variant in index.access.variants[start[domain] : start[domain + 1]]:
            yield domain, variant


def _find_slots(index: CoverIndex, clusters: I64) -> I32:
    """Return the distinct slots of some clusters, whose postings are consecutive."""
    end = index.clusters[:, REST_END]
    begin = np.concatenate([[0], end[:-1]])
    is_wanted = np.zeros(len(end), dtype=np.bool_)
    is_wanted[clusters] = True
    return _decode_slots(index.postings.slot[np.repeat(is_wanted, end - begin)])


def _decode_slots(slot: I32) -> I32:
    return np.unique(np.where(slot < 0, -1 - slot, slot))
