"""Which code is on a page of the documentation, and does it do what the page says? A page is a story: its blocks run
in order, in one empty folder.

    python              executed; with >>>, what it prints must be what the page shows
    (any) title="x"     written to the file x
    console             lines with $ are run; what they print must be what the page shows, ... stands for anything
    json                parsed
    sql                 run by Spark, on pages that say `spark: true` at their top
    text                shown only
    sh                  shown only: installing, and what other tests run; see SHOWN_ONLY
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^(?P<indent> *)```(?P<head>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```\s*$", re.M | re.S)
SHOWN_ONLY = (
    "pip install",
    "make ",
    "git ",
    "tellwhen serve",
    "tellwhen warm",
    "curl ",
    "python -m bench",
    "spark-submit",
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    line: int
    kind: str
    title: str
    code: str


def pages() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def meta(page: Path) -> dict[str, str]:
    """What stands between --- at the top of a page."""
    text = page.read_text()
    if not text.startswith("---\n"):
        return {}
    return dict(re.findall(r"^(\w+): *(.*)$", text.split("---\n")[1], re.M))


def chosen(spark: bool) -> list[Any]:
    """Pages that need Spark, or the others, as parameters; those that say `slow: true` are slow."""
    return [
        pytest.param(
            page,
            id=str(page.relative_to(DOCS)),
            marks=[pytest.mark.slow] if meta(page).get("slow") == "true" else [],
        )
        for page in pages()
        if (meta(page).get("spark") == "true") == spark
    ]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        kind, _, rest = found["head"].strip().partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        indent = len(found["indent"])
        code = "".join(line[indent:] for line in found["code"].splitlines(keepends=True))
        line = text[: found.start("code")].count("\n") + 1
        yield Block(line, kind, title[1] if title else "", code)


def run(page: Path, folder: Path, names: dict[str, Any]) -> int:
    """Run a page in a folder, which is the current one; returns how many blocks were run."""
    count = 0
    for block in blocks(page):
        where = f"{page.relative_to(DOCS.parent)}, line {block.line}"
        try:
            count += _run(block, page, folder, names)
        except Exception as error:
            raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
    return count


def _run(block: Block, page: Path, folder: Path, names: dict[str, Any]) -> bool:
    if block.title:
        (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.title).write_text(block.code)
    elif block.kind == "python" and ">>>" in block.code:
        _doctest(block, page, names)
    elif block.kind == "python":
        exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
    elif block.kind == "console":
        _console(block)
    elif block.kind == "json":
        json.loads(block.code)
    elif block.kind == "sql":
        for statement in filter(str.strip, block.code.split(";")):
            names["spark"].sql(statement).collect()
    elif block.kind == "sh":
        lines = [line for line in block.code.splitlines() if line.strip() and not line.startswith("#")]
        other = [line for line in lines if not line.startswith(SHOWN_ONLY)]
        assert not other, f"this is never run; make it a console block: {other[0]}"
        return False
    else:
        assert block.kind == "text", f"a block of {block.kind or 'no language'} is not run"
        return False
    return True


def _doctest(block: Block, page: Path, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, {}, page.name, str(page), block.line)
    test.globs = names
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append, clear_globs=False)
    assert not result.failed, "".join(said)


def _console(block: Block) -> None:
    """Commands with what they print, until the next command."""
    parts = re.split(r"^\$ ", block.code, flags=re.M)
    assert not parts[0].strip(), "the first line of a console block is a command"
    for part in parts[1:]:
        command, expected = _continued(part)
        code, got = _output(command)
        assert code == 0 or "Exit code" in expected, f"$ {command}\nended with {code}:\n{got}"
        wanted = expected.replace(f"Exit code {code}\n", "")
        if wanted.strip():
            is_same = doctest.OutputChecker().check_output(wanted, got, OPTIONS)
            assert is_same, f"$ {command}\nprinted:\n{got}\ninstead of:\n{wanted}"


def _continued(part: str) -> tuple[str, str]:
    """A command may go on in the next line, after a backslash."""
    lines = part.splitlines(keepends=True)
    taken = 1
    while lines[taken - 1].rstrip("\n").endswith("\\"):
        taken += 1
    return "".join(lines[:taken]).replace("\\\n", " ").strip(), "".join(lines[taken:])


def _output(command: str) -> tuple[int, str]:
    words = shlex.split(command)
    if words[0] == "tellwhen" and not re.search(r"[|<>;&]", re.sub(r"'[^']*'", "", command)):
        from tellwhen.cli import app  # in this process: it has the kernels

        done = CliRunner().invoke(app, words[1:])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
    )  # fmt: skip
    return ran.returncode, ran.stdout
