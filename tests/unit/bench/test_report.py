"""Does the page of results show all experiments, findings and faults?"""

from dataclasses import replace

import pytest
from bench.claims import (
    Leads,
)
from bench.engines import list_engines_of_paper
from bench.judging import judge_experiment
from bench.registry import EXPERIMENTS
from bench.report import write_report
from bench.results import Results

from bench_support import EXPERIMENT_NAMES, make_row, save_results

pytestmark = pytest.mark.late


def test_the_report_has_everything(tmp_path):
    rest = {"candidates": 5, "matches": 2, "build": 0.1, "index": 90, "bytes": 100}
    rows = [make_row(engine, match, x, **rest) for engine, match in (("betree", 10), ("scan", 99)) for x in (100, 200)]
    wrong = {"variant": "a: uniform", "x": 200, "engine": "kindex", "status": "wrong", "detail": "3 are <missing>"}
    save_results(tmp_path, "betree-fig5", [*rows, wrong])
    text = write_report(tmp_path, tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert "wrong: 3 are &lt;missing&gt;" in text
    assert EXPERIMENTS["betree-fig5"].paper_finding in text
    assert all(name in text for name in EXPERIMENT_NAMES)
    assert text.count("not run") == len(EXPERIMENT_NAMES) - 1
    shown = list_engines_of_paper("betree")
    every = [make_row(engine, 10 + 9 * (engine != "betree"), x, **rest) for engine in shown for x in (100, 200)]
    unbuilt = replace(EXPERIMENTS["ranked-fig6"], engines=("not-yet",), claims=(Leads("betree", ("not-yet",)),))
    [finding] = judge_experiment(unbuilt, Results("ranked-fig6", 1, 2, {}, every))
    assert (finding.verdict, finding.text) == ("not comparable", "waits for not-yet")
    assert EXPERIMENTS["atree-fig9"].get_label("atree:share=0") == "no optimization"
    assert EXPERIMENTS["atree-fig9"].get_label("scan") == "scan"
    [finding] = judge_experiment(EXPERIMENTS["atree-fig7"], Results("atree-fig7", 1, 2, {}, every))
    assert "proves nothing" in finding.text
