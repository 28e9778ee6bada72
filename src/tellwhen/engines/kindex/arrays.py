"""The arrays of `kindex`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64


class KIndexIndex(NamedTuple):
    """Conjunctions by size, in a list for every segment of every domain."""

    sizes: I64  # |0|2|9|         conjunctions of size n are sizes[n]:sizes[n+1]
    conjunction_slot: I32  # |1|-6|-6|       -1 - slot for one of several conjunctions
    cut_start: I64  # |0|3|3|         cuts of domain L are cuts[cut_start[L]:cut_start[L+1]], ascending
    cuts: I64  # segment L + k of domain L is what lies before cut k and not before cut k - 1
    list_start: I64  # |0|4|4|9|       list of segment s is postings[list_start[s]:list_start[s+1]]
    postings: I32  # 2 * conjunction + 1, ascending; 2 * conjunction where the conjunction excludes the segment
    nothing: I32  # a list of all conjunctions of size 0
