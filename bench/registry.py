"""All experiments by name."""

from __future__ import annotations

from bench.experiment import Experiment
from bench.papers import atree, betree, opindex, pstree, ranked

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for paper in (betree, atree, opindex, pstree, ranked)
    for experiment in paper.EXPERIMENTS
}
