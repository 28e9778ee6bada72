"""All experiments by name."""

from __future__ import annotations

from dataclasses import replace

from bench.experiment import Experiment
from bench.papers import atree, betree, opindex, pstree, ranked

FULL_SIZE = frozenset(
    {
        "betree-fig4", "betree-fig5", "betree-fig7", "betree-fig8", "betree-fig9", "betree-fig10", "betree-fig12",
        "betree-fig13", "betree-table5",
        "opindex-fig1", "opindex-fig7", "opindex-fig10",
        "pstree-fig6", "pstree-fig10", "pstree-table2", "pstree-table3",
        "atree-table4",
        "ranked-table2", "ranked-fig6", "ranked-fig7", "ranked-fig8", "ranked-fig9",
    }
)  # fmt: skip
"""Experiments whose results are kept at the papers' own sizes; the others are kept at a tenth."""

FULL_SIZE_VARIANTS = {"atree-fig12": ("a: expressions",)}
"""Sub-figures whose results are kept at the paper's own sizes."""

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: replace(
        experiment,
        scale=1.0 if experiment.name in FULL_SIZE else experiment.scale,
        full_size_variants=FULL_SIZE_VARIANTS.get(experiment.name, ()),
    )
    for paper in (betree, atree, opindex, pstree, ranked)
    for experiment in paper.EXPERIMENTS
}
