"""Slots -> the index that `atree` matches with, when nothing is added to it later."""

from __future__ import annotations

from tellwhen.containers.batches import Marginals
from tellwhen.engines.atree.arrays import ATreeIndex
from tellwhen.engines.atree.forest import Grown
from tellwhen.engines.atree.kernels.plant import ADJUSTED
from tellwhen.engines.atree.layout import Switches, laid_out
from tellwhen.engines.shared.selectivity import chances
from tellwhen.kernels.arrays import I32, Snapshot


def build(snapshot: Snapshot, slots: I32, marginals: Marginals | None) -> ATreeIndex:
    """Everything shared, both optimizations on."""
    grown = Grown(ADJUSTED, is_binary=False)
    roots = grown.add(snapshot, slots)
    switches = Switches(zero_suppression=True, on_demand=True, random_access=False, in_one_tree=False)
    return laid_out(grown, snapshot, slots, roots, chances(snapshot.predicates, marginals), switches)
