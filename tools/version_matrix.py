"""Test the oldest and the newest allowed versions of Python and of all dependencies: `make test-versions`.

`oldest` installs exactly the lower bounds of pyproject.toml on the oldest allowed Python. `newest` installs the newest
allowed versions, without constraints.txt, on the newest Python of this machine. Both run the unit tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
EXTRAS = "bench,demo,spark,test"
TOOL_EXTRAS = ("docs", "lint", "test")
"""Extras of contributors, which are tested with constraints.txt only."""
OLDEST_MINOR, NEWEST_MINOR = 11, 19  # Python 3.11 to 3.19


def read_lower_bounds(project: Mapping[str, Any]) -> Iterator[str]:
    """Yield `name==version` for the lower bounds of what users install, from the `project` table of pyproject.toml.

    Raises
    ------
    SystemExit
        If a dependency has no lower bound: then nobody knows which versions work.
    """
    extras = [extra for name, extra in project["optional-dependencies"].items() if name not in TOOL_EXTRAS]
    for text in chain(project["dependencies"], *extras):
        requirement = Requirement(text)
        if requirement.name == project["name"]:
            continue
        bounds = [specifier.version for specifier in requirement.specifier if specifier.operator == ">="]
        if len(bounds) != 1:
            raise SystemExit(f"pyproject.toml: {text} needs one lower bound, such as {requirement.name}>=1.0")
        yield f"{requirement.name}=={bounds[0]}"


def find_python(minors: Sequence[int]) -> str:
    """Return the first of these Python versions that runs on this machine."""
    for minor in minors:
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    raise SystemExit(f"no Python 3.{minors[0]} to 3.{minors[-1]} found: install one, or put it on the PATH")


def create_environment(name: str, python: str, constraints: Sequence[str]) -> Path:
    """Create a fresh `.venv-<name>` with everything that the tests need; return its Python."""
    folder = ROOT / f".venv-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    bounds = folder / "bounds.txt"
    bounds.write_text("".join(f"{line}\n" for line in constraints))
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(bounds), "-e", f"{ROOT}[{EXTRAS}]"], check=True)
    return folder / "bin/python"


def main(arguments: list[str]) -> int:
    """Test the named sides, `oldest` and `newest`, or both; return the exit code."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    minors = range(OLDEST_MINOR, NEWEST_MINOR + 1)
    sides = {"oldest": (minors, sorted(set(read_lower_bounds(project)))), "newest": (minors[::-1], [])}
    code = 0
    for name, (versions, constraints) in sides.items():
        if arguments and name not in arguments:
            continue
        python = create_environment(name, find_python(versions), constraints)
        subprocess.run([str(python), "-c", DESCRIBE_VERSIONS], check=True)
        print(f"{name}: running the unit tests", flush=True)
        code |= subprocess.run([str(python), "tests/run.py", "unit"], cwd=ROOT).returncode
    return code


DESCRIBE_VERSIONS = """
import sys
from importlib.metadata import version
names = ("numpy", "numba", "pyarrow", "google-re2", "pandas", "pyspark")
print("Python", sys.version.split()[0], *(f"{name} {version(name)}" for name in names), sep=", ", flush=True)
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
