"""The peers, the tools that each needs, and the commands to build and start it."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
BUILD_FOLDER = HERE / ".build"

Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Peer:
    """An engine of other people, and the commands to build and start it.

    Commands may contain `{source}`, a copy of the peer's folder to build in; `{target}`, the folder to build to;
    `{work}`, the folder of the workload files; `{java}`, the code that Java peers share; and `{python}`.
    """

    name: str
    start: tuple[str, ...]
    folder: str = ""
    tools: tuple[str, ...] = ()
    build: Commands = ()
    version_pattern: tuple[str, str] | None = None  # the manifest, and a pattern that finds the version in it

    @property
    def version(self) -> str:
        if self.version_pattern is None:
            return version("tellwhen")
        manifest, pattern = self.version_pattern
        found = re.search(pattern, (HERE / self.folder / manifest).read_text(), re.DOTALL)
        assert found is not None, f"{self.folder}/{manifest} names no version"
        return found[1]

    @property
    def missing_tools(self) -> list[str]:
        """The tools that are not installed."""
        return [tool for tool in self.tools if shutil.which(tool) is None]

    @property
    def folders(self) -> dict[str, str]:
        """The paths that the commands may contain."""
        target = BUILD_FOLDER / (self.folder or self.name)
        return {"source": f"{target}/source", "target": str(target), "java": f"{HERE}/java", "python": sys.executable}


def make_java_peer(name: str, folder: str, artifact: str) -> Peer:
    """Return a peer in Java: Maven fetches the jars, javac compiles the peer's file and the shared file."""
    fetch = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    return Peer(
        name,
        folder=folder,
        tools=("java", "javac", "mvn"),
        build=(
            ("mvn", "-q", "-B", "-T1", "-f", "{source}/pom.xml", fetch, "-DoutputDirectory={target}/jars"),
            (
                "javac",
                "-cp",
                "{target}/jars/*",
                "-d",
                "{target}/classes",
                "{java}/Measurement.java",
                "{source}/Peer.java",
            ),
        ),
        # One thread for the garbage collector, as for matching.
        start=("java", "-XX:+UseSerialGC", "-cp", "{target}/classes:{target}/jars/*", "Peer", "{work}"),
        version_pattern=("pom.xml", f"<artifactId>{artifact}</artifactId>\\s*<version>(.*?)<"),
    )


TELLWHEN_PEERS = [
    Peer(name, ("{python}", "-m", "bench.peers.tellwhen_peer", "{work}", way, engine))
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
            ("{python}", "-m", "venv", "{target}/venv"),
            ("{target}/venv/bin/python", "-m", "pip", "install", "-q", "-r", "{source}/requirements.txt"),
        ),
        start=("{target}/venv/bin/python", "-m", "bench.peers.ruleengine.peer", "{work}"),
        version_pattern=("requirements.txt", r"rule-engine==(\S+)"),
    ),
    make_java_peer("event-ruler", "ruler", "event-ruler"),
    Peer(
        "a-tree",
        folder="atree",
        tools=("cargo",),
        build=(
            ("cargo", "build", "-q", "--release", "-j1", "--manifest-path", "{source}/Cargo.toml",
             "--target-dir", "{target}/target"),
        ),
        start=("{target}/target/release/peer", "{work}"),
        version_pattern=("Cargo.toml", r'a-tree = "=(.*?)"'),
    ),
    Peer(
        "quamina",
        folder="quamina",
        tools=("go",),
        # -mod=mod writes checksums during the build, because the source has none.
        build=(("go", "build", "-C", "{source}", "-mod=mod", "-p=1", "-o", "{target}/peer", "."),),
        start=("{target}/peer", "{work}"),
        version_pattern=("go.mod", r"quamina\S* v(\S+)"),
    ),
    make_java_peer("Lucene monitor", "lucene", "lucene-monitor"),
]  # fmt: skip
