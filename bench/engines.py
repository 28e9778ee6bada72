"""Which engines are measured, and in the figures of which papers? A new engine is one line here.

The structures of scored intervals are no engines: their figures have a way to measure of their own (`scored.py`).

An entry may name an engine that does not exist yet: it is skipped, and its figures say what they wait for.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from bench.naive import NaiveScan
from tellwhen.engines import create
from tellwhen.engines.base import REGISTRY, Engine, Source
from tellwhen.papers.ranked import STRUCTURES

Paper = Literal["betree", "atree", "opindex", "pstree", "ranked"]


class Entry(NamedTuple):
    """An engine to measure."""

    name: str
    papers: tuple[Paper, ...] = ()
    """The papers whose figures it is measured in, unless a figure has engines of its own."""
    build_seconds: float | None = None
    """Target: the time to build an index of a million conjunctions."""
    in_overview: bool = True
    """Is it one of the engines that `python -m bench.conjunctions` compares by default?"""


ENTRIES = (
    Entry("scan", ("betree", "atree", "opindex", "pstree")),
    Entry("naive", ("betree", "atree", "pstree"), in_overview=False),
    Entry("counting", ("betree", "opindex", "pstree")),
    Entry("propagation", ("betree", "pstree")),
    Entry("kindex", ("betree", "opindex", "pstree")),
    Entry("gryphon", ("betree",)),
    Entry("betree", ("betree", "opindex", "pstree"), build_seconds=15),
    Entry("betree-batch", ("betree",)),
    Entry("opindex", ("opindex", "pstree"), build_seconds=5),
    Entry("opindex-plain", ("opindex",), in_overview=False),
    Entry("opindex-cnf", in_overview=False),
    Entry("pstbloom", ("pstree",), build_seconds=5),
    Entry("psthash", ("pstree",), build_seconds=15),
    Entry("cover", build_seconds=5),
    Entry("atree", ("atree",)),
    Entry("dewey", in_overview=False),
    Entry("intervalid", ("atree",), in_overview=False),
    Entry("bop", ("atree",), in_overview=False),
    Entry("bdd", ("atree",)),
    Entry("translation", ("atree",), in_overview=False),
    Entry("sopt-r-tree", ("ranked",), in_overview=False),
    Entry("ir-tree", ("ranked",), in_overview=False),
    Entry("scored-segment-tree", ("ranked",), in_overview=False),
    Entry("scored-r-tree", ("ranked",), in_overview=False),
    Entry("scored-interval-tree", ("ranked",), in_overview=False),
    Entry("endpoint-interval-tree", in_overview=False),
    Entry("interval-tree", in_overview=False),
    Entry("r-tree", in_overview=False),
)


RIVALS: dict[str, type[Engine]] = {"naive": NaiveScan}
"""What is measured, but is no engine of the package."""


def make(spec: str, source: Source) -> Engine:
    """A new engine, or a rival that is none."""
    return RIVALS[spec](source) if spec in RIVALS else create(spec, source)


def engines_of(paper: Paper) -> tuple[str, ...]:
    """The engines in the figures of a paper, also those that do not exist yet."""
    return tuple(entry.name for entry in ENTRIES if paper in entry.papers)


def overview() -> list[str]:
    """The engines that are compared by default."""
    return [entry.name for entry in ENTRIES if entry.in_overview and exists(entry.name)]


def build_target(name: str) -> float | None:
    """Seconds in which the engine should build an index of a million conjunctions, if there is a target."""
    return next((entry.build_seconds for entry in ENTRIES if entry.name == name), None)


def exists(spec: str) -> bool:
    """Is there such an engine, whatever its options, or such a structure of scored intervals?"""
    return spec in RIVALS or spec in STRUCTURES or spec.partition(":")[0] in REGISTRY


def chosen(names: str) -> list[str]:
    """Engines from a list with commas; a ValueError names one that does not exist."""
    found = [name.strip() for name in names.split(",") if name.strip()]
    for name in found:
        if not exists(name):
            raise ValueError(f"there is no engine {name}; there are {', '.join(sorted(REGISTRY))}")
    return found
