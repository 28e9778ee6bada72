"""Readers of an index of `atree`."""

from __future__ import annotations

from tellwhen.engines.atree.arrays import ATreeIndex, ATreeScratch
from tellwhen.engines.atree.kernels.match import match_tree
from tellwhen.engines.atree.kernels.three_valued import match_three_valued
from tellwhen.engines.base import MatchCounts
from tellwhen.engines.shared.calls import Call, CallReader, Packed, make_sizes
from tellwhen.engines.shared.stabbing import make_satisfied_sizes


def make_reader(
    packed: Packed, snapshot: Packed, match_counts: MatchCounts | None = None, is_three_valued: bool = False
) -> CallReader:
    """Return a reader of an index. An index that propagates false results too is three-valued."""
    index: ATreeIndex = packed.arrays
    inner, levels = len(index.is_or), len(index.level_start)
    sizes = make_sizes(
        ATreeScratch,
        found=make_satisfied_sizes(snapshot.arrays),
        marks=inner // 64 + 1,
        groups=inner // 4096 + 1,
        leading=len(index.record_start) - inner,
        queue=inner + 1,
        node_stack=levels + 1,
        next_test=levels + 1,
        signature=inner + 1,
        effort=2,
    )
    return CallReader(
        Call(match_three_valued if is_three_valued else match_tree, packed, snapshot, sizes, match_counts)
    )
