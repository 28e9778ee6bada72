"""How does a result become one HTML page that opens offline? Used by `tellwhen demo` and `python -m bench report`.

    Page("Results").text("One run.").chart(bars(rows, "engine", "events/s"), "Higher is better.").save("results.html")

rows ──> charts.py: Altair, drawn as SVG ──> page.py: templates/page.html, filled by Jinja2 ──> one file, no script
"""

from importlib.util import find_spec

from tellwhen.errors import TellwhenError

NEEDED = ("altair", "jinja2", "vl_convert")

_missing = [name for name in NEEDED if find_spec(name) is None]
if _missing:
    raise TellwhenError(f"pages need {', '.join(_missing)}: `pip install 'tellwhen[report]'`")

from tellwhen.report.charts import bars, lines  # noqa: E402  after the check, which says what to install
from tellwhen.report.page import Page  # noqa: E402

__all__ = ["Page", "bars", "lines"]
