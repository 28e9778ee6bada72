"""HTML pages in one file that opens offline. Used by `tellwhen demo` and `python -m bench report`.

    Page("Results").text("One run.").chart(bars(rows, "engine", "events/s"), "Higher is better.").save("results.html")

rows ──> charts.py: Altair, rendered as SVG ──> page.py: templates/page.html, filled by Jinja2 ──> one file, no script
"""

from importlib.util import find_spec

from tellwhen.errors import MissingPackageError

REQUIRED_PACKAGES = ("altair", "jinja2", "vl_convert")

_missing = [name for name in REQUIRED_PACKAGES if find_spec(name) is None]
if _missing:
    raise MissingPackageError(f"HTML pages need {', '.join(_missing)}: run `pip install 'tellwhen[report]'`")

from tellwhen.report.charts import bars, lines  # noqa: E402  after the check of packages
from tellwhen.report.page import Page  # noqa: E402

__all__ = ["Page", "bars", "lines"]
