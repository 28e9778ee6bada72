"""Is the documentation whole, does every link in it lead somewhere, and does it open without a network?"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    command = [str(Path(sys.executable).parent / "mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    assert (tmp_path / "search" / "search_index.js").exists()
    for page in pages:
        html = page.read_text()
        fetched = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?://[^\"> ]*)", html)
        assert fetched == [], page
        assert "<!-- picture" not in html
        assert "<!-- claims" not in html


def test_documents_of_the_top_folder_link_to_what_there_is():
    """Those that are also pages of the site are checked there."""
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LANGUAGE.md"):
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            assert "://" in target or (ROOT / target).exists(), f"{name} links to {target}"
