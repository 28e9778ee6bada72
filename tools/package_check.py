"""Build the distributions and test the wheel where nothing else is: `make package`.

The wheel is built from the sdist, so the sdist is complete. It is installed into an empty environment, and library,
command line and service are used there, outside of the source tree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
START_SECONDS = 60

LIBRARY = """
import tellwhen as tw
from pathlib import Path

assert "site-packages" in tw.__file__, tw.__file__
index = tw.Index().add("cheap", "price < 20 AND name MATCHES 'b.*'").add("other", "price > 90")
assert index.match({"price": 12, "name": "bike"}) == ["cheap"]
assert tw.Index("betree").add(1, "x = 1").match({"x": 1}) == [1], "the engines of the papers are not in the wheel"
index.save("index")
assert tw.Index.load("index").match({"price": 95}) == ["other"]
Path("rules.jsonl").write_text('{"id": "a", "expression": "price < 20"}\\n')
Path("events.jsonl").write_text('{"price": 5}\\n{"price": 50}\\n')
assert (Path(tw.__file__).parent / "py.typed").exists()
"""

SERVICE = """
import sys
from tellwhen.client import Client

with Client(sys.argv[1]) as client:
    client.add("ann", "price < 20")
    assert client.publish({"price": 12}) == ["ann"]
"""


def build_distributions(folder: Path) -> Path:
    """Build sdist and wheel from the committed and uncommitted files of the tree; return the wheel."""
    run_program(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    (_,) = folder.glob("*.tar.gz")
    return wheel


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Create an environment with the wheel and what its extras need; return the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = (folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run_program(*pip, "-c", ROOT / "constraints.txt", f"{wheel}[service,client,report]", cwd=folder)
    return folder / "bin"


def run_program(*command: str | Path, cwd: Path) -> str:
    """Run a program in a folder, without settings that lead to the source tree; return its output."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed with exit code {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def check_library(programs: Path, folder: Path) -> None:
    """Use the library; leave an index and files in the folder."""
    run_program(programs / "python", "-c", LIBRARY, cwd=folder)


def check_commands(programs: Path, folder: Path) -> None:
    """Build an index from a file and match events with it."""
    tellwhen = programs / "tellwhen"
    assert run_program(tellwhen, "--version", cwd=folder).startswith("tellwhen ")
    run_program(tellwhen, "build", "rules.jsonl", "-o", "built", cwd=folder)
    matches = run_program(tellwhen, "match", "built", "events.jsonl", cwd=folder)
    assert '"a"' in matches, matches


def check_service(programs: Path, folder: Path) -> None:
    """Start a service on a free port, use it through the client, open its console, and stop it."""
    command = [str(programs / "tellwhen"), "serve", "data", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = _wait_for_address(process)
            run_program(programs / "python", "-c", SERVICE, address, cwd=folder)
            with urlopen(address) as page:  # the console is part of the wheel
                assert b"<html" in page.read().lower()
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def _wait_for_address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    lines: list[str] = []
    deadline = time.monotonic() + START_SECONDS
    for line in process.stderr:
        lines.append(line)
        if address := re.search(r"http://127\.0\.0\.1:\d+", line):
            return address[0]
        if time.monotonic() > deadline:
            break
    raise SystemExit(f"the service did not start:\n{''.join(lines)}")


def main() -> None:
    """Build, install and check; print one line for each step."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    wheel = build_distributions(dist)
    print(f"built {wheel.name}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "user"
        folder.mkdir()
        programs = install_wheel(wheel, Path(temporary) / "environment")
        for check in (check_library, check_commands, check_service):
            begin = time.monotonic()
            check(programs, folder)
            print(f"{check.__name__}: passed in {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
