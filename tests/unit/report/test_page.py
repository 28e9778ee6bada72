"""Pages in one file that opens offline, with all content unchanged."""

import os
import re
from decimal import Decimal
from html.parser import HTMLParser

import numpy as np
import pytest

from tellwhen.report import Page, bars, lines
from tellwhen.report.charts import inline

SPEED = [{"engine": "scan", "events/s": 1200}, {"engine": "a <b> & \"c\" 'd'", "events/s": np.float64(98765.4)}]
GROWTH = [{"n": 10**k, "t.ms[0]": k * 1.5, "by": by} for by in ("scan", "counting") for k in range(1, 5)]
NASTY = "</p><script>alert('1')</script><img src=x onerror=y> & \"q\""


class Reader(HTMLParser):
    """What a browser sees: the tags with their attributes, and the text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def skip_without_plots():
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")


def test_everything_is_escaped():
    page = Page(NASTY).heading(NASTY).text(NASTY).table([NASTY, "n"], [[NASTY, 1]])
    seen = Reader(page.html())
    assert {tag for tag, _ in seen.tags}.isdisjoint({"script", "img"})
    assert seen.text.count(NASTY) == 6  # the title twice


def test_braces_and_percents_are_only_text():
    assert "{title} %s {0}" in Reader(Page("{body}").text("{title} %s {0}").html()).text


def test_an_empty_line_begins_a_paragraph():
    assert Page("t").text("\none\nstill one\n\n \ntwo\n").html().count("<p>") == 2


def test_numbers_are_on_the_right_with_separators():
    values = [1234567, np.int64(-1000), 1234.5678, Decimal("12.5"), 0.00001, float("nan"), "1234", True, None]
    html = Page("t").table(["name"], [[value] for value in values]).html()
    cells = re.findall(r'<td( class="number")?>(.*?)</td>', html)
    assert [text for number, text in cells if number] == ["1,234,567", "-1,000", "1,235", "12.5", "1e-05", "nan"]
    assert [text for number, text in cells if not number] == ["1234", "True", ""]


def test_the_head_of_a_column_of_numbers_is_on_the_right():
    html = Page("t").table(["a", "b"], [["x", 1], ["y", None]]).html()
    assert '<th>a</th><th class="number">b</th>' in html


def test_a_row_of_another_length_is_an_error():
    with pytest.raises(ValueError, match="a row needs 2 cells: row 1 has 1"):
        Page("t").table(["a", "b"], [[1, 2], [3]])


def test_a_page_has_its_charts_and_no_address(skip_without_plots, tmp_path):
    page = Page("t").chart(bars(SPEED, "engine", "events/s", "Speed <1>"), NASTY)
    page.chart(lines(GROWTH, "n", "t.ms[0]", "by", "Growth", log_x=True))
    html = page.save(tmp_path / "page.html").read_text(encoding="utf-8")
    seen = Reader(html)
    assert [tag for tag, _ in seen.tags].count("svg") == 2
    assert "://" not in html
    assert {tag for tag, _ in seen.tags}.isdisjoint({"script", "link", "img", "iframe", "image", "use"})
    assert not [attrs for _, attrs in seen.tags if {"src", "href", "xlink:href"} & attrs.keys()]
    assert not re.search(r"@import|url\((?!#)", html)
    for text in (NASTY, "Speed <1>", "a <b> & \"c\" 'd'", "counting", "t.ms[0]", "100k"):
        assert text in seen.text


def test_the_marks_are_drawn(skip_without_plots):
    html = Page("t").chart(bars(SPEED, "engine", "events/s")).html()
    assert len(re.findall(r'aria-roledescription="bar"', html)) == len(SPEED)
    html = Page("t").chart(lines(GROWTH, "n", "t.ms[0]", "by", log_x=True, log_y=True)).html()
    assert len(re.findall(r'aria-roledescription="line mark"', html)) == 2
    assert len(re.findall(r'aria-roledescription="point"', html)) == len(GROWTH)


def test_bars_are_horizontal_when_only_x_is_a_number(skip_without_plots):
    encoding = bars(SPEED, "events/s", "engine").to_dict()["encoding"]
    assert (encoding["x"]["type"], encoding["y"]["type"]) == ("quantitative", "nominal")
    with pytest.raises(ValueError, match="neither 'a' nor 'b'"):
        bars([{"a": "x", "b": "y"}], "a", "b")


@pytest.mark.parametrize("values", [[], [None], [1, None, float("inf")], [0.5], [Decimal("2.5"), np.int32(3)], [5, 5]])
@pytest.mark.parametrize("log", [False, True])
def test_odd_values_are_drawn_or_left_out(skip_without_plots, values, log):
    rows = [{"x": number, "y": value} for number, value in enumerate(values, 1)]
    Page("t").chart(lines(rows, "x", "y", log_y=log)).chart(bars(rows, "x", "y"))


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\ud800", "\uffff"])
def test_a_character_that_svg_cannot_have_is_replaced(skip_without_plots, character):
    chart = bars([{"x": f"a{character}b", "y": 1}], "x", "y", title=f"c{character}d")
    seen = Reader(Page("t").chart(chart).html())
    assert "a\N{REPLACEMENT CHARACTER}b" in seen.text
    assert "c\N{REPLACEMENT CHARACTER}d" in seen.text


@pytest.mark.parametrize(
    ("value", "message"), [(0, "zero or less"), (-1, "zero or less"), ("a", "is not a number in some")]
)
def test_a_logarithmic_axis_needs_positive_numbers(skip_without_plots, value, message):
    with pytest.raises(ValueError, match=message):
        lines([{"x": 1, "y": value}], "x", "y", log_y=True)


def test_charts_in_one_page_do_not_share_ids():
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><clipPath id="a"/><g clip-path="url(#a)"/></svg>'
    assert inline(svg, "one-") == '<svg><clipPath id="one-a" /><g clip-path="url(#one-a)" /></svg>'


@pytest.mark.parametrize("inside", ['<image href="{}"/>', '<a xlink:href="{}"/>', '<g style="fill: url({})"/>'])
def test_a_chart_that_refers_to_an_address_is_an_error(inside):
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    with pytest.raises(ValueError, match="refers to '.*opens offline"):
        inline(f"<svg {names}>{inside.format('https://example.org/x')}</svg>", "")


def test_a_chart_of_data_elsewhere_is_an_error(skip_without_plots):
    import altair

    with pytest.raises(ValueError):
        Page("t").chart(altair.Chart("http://127.0.0.1:9/data.json").mark_point().encode(x="a:Q"))


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "new" / "page.html"
    Page("old").save(str(file))
    assert os.stat(file).st_mode & 0o777 == 0o666 & ~_umask()

    def full(self, data):
        with self.open("wb") as out:
            out.write(data[:10])
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_bytes", full)
        with pytest.raises(OSError, match="full"):
            Page("new").save(file)
    assert "<h1>old</h1>" in file.read_text()
    assert Page("new \ud800").save(file) == file
    assert "<h1>new ?</h1>" in file.read_text()
    assert os.listdir(file.parent) == ["page.html"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
