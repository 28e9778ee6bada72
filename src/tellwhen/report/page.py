"""Content of an HTML page, and writing it to a file.

The template escapes everything but SVG. The content security policy of the page forbids scripts and requests.
"""

from __future__ import annotations

import math
import numbers
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from tellwhen.errors import abbreviate
from tellwhen.language.explanation import Explanation
from tellwhen.report.charts import inline, is_number, svg

if TYPE_CHECKING:
    import altair

TEMPLATES = Environment(
    loader=PackageLoader("tellwhen.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class Cell(NamedTuple):
    """A cell of a table; numbers are aligned on the right."""

    text: str
    is_number: bool


class Page:
    """An HTML page: a title, followed by the added parts in their order."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[dict[str, Any]] = []
        self._charts = 0

    def heading(self, text: str, level: int = 2) -> Page:
        """Add a heading of level 2 or 3."""
        anchor = f"part{sum(part['kind'] == 'heading' for part in self._parts) + 1}"
        return self._add("heading", text=text, level=level, anchor=anchor)

    def contents(self) -> Page:
        """Add a table of contents: links to all headings, also to those that are added later."""
        return self._add("contents")

    def text(self, text: str) -> Page:
        """Add paragraphs, which an empty line separates in `text`."""
        for paragraph in re.split(r"\n\s*\n", text.strip()):
            self._add("paragraph", text=paragraph)
        return self

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], summary: str = "") -> Page:
        """Add a table. Numbers are aligned on the right and have thousands separators; None is an empty cell.

        A table with a summary is folded: the page shows the summary until a reader opens it.
        """
        body = [list(row) for row in rows]
        for number, row in enumerate(body):
            if len(row) != len(columns):
                raise ValueError(f"a row needs {len(columns)} cells: row {number} has {len(row)}: {abbreviate(row)}")
        # The header of a column of numbers is aligned like them.
        header = [
            Cell(name, all(is_number(row[i]) for row in body if row[i] is not None)) for i, name in enumerate(columns)
        ]
        cells = [[Cell(cell_text(value), is_number(value)) for value in row] for row in body]
        return self._add("table", head=header, rows=cells, summary=summary)

    def tiles(self, figures: Mapping[str, str]) -> Page:
        """Add a row of key figures, each above its name."""
        return self._add("tiles", figures=list(figures.items()))

    def code(self, text: str) -> Page:
        """Add lines of code."""
        return self._add("code", text=text)

    def tree(self, explanation: Explanation) -> Page:
        """Add the tree of an explanation, coloured by the values of its parts."""
        lines = str(explanation).splitlines()
        return self._add("tree", lines=[(line.split(maxsplit=1)[0], line) for line in lines])

    def chart(self, chart: altair.TopLevelMixin, caption: str = "") -> Page:
        """Render an Altair chart and add it."""
        self._charts += 1
        return self._add("chart", svg=inline(svg(chart), f"chart{self._charts}-"), caption=caption)

    def html(self) -> str:
        return TEMPLATES.get_template("page.html").render(title=self.title, parts=self._parts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, replacing an existing file; if writing fails, the existing file stays as it is."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        data = self.html().encode("utf-8", errors="replace")  # half a surrogate pair is no reason to fail
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}-") as directory:
            temporary = Path(directory, "page")
            temporary.write_bytes(data)
            temporary.replace(file)
        return file

    def _add(self, kind: str, **content: Any) -> Page:
        self._parts.append({"kind": kind, **content})
        return self


def cell_text(value: Any) -> str:
    """Format a value of a table: integers in full, other numbers with four digits.

    >>> [cell_text(value) for value in (1234567, 1234567.8, 12.3456, 0.5, 0.000012345, -0.0, "1234", None)]
    ['1,234,567', '1,234,568', '12.35', '0.5', '1.234e-05', '0', '1234', '']
    """
    if value is None:
        return ""
    if not is_number(value):
        return str(value)
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}"
    size = abs(float(value))
    if not math.isfinite(size):
        return str(float(value))
    if size == 0:
        return "0"
    if not 1e-4 <= size < 1e15:
        return f"{float(value):.4g}"
    text = f"{float(value):,.{max(0, 3 - math.floor(math.log10(size)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
