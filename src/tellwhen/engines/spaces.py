"""Which values of a line can no predicate tell apart? Its predicate spaces (PS-Tree, section 4).

The ends of intervals cut a line into spaces: every interval is a run of whole spaces, and a value is as good as any
other of its space. All lines' spaces are numbered through, in the order of the lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellwhen.compile.csr import gather
from tellwhen.engines.stabbing import numbered
from tellwhen.kernels.arrays import HIGHEST, I32, I64, LOWEST, Predicates


class Spaces(NamedTuple):
    """A cut is where an interval begins, or has ended. Line L with c cuts has c + 1 spaces, from cut_start[L] + L."""

    cut_start: I64  # |0|3|3|    cuts of line L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64
    first: I64  # by interval: its first space, and the last one
    last: I64

    @property
    def total(self) -> int:
        return len(self.cuts) + len(self.cut_start) - 1


def spaces(predicates: Predicates, used: I32, lines: int) -> Spaces:
    """The spaces that the predicates in use make. Those of others are empty runs."""
    begin, which = gather(predicates.start, used)
    line = np.repeat(predicates.line[used], np.diff(begin)).astype(np.int64)
    low, high = predicates.low[which], predicates.high[which]
    begins, ends = low != LOWEST, high != HIGHEST
    both = np.concatenate([line[begins], line[ends]])
    cut_start, cuts, place = numbered(both, np.concatenate([low[begins], high[ends] + 1]), lines)
    first, last = np.ones(len(predicates.low), dtype=np.int64), np.zeros(len(predicates.low), dtype=np.int64)
    first[which], last[which] = cut_start[line] + line, cut_start[line + 1] + line
    first[which[begins]] = line[begins] + place[: begins.sum()] + 1
    last[which[ends]] = line[ends] + place[begins.sum() :]
    return Spaces(cut_start, cuts, first, last)
