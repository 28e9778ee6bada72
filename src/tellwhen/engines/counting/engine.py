"""`counting`: an event counts down the predicates of every conjunction that it touches (SIFT; BE-Tree, section 7.2)."""

from __future__ import annotations

import numpy as np

from tellwhen.engines.base import Reader
from tellwhen.engines.counting.arrays import CountingIndex, CountingScratch
from tellwhen.engines.counting.kernels import match_counting
from tellwhen.engines.shared.calls import Refiner, make_sizes
from tellwhen.engines.shared.conjunctions import ConjunctionEngine, ConjunctionReader
from tellwhen.engines.shared.stabbing import RUNS_SIZE, build_stabbing
from tellwhen.kernels.arrays import CONJUNCTION, I64, U64


class Counting(ConjunctionEngine):
    """Engine that counts satisfied predicates, which a stabbing index finds without testing each."""

    name = "counting"
    summary = "counts satisfied predicates per subscription (SIFT)"
    predicates_max = 255  # what a counter of one byte can count
    index_kind = CountingIndex

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        kind, start, code, _ = snapshot.subscriptions
        direct = np.zeros(len(kind), dtype=bool)
        direct[self._built[kind[self._built] == CONJUNCTION]] = True
        translated = self.translator.conjunctions
        lengths = np.where(direct, np.diff(start), 0)
        offset = np.concatenate([[0], np.cumsum(np.concatenate([lengths, np.diff(translated.start)]))])
        predicate = np.concatenate([code[np.repeat(direct, np.diff(start))], translated.predicate])
        need = np.diff(offset)
        is_built = np.concatenate([direct, np.ones(len(translated.slot), dtype=bool)])
        self._index = CountingIndex(
            build_stabbing(snapshot.predicates, snapshot.domains, offset, predicate),
            need=_pack_bytes(need),
            translated_slot=translated.slot,
            always=np.flatnonzero(is_built & (need == 0)).astype(np.int32),
            conjunctions=len(need),
        )

    def _index_reader(self, refiner: Refiner) -> Reader:
        snapshot = self.source.snapshot()
        sizes = make_sizes(
            CountingScratch,
            runs=RUNS_SIZE,
            remaining=len(self._index.need),
            done=self._index.conjunctions + 1,
            stamps=len(snapshot.subscriptions.kind) + 1,
            effort=2,
        )
        return ConjunctionReader(match_counting, self._index, sizes, snapshot, refiner)


def _pack_bytes(counts: I64) -> U64:
    """Return the counts as bytes, eight to a word."""
    words = np.zeros(-(-len(counts) // 8), dtype=np.uint64)
    words.view(np.uint8)[: len(counts)] = counts
    return words
