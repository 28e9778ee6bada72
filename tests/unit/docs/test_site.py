"""The built documentation: complete pages, no dead links, and no requests to other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    command = [str(Path(sys.executable).parent / "mkdocs"), "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    assert (tmp_path / "search" / "search_index.js").exists()
    for page in pages:
        html = page.read_text()
        addresses = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?://[^\"> ]*)", html)
        assert addresses == [], page
        assert "<!-- picture" not in html
        assert "<!-- claims" not in html


def test_links_in_documents_of_the_top_folder_lead_to_files():
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LANGUAGE.md"):
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            assert "://" in target or (ROOT / target).exists(), f"{name} links to {target}"
