"""What does MkDocs not do by itself? Comments in pages become what they name.

<!-- include: LANGUAGE.md -->      a document of the project's top folder
<!-- picture: betree -->           a drawing of `docs/pictures`, inline: it takes the colours of the page
<!-- claims: betree-fig5 -->       a paper's claim beside what was measured here (`bench/results`)
<!-- commands -->                  the help of every command
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md", "LANGUAGE.md": "language.md", "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
}  # fmt: skip
"""Documents of the top folder, and the pages that include them."""

COMMENT = re.compile(r"<!-- (include|picture|claims|commands)(?:: *(\S+))? -->")
LINK = re.compile(r"\[((?:[^\]\[]|\[[^\]]*\])+)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Comments that become text."""
    return COMMENT.sub(lambda found: _text(found[1], found[2]) or found[0], markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Comments that become drawings: Markdown would take a drawing apart."""

    def drawn(found: re.Match[str]) -> str:
        if found[1] != "picture":
            return found[0]
        return f'<div class="picture">{(ROOT / "docs" / "pictures" / (found[2] + ".svg")).read_text()}</div>'

    return COMMENT.sub(drawn, html)


def _text(kind: str, name: str | None) -> str | None:
    if kind == "include":
        return included(str(name))
    if kind == "claims":
        return claims(str(name))
    return commands() if kind == "commands" else None


def included(name: str) -> str:
    """A document of the top folder; its links lead to pages, and those to files of the source become their names."""

    def moved(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        if path in PAGES:
            return f"[{text}]({PAGES[path]}{'#' + anchor if anchor else ''})"
        if path.startswith("docs/"):
            return f"[{text}]({path.removeprefix('docs/')}{'#' + anchor if anchor else ''})"
        return text

    return LINK.sub(moved, (ROOT / name).read_text())


def claims(pattern: str) -> str:
    """A table: what a paper says of its figures, and what was measured here."""
    sys.path[:0] = [str(ROOT)] if str(ROOT) not in sys.path else []
    from fnmatch import fnmatch

    from bench.registry import EXPERIMENTS

    names = [name for part in pattern.split(",") for name in EXPERIMENTS if fnmatch(name, part)]
    if not names:
        raise ValueError(f"there is no experiment {pattern}")
    lines = ["| figure | the paper says | here |", "|---|---|---|"]
    for name in names:
        cells = (f"`{name}`", EXPERIMENTS[name].says, _measured(name))
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines)


PARTS_SHOWN = 3
"""A claim of more parts is folded."""


def _measured(name: str) -> str:
    """The verdict and, part by part, what was measured."""
    from bench.registry import EXPERIMENTS
    from bench.report import finding
    from bench.results import load

    one, result = EXPERIMENTS[name], load(ROOT / "bench" / "results", name)
    if result is None:
        return "not run"
    found = finding(one, result)
    if found.verdict == "not comparable":
        return f"**not comparable**: {found.text}"
    parts = [claim.judge(result.rows, one.metric) for claim in one.claims]
    held = sum(part.verdict == "holds" for part in parts)
    said = [
        escape(part.text) if part.verdict == "holds" else f"<em>{part.verdict}</em>: {escape(part.text)}"
        for part in parts
    ]
    why = f"<br>Why: {one.differs}" if found.verdict == "does not hold" and one.differs else ""
    size = f", at {result.scale:g} of the paper's size" if result.scale < 1 else ""
    head = f"**{found.verdict}**{size}" if held == len(parts) else f"**{held} of {len(parts)} parts hold**{size}"
    if len(said) <= PARTS_SHOWN:
        return f"{head}: {'; '.join(said)}{why}"
    return f"{head}{why}<details><summary>measured</summary>{'<br>'.join(said)}</details>"


def commands() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    import typer.main

    from tellwhen.cli import app

    group = typer.main.get_command(app)
    parts = []
    for name, command in sorted(group.commands.items()):  # type: ignore[attr-defined]
        parts.append(f"## tellwhen {name}\n\n{_described(command.help or '')}\n")
        rows = [_row(one) for one in command.params if one.name != "help"]
        if rows:
            parts.append("\n".join(["| | |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _described(text: str) -> str:
    """A docstring; its example stands in a block."""
    before, sign, example = text.partition("Example: ")
    return f"{before.strip()}\n\n```sh\n{example.strip()}\n```" if sign else text.strip()


def _row(one: Any) -> str:
    is_option = one.param_type_name == "option"
    name = ", ".join((*one.opts, *one.secondary_opts)) if is_option else one.name.upper()
    has_default = is_option and isinstance(one.default, str | int) and not isinstance(one.default, bool)
    shown = f" Default: `{one.default}`." if has_default else ""
    needed = " Required." if is_option and one.required else ""
    return f"| `{name}` | {(one.help or '').replace('|', chr(92) + '|')}{shown}{needed} |"
