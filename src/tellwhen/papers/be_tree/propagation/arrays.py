"""The arrays of `propagation`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, U64, Runs, Stabbing, keeps


class PropagationIndex(NamedTuple):
    """Conjunctions in clusters, each behind an access predicate.

    The access predicate of a cluster must be true before any of its conjunctions is tested.
    """

    stabbing: Stabbing  # its members are predicates
    cluster: I64  # |0|4|4|9|    cluster of predicate p is cluster[p]:cluster[p+1]; the last cluster has no predicate
    code_start: I64  # |0|6|11|     other predicates of conjunction c are code[code_start[c]:code_start[c+1]]
    code: I32
    slot: I32  # |1|-6|-6|    by conjunction; -1 - slot for one of several


@keeps("truth", "stamps", "effort")
class PropagationScratch(NamedTuple):
    """Working arrays of a match."""

    runs: Runs
    truth: U64  # zero between events
    satisfied: I32
    stamps: I64
    effort: I64
