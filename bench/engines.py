"""The engines that are measured, and the papers in whose figures they are shown. A new engine is one line here.

The structures of scored intervals are not engines; `scored_intervals.py` measures them. An entry may name an engine
that does not exist yet: the engine is skipped, and its figures are shown as waiting for it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from bench.naive import NaiveScan
from tellwhen.engines import create
from tellwhen.engines.base import Engine, Source
from tellwhen.engines.registry import load_engines
from tellwhen.papers.ranked import STRUCTURES

Paper = Literal["betree", "atree", "opindex", "pstree", "ranked"]


class Entry(NamedTuple):
    """An engine to measure."""

    name: str
    papers: tuple[Paper, ...] = ()
    """The papers in whose figures the engine is measured, except figures that list their own engines."""
    build_seconds: float | None = None
    """Target: the time to build an index of a million conjunctions."""
    in_overview: bool = True
    """Whether `python -m bench.conjunctions` measures the engine by default."""


ENTRIES = (
    Entry("scan", ("betree", "atree", "opindex", "pstree")),
    Entry("naive", ("betree", "atree", "pstree"), in_overview=False),
    Entry("counting", ("betree", "opindex", "pstree")),
    Entry("propagation", ("betree", "pstree")),
    Entry("kindex", ("betree", "opindex", "pstree")),
    Entry("kindex-weak", in_overview=False),
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


FOREIGN_ENGINES: dict[str, type[Engine]] = {"naive": NaiveScan}
"""Engines that are measured but are not part of the package."""


def make(spec: str, source: Source) -> Engine:
    """Create an engine of the package or a foreign one."""
    return FOREIGN_ENGINES[spec](source) if spec in FOREIGN_ENGINES else create(spec, source)


def list_engines_of_paper(paper: Paper) -> tuple[str, ...]:
    """Return the engines in the figures of a paper, including those that do not exist yet."""
    return tuple(entry.name for entry in ENTRIES if paper in entry.papers)


def list_overview_engines() -> list[str]:
    """Return the existing engines that `python -m bench.conjunctions` measures by default."""
    return [entry.name for entry in ENTRIES if entry.in_overview and is_known(entry.name)]


def find_build_target(name: str) -> float | None:
    """Return the target for building an index of a million conjunctions, in seconds; None if there is none."""
    return next((entry.build_seconds for entry in ENTRIES if entry.name == name), None)


def is_known(spec: str) -> bool:
    """Return whether an engine, with any options, or a structure of scored intervals has this name."""
    return spec in FOREIGN_ENGINES or spec in STRUCTURES or spec.partition(":")[0] in load_engines()


def parse_engine_names(names: str) -> list[str]:
    """Split a list of engines at its commas; raise ValueError if an engine does not exist."""
    engines = [name.strip() for name in names.split(",") if name.strip()]
    for name in engines:
        if not is_known(name):
            raise ValueError(f"there is no engine {name}; there are {', '.join(sorted(load_engines()))}")
    return engines
