"""The arrays of `propagation`, drawn."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.kernels.arrays import I32, I64, Stabbing


class PropagationIndex(NamedTuple):
    """Conjunctions in clusters, by the one predicate that must be true before any of them is looked at."""

    stabbing: Stabbing  # whose members are predicates
    cluster: (
        I64  # |0|4|4|9|    conjunctions of predicate p's cluster are cluster[p]:cluster[p+1]; the last has no predicate
    )
    conjunction_start: I64  # |0|6|11|      conjunction r's other predicates are conjunction_code[conjunction_start[r]:conjunction_start[r+1]]
    conjunction_code: I32
    conjunction_slot: I32  # |1|-6|-6|     -1 - slot for one of several conjunctions
