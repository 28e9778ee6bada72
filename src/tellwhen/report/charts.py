"""Charts of rows, and their rendering as SVG that a page can contain."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert

from tellwhen.errors import abbreviate

Row = Mapping[str, Any]
Values = list[dict[str, Any]]

VEGA_CONFIG = {
    "background": "transparent",
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",  # as wide in browsers as in vl-convert's layout
    "view": {"stroke": None},
    "scale": {"bandPaddingInner": 0.35},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "title": {"fontSize": 15, "anchor": "start", "offset": 14},
    "bar": {"cornerRadiusEnd": 3, "color": "#3b82c4"},
    "line": {"strokeWidth": 2.5, "color": "#3b82c4"},
    # Distinct on light and dark pages, and for most colour-blind readers.
    "range": {"category": ["#3b82c4", "#e07b39", "#2fa37c", "#c25c9a", "#b59a1f", "#7d6fd0", "#6f7b8a", "#d1495b"]},
}
"""Vega configuration of every chart. The style sheet of the page sets the colours of axes and texts."""

AXIS_LABEL_EXPRESSION = "abs(datum.value) < 10000 ? format(datum.value, ',~r') : format(datum.value, '~s')"
"""Format of numbers on an axis: 0.5, 2,000, 10k, 3M. SI letters for all numbers would turn 0.5 into 500m."""

LABEL_CHARACTERS_MAX = 100
"""Characters that fit side by side below a chart. Labels with more characters in total are tilted."""

INVALID_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def bars(rows: Iterable[Row], x: str, y: str, title: str = "") -> alt.Chart:
    """Create a bar chart with a bar for each row, in their order; bars are horizontal if only `x` is numeric."""
    values = _values(rows, {"x": x, "y": y})
    horizontal = not _is_numeric(values, "y")
    if horizontal and not _is_numeric(values, "x"):
        raise ValueError(f"a bar chart needs a number in every row: neither {x!r} nor {y!r} is one")
    across, up = alt.X(field="x", title=x), alt.Y(field="y", title=y)
    names, sizes = (up, across) if horizontal else (across, up)
    is_tilted = not horizontal and sum(len(str(row["x"])) + 2 for row in values) > LABEL_CHARACTERS_MAX
    names = names.type("nominal").sort(None).axis(labelAngle=-35 if is_tilted else 0)
    sizes = sizes.type("quantitative").axis(tickCount=6, labelExpr=AXIS_LABEL_EXPRESSION)
    chart = _chart(values, title).mark_bar()
    return chart.properties(height=alt.Step(36)).encode(sizes, names) if horizontal else chart.encode(names, sizes)


def lines(
    rows: Iterable[Row],
    x: str,
    y: str,
    color: str | None = None,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> alt.Chart:
    """Create a line chart with a point for each row, and a line for each value of `color` in order of appearance."""
    values = _values(rows, {"x": x, "y": y} | ({} if color is None else {"color": color}))
    across = _axis(alt.X(field="x", title=x), values, "x", x, log_x)
    up = _axis(alt.Y(field="y", title=y), values, "y", y, log_y)
    chart = _chart(values, title).mark_line(point=alt.OverlayMarkDef(size=45)).encode(across, up)
    return chart if color is None else chart.encode(alt.Color(field="color", type="nominal", title=color, sort=None))


def _axis(channel: Any, values: Values, field: str, name: str, is_log: bool) -> Any:
    if not _is_numeric(values, field):
        if is_log:
            raise ValueError(f"a logarithmic axis needs a number in every row: {name!r} is not a number in some")
        return channel.type("ordinal").sort(None).axis(labelAngle=0)
    channel = channel.type("quantitative")
    if not is_log:
        return channel.scale(zero=field == "y").axis(tickCount=6, labelExpr=AXIS_LABEL_EXPRESSION)
    known = [row[field] for row in values if row[field] is not None]
    if any(value <= 0 for value in known):
        raise ValueError(f"a logarithmic axis needs positive numbers: {name!r} has values of zero or less")
    axis: dict[str, Any] = {"labelExpr": AXIS_LABEL_EXPRESSION}
    low, high = (math.ceil(math.log10(min(known))), math.floor(math.log10(max(known)))) if known else (0, 0)
    if high > low:  # powers of ten only: by default Vega labels values between them too
        axis["values"] = [float(f"1e{power}") for power in range(low, high + 1)]
    return channel.scale(type="log", nice=False).axis(**axis)


def _chart(values: Values, title: str) -> alt.Chart:
    return alt.Chart(alt.Data(values=values), title=title, width=620, height=300)


def _values(rows: Iterable[Row], names: Mapping[str, str]) -> Values:
    """Return the columns of a chart under short names: Vega reads dots and brackets in a name as a path."""
    return [{field: _as_json(row[name]) for field, name in names.items()} for row in rows]


def _as_json(value: Any) -> Any:
    if not is_number(value):
        return value if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if math.isfinite(value) else None


def is_number(value: object) -> bool:
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)


def _is_numeric(values: Values, field: str) -> bool:
    return all(is_number(row[field]) for row in values if row[field] is not None)


# SVG


def svg(chart: alt.TopLevelMixin) -> str:
    """Render a chart as SVG; raise ValueError if it loads data from a URL."""
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    return vl_convert.vegalite_to_svg(
        _replace_invalid(chart.to_dict()), vl_version=version, config=VEGA_CONFIG, allowed_base_urls=[]
    )


def _replace_invalid(spec: Any) -> Any:
    """Replace characters that XML cannot contain, recursively: some of them make vl-convert end the process."""
    if isinstance(spec, dict):
        return {key: _replace_invalid(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_replace_invalid(value) for value in spec]
    return INVALID_IN_XML.sub("\N{REPLACEMENT CHARACTER}", spec) if isinstance(spec, str) else spec


def inline(drawing: str, prefix: str) -> str:
    """Prepare SVG for an HTML page: remove namespaces, and prefix the ids so that charts of a page do not share any."""
    root = ElementTree.fromstring(drawing)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for qualified, value in list(element.attrib.items()):
            del element.attrib[qualified]
            name = qualified.rpartition("}")[2]
            if re.search(r"url\((?!#)", value) or (name == "href" and not value.startswith(("#", "data:image/"))):
                raise ValueError(
                    f"the chart refers to {abbreviate(value)}: a page that opens offline cannot load a URL"
                )
            if name == "id":
                value = prefix + value
            elif name == "href" and value.startswith("#"):
                value = f"#{prefix}{value[1:]}"
            element.set(name, value.replace("url(#", f"url(#{prefix}"))
    return ElementTree.tostring(root, encoding="unicode")
