"""Are changes told apart from noise?"""

import pytest
from bench.changes import compare, describe_processor_difference

from bench_support import make_row, save_results

pytestmark = pytest.mark.late


def test_compare_separates_change_from_noise(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    save_results(
        old,
        "betree-fig5",
        [make_row("scan", 100), make_row("counting", 100), make_row("auto", 100), make_row("kindex", 5)],
    )
    broken = {"variant": "a: uniform", "x": 1, "engine": "auto", "status": "wrong", "detail": "x"}
    save_results(
        new, "betree-fig5", [make_row("scan", 115, noise=0.1), make_row("counting", 90), broken, make_row("betree", 1)]
    )
    save_results(new, "betree-fig6", [make_row("scan", 1)])
    save_results(old, "betree-table5", [make_row("scan", 1, build=10, build_noise=0.01)])
    save_results(new, "betree-table5", [make_row("scan", 1, build=30, build_noise=0.01)])
    found = {(change.experiment, change.metric, change.engine): change for change in compare(old, new)}
    assert found["betree-fig5", "match", "scan"].verdict == "same"  # within twice the noise
    assert found["betree-fig5", "match", "scan"].delta == pytest.approx(0.15)
    assert found["betree-fig5", "match", "counting"].verdict == "faster"
    assert found["betree-fig5", "match", "auto"].verdict == "broken"
    assert found["betree-fig5", "match", "kindex"].verdict == "only in A"
    assert found["betree-fig5", "match", "betree"].verdict == "only in B"
    assert found["betree-table5", "build", "scan"].verdict == "slower"
    assert found["betree-table5", "match", "scan"].verdict == "same"
    assert describe_processor_difference(old, new) == ""
    save_results(new, "betree-fig5", [make_row("scan", 115)], scale=1.0)
    assert next(iter(compare(old, new))).verdict == "not comparable"
