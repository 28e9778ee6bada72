"""The code blocks of documentation pages, and a runner that compares their output with the page.

The blocks of a page run in order, in one empty folder. The language of a block says how it runs:

    python              executed; with >>>, the output must be what the page shows
    (any) title="x"     written to the file x
    console             lines with $ are run; their output must be what the page shows, ... stands for any text
    json                parsed
    sql                 run by Spark, on pages that say `spark: true` at their top
    text                shown only
    sh                  shown only: commands that install something or that other tests run; see UNTESTED_COMMANDS
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
UNTESTED_COMMANDS = (
    "pip install",
    "make ",
    "git ",
    "tellwhen serve",
    "tellwhen warm",
    "curl ",
    "python -m bench",
    "spark-submit",
)
DOCTEST_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A code block of a page: its first line, language, title and code."""

    line: int
    language: str
    title: str
    code: str


def find_pages() -> list[Path]:
    return sorted(DOCS.rglob("*.md"))


def read_front_matter(page: Path) -> dict[str, str]:
    """Return the entries between --- at the top of a page."""
    text = page.read_text()
    if not text.startswith("---\n"):
        return {}
    return dict(re.findall(r"^(\w+): *(.*)$", text.split("---\n")[1], re.M))


def make_page_params(needs_spark: bool) -> list[Any]:
    """Return the pages that need Spark, or those that do not, as parameters; pages with `slow: true` are slow."""
    return [
        pytest.param(
            page,
            id=str(page.relative_to(DOCS)),
            marks=[pytest.mark.slow] if read_front_matter(page).get("slow") == "true" else [],
        )
        for page in find_pages()
        if (read_front_matter(page).get("spark") == "true") == needs_spark
    ]


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for fence in FENCE.finditer(text):
        language, _, rest = fence["head"].strip().partition(" ")
        title = re.search(r'title="([^"]+)"', rest)
        indent = len(fence["indent"])
        code = "".join(line[indent:] for line in fence["code"].splitlines(keepends=True))
        line = text[: fence.start("code")].count("\n") + 1
        yield Block(line, language, title[1] if title else "", code)


def run_page(page: Path, folder: Path, names: dict[str, Any]) -> int:
    """Run the blocks of a page in a folder, which must be the current one; return how many blocks ran."""
    count = 0
    for block in read_blocks(page):
        where = f"{page.relative_to(DOCS.parent)}, line {block.line}"
        try:
            count += _run_block(block, page, folder, names)
        except Exception as error:
            raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
    return count


def _run_block(block: Block, page: Path, folder: Path, names: dict[str, Any]) -> bool:
    if block.title:
        (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.title).write_text(block.code)
    elif block.language == "python" and ">>>" in block.code:
        _run_doctest(block, page, names)
    elif block.language == "python":
        exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
    elif block.language == "console":
        _run_console(block)
    elif block.language == "json":
        json.loads(block.code)
    elif block.language == "sql":
        for statement in filter(str.strip, block.code.split(";")):
            names["spark"].sql(statement).collect()
    elif block.language == "sh":
        lines = [line for line in block.code.splitlines() if line.strip() and not line.startswith("#")]
        unknown = [line for line in lines if not line.startswith(UNTESTED_COMMANDS)]
        assert not unknown, f"a sh block is not run; make it a console block: {unknown[0]}"
        return False
    else:
        assert block.language == "text", f"a block in {block.language or 'no language'} cannot be run"
        return False
    return True


def _run_doctest(block: Block, page: Path, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, {}, page.name, str(page), block.line)
    test.globs = names
    output: list[str] = []
    result = doctest.DocTestRunner(optionflags=DOCTEST_OPTIONS).run(test, out=output.append, clear_globs=False)
    assert not result.failed, "".join(output)


def _run_console(block: Block) -> None:
    """Run the commands of a block; assert that each prints what the block shows before the next command."""
    parts = re.split(r"^\$ ", block.code, flags=re.M)
    assert not parts[0].strip(), "the first line of a console block must be a command, with $ before it"
    for part in parts[1:]:
        command, expected = _split_command(part)
        code, output = _run_command(command)
        assert code == 0 or "Exit code" in expected, f"$ {command}\nended with {code}:\n{output}"
        shown = expected.replace(f"Exit code {code}\n", "")
        if shown.strip():
            is_same = doctest.OutputChecker().check_output(shown, output, DOCTEST_OPTIONS)
            assert is_same, f"$ {command}\nprinted:\n{output}\ninstead of:\n{shown}"


def _split_command(part: str) -> tuple[str, str]:
    """Split (command, output). A backslash at the end of a line continues the command in the next line."""
    lines = part.splitlines(keepends=True)
    count = 1
    while lines[count - 1].rstrip("\n").endswith("\\"):
        count += 1
    return "".join(lines[:count]).replace("\\\n", " ").strip(), "".join(lines[count:])


def _run_command(command: str) -> tuple[int, str]:
    """Return (exit code, output)."""
    words = shlex.split(command)
    if words[0] == "tellwhen" and not re.search(r"[|<>;&]", re.sub(r"'[^']*'", "", command)):
        from tellwhen.cli import app  # in this process, which has loaded the kernels

        result = CliRunner().invoke(app, words[1:])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        env=os.environ | {"PATH": path, "COLUMNS": "100"},
    )  # fmt: skip
    return process.returncode, process.stdout
