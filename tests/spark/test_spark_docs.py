"""Does every block of code run on the pages about Spark, and print what the page says?"""

import pytest

import page_blocks

pytestmark = pytest.mark.spark

PAGES = page_blocks.make_page_params(needs_spark=True)


def test_there_are_such_pages():
    assert PAGES


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code(page, spark, tmp_path, monkeypatch):
    """In the session of all tests: `tws.start_session` returns it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    try:
        assert page_blocks.run_page(page, tmp_path, {"__name__": "__main__"})
    finally:
        for query in spark.streams.active:
            query.stop()
        spark.catalog.clearCache()
