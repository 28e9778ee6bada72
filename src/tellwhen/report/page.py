"""What is on a page, and how is it written to a file?

Everything but drawings is escaped by the template: text stays text. The page's own policy forbids scripts and requests.
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
from tellwhen.language.explain import Explanation
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
    """A cell of a table; numbers stand on the right."""

    text: str
    is_number: bool


class Page:
    """A title, then whatever is added, in that order."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[dict[str, Any]] = []
        self._charts = 0

    def heading(self, text: str) -> Page:
        return self._add("heading", text=text)

    def text(self, text: str) -> Page:
        """Paragraphs, with an empty line between them."""
        for paragraph in re.split(r"\n\s*\n", text.strip()):
            self._add("paragraph", text=paragraph)
        return self

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Page:
        """A table. Numbers get thousands separators and stand on the right; None is an empty cell."""
        body = [list(row) for row in rows]
        for number, row in enumerate(body):
            if len(row) != len(columns):
                raise ValueError(f"row {number} has {len(row)} cells for {len(columns)} columns: {abbreviate(row)}")
        # The head of a column of numbers stands on the right with them.
        head = [
            Cell(name, all(is_number(row[i]) for row in body if row[i] is not None)) for i, name in enumerate(columns)
        ]
        return self._add("table", head=head, rows=[[Cell(cell_text(v), is_number(v)) for v in row] for row in body])

    def tiles(self, figures: Mapping[str, str]) -> Page:
        """A row of figures that are to be seen first, each over what it counts."""
        return self._add("tiles", figures=list(figures.items()))

    def code(self, text: str) -> Page:
        """Lines of code, as they are."""
        return self._add("code", text=text)

    def tree(self, explanation: Explanation) -> Page:
        """Why an expression matches an event, or why not: its tree, coloured by the values of its parts."""
        lines = str(explanation).splitlines()
        return self._add("tree", lines=[(line.split(maxsplit=1)[0], line) for line in lines])

    def chart(self, chart: altair.TopLevelMixin, caption: str = "") -> Page:
        """An Altair chart, drawn now."""
        self._charts += 1
        return self._add("chart", svg=inline(svg(chart), f"chart{self._charts}-"), caption=caption)

    def html(self) -> str:
        return TEMPLATES.get_template("page.html").render(title=self.title, parts=self._parts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: all of it, or nothing. An existing page is replaced."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        data = self.html().encode("utf-8", errors="replace")  # half a surrogate pair is no reason to fail
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}-") as directory:
            aside = Path(directory, "page")
            aside.write_bytes(data)
            aside.replace(file)
        return file

    def _add(self, kind: str, **content: Any) -> Page:
        self._parts.append({"kind": kind, **content})
        return self


def cell_text(value: Any) -> str:
    """The text of a cell: integers in full, other numbers to four digits.

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
