"""Hooks of MkDocs that replace comments in pages by the content that they name.

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
"""Pages that include the documents of the top folder, by the names of the documents."""

COMMENT = re.compile(r"<!-- (include|picture|claims|commands)(?:: *(\S+))? -->")
LINK = re.compile(r"\[((?:[^\]\[]|\[[^\]]*\])+)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the comments whose content is Markdown."""
    return COMMENT.sub(lambda comment: _render_comment(comment[1], comment[2]) or comment[0], markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Insert the drawings. In `on_page_markdown`, the Markdown parser would break them."""

    def insert_picture(comment: re.Match[str]) -> str:
        if comment[1] != "picture":
            return comment[0]
        return f'<div class="picture">{(ROOT / "docs" / "pictures" / (comment[2] + ".svg")).read_text()}</div>'

    return COMMENT.sub(insert_picture, html)


def _render_comment(kind: str, name: str | None) -> str | None:
    if kind == "include":
        return include_document(str(name))
    if kind == "claims":
        return render_claims(str(name))
    return render_commands() if kind == "commands" else None


def include_document(name: str) -> str:
    """Return a document of the top folder with links to pages. Links to source files become plain text."""

    def convert_link(link: re.Match[str]) -> str:
        text, target = link[1], link[2]
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return link[0]
        if path in PAGES:
            return f"[{text}]({PAGES[path]}{'#' + anchor if anchor else ''})"
        if path.startswith("docs/"):
            return f"[{text}]({path.removeprefix('docs/')}{'#' + anchor if anchor else ''})"
        return text

    return LINK.sub(convert_link, (ROOT / name).read_text())


def render_claims(patterns: str) -> str:
    """Return a table of a paper's claims about its figures, and of our results.

    Parameters
    ----------
    patterns
        Names of experiments, separated by commas; `*` stands for any letters.
    """
    sys.path[:0] = [str(ROOT)] if str(ROOT) not in sys.path else []
    from fnmatch import fnmatch

    from bench.registry import EXPERIMENTS

    names = [name for pattern in patterns.split(",") for name in EXPERIMENTS if fnmatch(name, pattern)]
    if not names:
        raise ValueError(f"no experiment is named {patterns}; `python -m bench list` lists the names")
    lines = ["| figure | the paper says | here |", "|---|---|---|"]
    for name in names:
        cells = (f"`{name}`", EXPERIMENTS[name].paper_finding, _render_result(name))
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines)


UNFOLDED_PARTS_MAX = 3
"""The results of a claim with more parts are folded, behind a line to click on."""


def _render_result(name: str) -> str:
    """Return the verdicts on an experiment, and the measurements for each of its claims."""
    from bench.judging import describe_finding, judge_experiment, summarize_verdicts
    from bench.registry import EXPERIMENTS
    from bench.results import load

    experiment, result = EXPERIMENTS[name], load(ROOT / "bench" / "results", name)
    if result is None:
        return "not run"
    findings = judge_experiment(experiment, result)
    texts = [f"<em>{finding.verdict}</em>: {escape(describe_finding(name, finding))}" for finding in findings]
    scales = sorted({row.get("scale", result.scale) for row in result.rows})
    size = "" if scales == [1] else f", at {' and '.join(f'{scale:g}' for scale in scales)} of the paper's size"
    head = f"**{summarize_verdicts(findings)}**{size}"
    if len(texts) <= UNFOLDED_PARTS_MAX:
        return f"{head}: {'; '.join(texts)}"
    return f"{head}<details><summary>measured</summary>{'<br>'.join(texts)}</details>"


def render_commands() -> str:
    """Return the help of every command with its arguments and options."""
    import typer.main

    from tellwhen.cli import app

    group = typer.main.get_command(app)
    parts = []
    for name, command in sorted(group.commands.items()):  # type: ignore[attr-defined]
        parts.append(f"## tellwhen {name}\n\n{_fence_example(command.help or '')}\n")
        rows = [_render_parameter(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            parts.append("\n".join(["| | |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _fence_example(text: str) -> str:
    """Put the example at the end of a docstring into a code block."""
    before, sign, example = text.partition("Example: ")
    return f"{before.strip()}\n\n```sh\n{example.strip()}\n```" if sign else text.strip()


def _render_parameter(parameter: Any) -> str:
    """Return the table row of an argument or option."""
    is_option = parameter.param_type_name == "option"
    name = ", ".join((*parameter.opts, *parameter.secondary_opts)) if is_option else parameter.name.upper()
    has_default = is_option and isinstance(parameter.default, str | int) and not isinstance(parameter.default, bool)
    default = f" Default: `{parameter.default}`." if has_default else ""
    required = " Required." if is_option and parameter.required else ""
    return f"| `{name}` | {(parameter.help or '').replace('|', chr(92) + '|')}{default}{required} |"
