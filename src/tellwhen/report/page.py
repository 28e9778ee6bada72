"""How does a result become one HTML page that opens offline?

    Page("Results").text("One run.").chart(bars(rows, "engine", "events/s"), "Higher is better.").save("results.html")

Charts become SVG inside the page: no script, and nothing to fetch, which the page's own policy forbids besides.
"""

from __future__ import annotations

import math
import numbers
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from tellwhen.errors import TellwhenError, shown

if TYPE_CHECKING:
    import altair

Row = Mapping[str, Any]

HTML = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""

STYLE = """\
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6474; --line: #dfe3ea; --paper: #f6f7f9; --card: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #a0a9b8; --line: #343b48; --paper: #14171d; --card: #1c2028; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 1.5rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.5rem 0 0.75rem; }
h1, h2, p, figcaption { overflow-wrap: anywhere; }
td { overflow-wrap: break-word; }
p { margin: 0.75rem 0; max-width: 44rem; white-space: pre-line; }
.card { margin: 1.25rem 0; padding: 1rem; overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
table { border-collapse: collapse; width: 100%; font-size: 0.93rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.45rem 0.75rem; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); }
tr + tr td { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
svg { display: block; max-width: 100%; height: auto; margin: 0 auto; }
svg text[fill="#000"] { fill: var(--soft); }
svg .role-title-text text[fill="#000"] { fill: var(--ink); }
svg .role-axis-grid line, svg .role-axis-domain line, svg .role-axis-tick line { stroke: var(--line); }
figcaption { margin-top: 0.75rem; color: var(--soft); font-size: 0.9rem; text-align: center; }
"""

LOOK = {
    "background": "transparent",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",  # as wide in browsers as where the chart is laid out
    "view": {"stroke": None},
    "scale": {"bandPaddingInner": 0.35},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "title": {"fontSize": 15, "anchor": "start", "offset": 14},
    "bar": {"cornerRadiusEnd": 3, "color": "#3b82c4"},
    "line": {"strokeWidth": 2.5, "color": "#3b82c4"},
    # Told apart in light and dark, and by most who do not see all colours.
    "range": {"category": ["#3b82c4", "#e07b39", "#2fa37c", "#c25c9a", "#b59a1f", "#7d6fd0", "#6f7b8a", "#d1495b"]},
}
"""The look of a chart that does not say otherwise; the page's style gives axes and texts the colours of the page."""


NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

SHORT = "abs(datum.value) < 10000 ? format(datum.value, ',~r') : format(datum.value, '~s')"
"""The numbers of an axis: 0.5, 2,000, 10k, 3M. The letters alone would make 500m of a half."""


class Page:
    """A title, then whatever is added, in that order. Everything is escaped: text stays text."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []
        self._charts = 0

    def heading(self, text: str) -> Page:
        return self._add(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> Page:
        """A paragraph; an empty line begins another."""
        for paragraph in re.split(r"\n\s*\n", text.strip()):
            self._add(f"<p>{escape(paragraph)}</p>")
        return self

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Page:
        """Numbers get thousands separators and the right side; None is an empty cell."""
        body = [list(row) for row in rows]
        for place, row in enumerate(body):
            if len(row) != len(columns):
                raise ValueError(f"row {place} has {len(row)} cells for {len(columns)} columns: {shown(row)}")
        # A column without a text is one of numbers: its head goes to the right with them.
        heads = [
            _cell("th", name, all(_is_number(row[i]) for row in body if row[i] is not None))
            for i, name in enumerate(columns)
        ]
        lines = ["".join(_cell("td", _written(value), _is_number(value)) for value in row) for row in body]
        inside = "\n".join(f"<tr>{line}</tr>" for line in lines)
        return self._add(
            f'<div class="card"><table>\n<thead><tr>{"".join(heads)}</tr></thead>\n'
            f"<tbody>\n{inside}\n</tbody>\n</table></div>"
        )

    def chart(self, chart: altair.TopLevelMixin, caption: str = "") -> Page:
        """An Altair chart, drawn now."""
        self._charts += 1
        svg = _inline(_svg(chart), f"chart{self._charts}-")
        below = f"\n<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return self._add(f'<figure class="card">\n{svg}{below}\n</figure>')

    def html(self) -> str:
        return HTML.format(title=escape(self.title), style=STYLE, body="\n".join(self._parts))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: whole, or not at all. A page that is there is replaced."""
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        data = self.html().encode("utf-8", errors="replace")  # half a surrogate pair is no reason to fail
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}-") as directory:
            aside = Path(directory, "page")
            aside.write_bytes(data)
            aside.replace(file)
        return file

    def _add(self, part: str) -> Page:
        self._parts.append(part)
        return self


# tables


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)


def _cell(tag: str, text: str, number: bool) -> str:
    return f'<{tag} class="number">{escape(text)}</{tag}>' if number else f"<{tag}>{escape(text)}</{tag}>"


def _written(value: Any) -> str:
    """A cell's text: integers in full, other numbers to four digits.

    >>> [_written(value) for value in (1234567, 1234567.8, 12.3456, 0.5, 0.000012345, -0.0, "1234", None)]
    ['1,234,567', '1,234,568', '12.35', '0.5', '1.234e-05', '0', '1234', '']
    """
    if value is None:
        return ""
    if not _is_number(value):
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


