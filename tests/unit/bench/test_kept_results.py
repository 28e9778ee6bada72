"""Are the kept results small and right, and is every reason for a failed claim needed?"""

import pytest
from bench.commands import RESULTS
from bench.judging import judge_experiment
from bench.reasons import REASONS, find_reason
from bench.registry import EXPERIMENTS
from bench.results import load_all

pytestmark = pytest.mark.late

SIZE_MAX = 3_000_000


def test_results_are_small_and_of_known_experiments():
    assert {results.experiment for results in load_all(RESULTS)} <= set(EXPERIMENTS)
    assert sum(file.stat().st_size for file in RESULTS.iterdir()) <= SIZE_MAX


def test_no_kept_row_is_wrong():
    rows = [row for results in load_all(RESULTS) for row in results.rows]
    assert rows
    assert not [row for row in rows if row["status"] in ("wrong", "failed")]


def test_every_reason_is_needed():
    sentences = {
        find_reason(results.experiment, finding)
        for results in load_all(RESULTS)
        for finding in judge_experiment(EXPERIMENTS[results.experiment], results)
    }
    assert {reason.sentence for reason in REASONS} == sentences - {""}
