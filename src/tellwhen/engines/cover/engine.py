"""`cover`: a subscription waits under a few predicates of which one must be true; its program decides.

There is no normal form and no budget: any expression has a cover, or is tested on every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tellwhen.engines.base import Option, Reader
from tellwhen.engines.cover.arrays import BUCKETS_MAX, CHUNK_MEMBERS, CHUNK_MIN, CoverIndex
from tellwhen.engines.cover.build import build_index
from tellwhen.engines.cover.reader import BLOCK_LIMITS, BlockLimits, make_readers
from tellwhen.engines.cover.verify import check_index
from tellwhen.engines.shared.bulk import BulkEngine
from tellwhen.engines.shared.calls import Packed, Refiner, Union


class Cover(BulkEngine):
    """Engine that finds candidates by their covers, and runs their programs."""

    name = "cover"
    summary = "finds candidates by a few predicates of which one must be true, and runs their programs"
    supports = frozenset({"expressions"})
    options: ClassVar[Mapping[str, Option]] = {
        "chunk": Option(CHUNK_MIN, 1, CHUNK_MEMBERS, "fewest terms with the same attributes that are tested together"),
        "buckets": Option(BUCKETS_MAX, 1, BUCKETS_MAX, "parts of an attribute's values that bitmaps tell apart"),
    }

    index_kind = CoverIndex
    block_limits: ClassVar[BlockLimits] = BLOCK_LIMITS

    def _build(self) -> None:
        snapshot = self.source.snapshot()
        marginals = self.source.typical().marginals_if_known(snapshot.domains)
        self._index = build_index(snapshot, self._built, marginals, self.option["chunk"], self.option["buckets"])

    def _index_reader(self, refiner: Refiner) -> Reader:
        found = make_readers([Packed(self._index)], Packed(self.source.snapshot()), limits=self.block_limits)
        return Union([*found, refiner]) if self._pending.count else found[0]

    def verify(self) -> None:
        if self._index is not None:
            check_index(self._index, self._built, self.source.snapshot())
