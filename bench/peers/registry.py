"""Which peers are there, which tools does each need, and how is it built and started?"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
MADE = HERE / ".build"

Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Peer:
    """An engine of other people, and the commands to build and start it.

    Commands may contain `{source}`, a copy of its folder to build in; `{made}`, the folder to build to; `{work}`,
    the folder of the workload files; `{java}`, the code that Java peers share; and `{python}`.
    """

    name: str
    start: tuple[str, ...]
    folder: str = ""
    tools: tuple[str, ...] = ()
    build: Commands = ()
    pinned: tuple[str, str] | None = None  # the manifest, and a pattern that finds the version in it

    @property
    def version(self) -> str:
        if self.pinned is None:
            return version("tellwhen")
        manifest, pattern = self.pinned
        found = re.search(pattern, (HERE / self.folder / manifest).read_text(), re.DOTALL)
        assert found is not None, f"{self.folder}/{manifest} names no version"
        return found[1]

    @property
    def missing(self) -> list[str]:
        """The tools that are not installed."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    @property
    def folders(self) -> dict[str, str]:
        """What the commands may contain."""
        made = MADE / (self.folder or self.name)
        return {"source": f"{made}/source", "made": str(made), "java": f"{HERE}/java", "python": sys.executable}


def java(name: str, folder: str, artifact: str) -> Peer:
    """A peer in Java: Maven fetches the jars, javac compiles the peer's file and the one that all Java peers share."""
    fetch = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    return Peer(
        name,
        folder=folder,
        tools=("java", "javac", "mvn"),
        build=(
            ("mvn", "-q", "-B", "-T1", "-f", "{source}/pom.xml", fetch, "-DoutputDirectory={made}/jars"),
            ("javac", "-cp", "{made}/jars/*", "-d", "{made}/classes", "{java}/Measured.java", "{source}/Peer.java"),
        ),
        # Matching uses one thread, so the garbage collector does too.
        start=("java", "-XX:+UseSerialGC", "-cp", "{made}/classes:{made}/jars/*", "Peer", "{work}"),
        pinned=("pom.xml", f"<artifactId>{artifact}</artifactId>\\s*<version>(.*?)<"),
    )


OURSELVES = [
    Peer(name, ("{python}", "-m", "bench.peers.ourselves", "{work}", way, engine))
    for name, way, engine in (
        ("tellwhen, python", "python", "auto"),
        ("tellwhen, encoded", "encoded", "auto"),
        ("tellwhen, atree", "python", "atree"),
        ("tellwhen, atree encoded", "encoded", "atree"),
    )
]

PEERS = [
    Peer(
        "rule-engine",
        folder="ruleengine",
        build=(
            ("{python}", "-m", "venv", "{made}/venv"),
            ("{made}/venv/bin/python", "-m", "pip", "install", "-q", "-r", "{source}/requirements.txt"),
        ),
        start=("{made}/venv/bin/python", "-m", "bench.peers.ruleengine.peer", "{work}"),
        pinned=("requirements.txt", r"rule-engine==(\S+)"),
    ),
    java("event-ruler", "ruler", "event-ruler"),
    Peer(
        "a-tree",
        folder="atree",
        tools=("cargo",),
        build=(
            ("cargo", "build", "-q", "--release", "-j1", "--manifest-path", "{source}/Cargo.toml",
             "--target-dir", "{made}/target"),
        ),
        start=("{made}/target/release/peer", "{work}"),
        pinned=("Cargo.toml", r'a-tree = "=(.*?)"'),
    ),
    Peer(
        "quamina",
        folder="quamina",
        tools=("go",),
        # -mod=mod: checksums are written during the build; none are kept with the source.
        build=(("go", "build", "-C", "{source}", "-mod=mod", "-p=1", "-o", "{made}/peer", "."),),
        start=("{made}/peer", "{work}"),
        pinned=("go.mod", r"quamina\S* v(\S+)"),
    ),
    java("Lucene monitor", "lucene", "lucene-monitor"),
]  # fmt: skip
