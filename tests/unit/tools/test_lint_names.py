"""Does the check of names find participles and words without content, and nothing else?"""

import pytest
from tools.lint_names import ALLOWED, ALLOWED_MAX, find_unused, is_participle, is_without_content, lint_names, main

SOURCE = """
class Index:
    def merged(self): ...
    def merge_segments(self):
        async def _kept_slots(): ...
    @property
    def removed(self): ...
    @removed.setter
    def removed(self, value): ...
    def _of(self): ...
    def is_closed(self): ...
"""


@pytest.mark.parametrize("name", ["told", "_packed", "kept_slots", "united", "chosen_engine"])
def test_participles(name):
    assert is_participle(name)


@pytest.mark.parametrize(
    "name", ["tell", "embed", "feed", "need_rebuild", "is_merged", "has_changed", "read_block", "split_terms", "run"]
)
def test_verbs(name):
    assert not is_participle(name)


def test_words_without_content():
    assert is_without_content("of")
    assert is_without_content("_together")
    assert not is_without_content("all_slots")


def test_faults_of_a_folder(tmp_path):
    (tmp_path / "index.py").write_text(SOURCE)
    (tmp_path / "told.py").write_text("")
    faults = lint_names([tmp_path], {"of": "a reason"})
    assert [(fault.path.name, fault.line, fault.name) for fault in faults] == [
        ("index.py", 3, "merged"), ("index.py", 5, "_kept_slots"), ("told.py", 1, "told.py"),
    ]  # fmt: skip
    assert find_unused([tmp_path], {"of": "a reason", "from": "another"}) == ["from"]


def test_exit_code(tmp_path, capsys):
    (tmp_path / "index.py").write_text("def merge(): ...\n")
    assert main([str(tmp_path)]) == 0
    (tmp_path / "index.py").write_text("def merged(): ...\n")
    assert main([str(tmp_path)]) == 1
    assert "index.py:1: merged starts with a participle" in capsys.readouterr().out


def test_accepted_names_are_few_and_have_reasons():
    assert len(ALLOWED) <= ALLOWED_MAX
    assert all(len(reason.split()) > 2 for reason in ALLOWED.values())