# charts


ROOM = 100
"""Characters that fit side by side under a chart."""


def bars(rows: Iterable[Row], x: str, y: str, title: str = "") -> altair.Chart:
    """A bar for each row, in the rows' order; lying when only `x` is a number."""
    alt = _altair()
    values = _values(rows, {"x": x, "y": y})
    lying = not _numeric(values, "y")
    if lying and not _numeric(values, "x"):
        raise ValueError(f"neither {x!r} nor {y!r} is a number in every row: there is nothing to draw bars of")
    across, up = alt.X(field="x", title=x), alt.Y(field="y", title=y)
    names, sizes = (up, across) if lying else (across, up)
    # Names that would run into each other are tilted.
    tilted = not lying and sum(len(str(row["x"])) + 2 for row in values) > ROOM
    names = names.type("nominal").sort(None).axis(labelAngle=-35 if tilted else 0)
    sizes = sizes.type("quantitative").axis(tickCount=6, labelExpr=SHORT)
    chart = _chart(alt, values, title).mark_bar()
    return chart.properties(height=alt.Step(36)).encode(sizes, names) if lying else chart.encode(names, sizes)


def lines(
    rows: Iterable[Row],
    x: str,
    y: str,
    color: str | None = None,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> altair.Chart:
    """A line with a point for each row; one line for each value of `color`, in order of appearance."""
    alt = _altair()
    values = _values(rows, {"x": x, "y": y} | ({} if color is None else {"color": color}))
    across = _axis(alt.X(field="x", title=x), values, "x", x, log_x)
    up = _axis(alt.Y(field="y", title=y), values, "y", y, log_y)
    chart = _chart(alt, values, title).mark_line(point=alt.OverlayMarkDef(size=45)).encode(across, up)
    return chart if color is None else chart.encode(alt.Color(field="color", type="nominal", title=color, sort=None))


def _axis(channel: Any, values: list[dict[str, Any]], place: str, name: str, log: bool) -> Any:
    if not _numeric(values, place):
        if log:
            raise ValueError(f"{name!r} is not a number in every row, which a logarithmic axis needs")
        return channel.type("ordinal").sort(None).axis(labelAngle=0)
    channel = channel.type("quantitative")
    if not log:
        return channel.scale(zero=place == "y").axis(tickCount=6, labelExpr=SHORT)
    known = [row[place] for row in values if row[place] is not None]
    if any(value <= 0 for value in known):
        raise ValueError(f"{name!r} has values of zero or less, which a logarithmic axis cannot show")
    axis: dict[str, Any] = {"labelExpr": SHORT}
    low, high = (math.ceil(math.log10(min(known))), math.floor(math.log10(max(known)))) if known else (0, 0)
    if high > low:  # Vega would also draw all that lies between the powers of ten
        axis["values"] = [float(f"1e{power}") for power in range(low, high + 1)]
    return channel.scale(type="log", nice=False).axis(**axis)


def _altair() -> Any:
    try:
        import altair
    except ImportError as error:
        raise TellwhenError(f"charts cannot be drawn ({error}); `pip install tellwhen[bench]`") from error
    return altair


def _chart(alt: Any, values: list[dict[str, Any]], title: str) -> Any:
    return alt.Chart(alt.Data(values=values), title=title, width=620, height=300)


def _values(rows: Iterable[Row], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Only the columns that are drawn, under names in which Vega sees no path or type; numbers as JSON has them."""
    return [{place: _plain(row[name]) for place, name in names.items()} for row in rows]


def _plain(value: Any) -> Any:
    if not _is_number(value):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if math.isfinite(value) else None


def _numeric(values: Iterable[Row], place: str) -> bool:
    return all(_is_number(row[place]) for row in values if row[place] is not None)


def _svg(chart: Any) -> str:
    alt = _altair()
    try:
        import vl_convert
    except ImportError as error:
        raise TellwhenError(f"charts cannot be drawn ({error}); `pip install tellwhen[bench]`") from error
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    return vl_convert.vegalite_to_svg(_clean(chart.to_dict()), vl_version=version, config=LOOK, allowed_base_urls=[])


def _clean(spec: Any) -> Any:
    """Without the characters that SVG cannot have: on some of them vl-convert ends the whole process."""
    if isinstance(spec, dict):
        return {key: _clean(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_clean(value) for value in spec]
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", spec) if isinstance(spec, str) else spec


def _inline(svg: str, prefix: str) -> str:
    """The drawing as a part of a page: without namespaces, its ids told apart from those of other drawings."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name, value in list(element.attrib.items()):
            del element.attrib[name]
            plain = name.rpartition("}")[2]
            if re.search(r"url\((?!#)", value) or (plain == "href" and not value.startswith(("#", "data:image/"))):
                raise ValueError(f"the chart refers to {shown(value)}: a page that opens offline cannot")
            if plain == "id":
                value = prefix + value
            elif plain == "href" and value.startswith("#"):
                value = f"#{prefix}{value[1:]}"
            element.set(plain, value.replace("url(#", f"url(#{prefix}"))
    return ElementTree.tostring(root, encoding="unicode")
