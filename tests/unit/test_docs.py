"""Does every block of code in the documentation run, and print what the page says?"""

import pytest

import blocks

pytestmark = pytest.mark.late


@pytest.mark.parametrize("page", blocks.chosen(spark=False))
def test_every_block_of_code(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    blocks.run(page, tmp_path, {"__name__": "__main__"})


def test_what_a_page_says_wrongly_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = blocks.DOCS / "wrong.md"
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
            blocks.run(page, tmp_path, {})
    (tmp_path / "page").write_text('```json title="a.json"\n{"x": 1}\n```\n```console\n$ cat a.json\n{"x": ...}\n```\n')
    assert blocks.run(page, tmp_path, {}) == 2
