"""Slots -> an index of `atree` to which nothing is added later."""

from __future__ import annotations

from tellwhen.containers.batches import Marginals
from tellwhen.engines.atree.arrays import ATreeIndex
from tellwhen.engines.atree.forest import ForestBuilder
from tellwhen.engines.atree.kernels.plant import ADJUSTED
from tellwhen.engines.atree.layout import Switches, lay_out_index
from tellwhen.engines.shared.selectivity import estimate_chances
from tellwhen.kernels.arrays import I32, Snapshot


def build_index(snapshot: Snapshot, slots: I32, marginals: Marginals | None) -> ATreeIndex:
    """Build the index of some slots, with all sharing and both optimizations of the paper."""
    forest = ForestBuilder(ADJUSTED, is_binary=False)
    roots = forest.add(snapshot, slots)
    switches = Switches(zero_suppression=True, on_demand=True, random_access=False, in_one_tree=False)
    return lay_out_index(forest, snapshot, slots, roots, estimate_chances(snapshot.predicates, marginals), switches)
