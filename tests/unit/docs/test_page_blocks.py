"""Every code block of the documentation runs and prints what the page shows."""

import pytest

import page_blocks

pytestmark = pytest.mark.late


@pytest.mark.parametrize("page", page_blocks.make_page_params(needs_spark=False))
def test_a_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    page_blocks.run_page(page, tmp_path, {"__name__": "__main__"})


def test_a_wrong_page_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = page_blocks.DOCS / "wrong.md"
    monkeypatch.setattr(type(page), "read_text", lambda *_: tmp_path.joinpath("page").open().read())
    for code in (
        "```python\n>>> 1 + 1\n3\n\n```\n",
        "```python\nassert False\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```console\n$ false\n```\n",
        "```json\n{\n```\n",
        "```sh\ntellwhen match index events.jsonl\n```\n",
        "```ruby\nputs 1\n```\n",
    ):
        (tmp_path / "page").write_text(code)
        with pytest.raises(AssertionError, match=r"wrong\.md, line 2"):
            page_blocks.run_page(page, tmp_path, {})
    (tmp_path / "page").write_text('```json title="a.json"\n{"x": 1}\n```\n```console\n$ cat a.json\n{"x": ...}\n```\n')
    assert page_blocks.run_page(page, tmp_path, {}) == 2
