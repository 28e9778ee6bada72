"""Check the invariants of an index of `cover`, for tests."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.cover.arrays import (
    ALTERNATIVES,
    BITMAPS,
    CHUNK,
    CHUNK_HEADER,
    CHUNK_MEMBERS,
    CHUNKS_END,
    COLUMNS,
    GUARD,
    INSTRUCTION_WORDS,
    MEMBERS,
    POSTING,
    REST,
    REST_END,
    CoverIndex,
)
from tellwhen.kernels.arrays import I32, NEVER, Snapshot


def check_index(index: CoverIndex, slots: I32, snapshot: Snapshot) -> None:
    """Raise AssertionError unless every slot waits, and clusters, chunks, bitmaps, guards and programs have no gaps."""
    postings = index.postings
    kind = snapshot.subscriptions.kind[slots]
    found = np.where(postings.slot < 0, -1 - postings.slot, postings.slot)
    assert np.array_equal(np.unique(found), np.sort(slots[kind != NEVER])), "a slot is not posted, or one too many is"
    assert set(index.access.cluster[index.access.cluster >= 0].tolist()) == set(range(1, len(index.clusters)))
    at = guard = bitmaps = chunk = 0
    for cluster in index.clusters:
        assert cluster[CHUNK] == chunk or cluster[CHUNK] == cluster[CHUNKS_END]
        while chunk < cluster[CHUNKS_END]:
            posting, members, first_bitmap, columns = index.chunks.words[chunk : chunk + COLUMNS + 1].tolist()
            assert (posting, first_bitmap) == (at, bitmaps), "a chunk does not begin where the one before it ends"
            assert 0 < members <= CHUNK_MEMBERS
            at += members
            chunk += CHUNK_HEADER + columns + int(index.chunks.words[chunk + ALTERNATIVES])
            bitmaps = (
                int(index.chunks.words[chunk + BITMAPS]) if chunk < len(index.chunks.words) else len(index.chunks.bits)
            )
        assert cluster[REST] == at <= cluster[REST_END]
        assert cluster[GUARD] == guard
        guard += cluster[REST_END] - cluster[REST]
        assert (postings.program[at : cluster[REST_END]] >= 0).all(), "a posting in no chunk needs a program"
        at = cluster[REST_END]
    assert at == len(postings.slot)
    assert guard == len(postings.guard)
    assert (POSTING, MEMBERS, BITMAPS, COLUMNS) == (0, 1, 2, 3)
    assert (postings.program < len(index.words)).all()
    begins = np.unique(postings.program[postings.program >= 0])
    assert (begins + 1 + index.words[begins] <= np.append(begins[1:], len(index.words))).all(), "programs overlap"
    assert (index.words[begins] % INSTRUCTION_WORDS == 0).all()
