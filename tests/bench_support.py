"""Helpers of the tests of `bench`: rows, files of results, quick settings, and names of experiments."""

from bench import results
from bench.results import Results
from bench.runner import Settings

EXPERIMENT_NAMES = [
    *(f"betree-fig{n}" for n in range(4, 14)), "betree-table3", "betree-table5",
    *(f"atree-fig{n}" for n in range(7, 14)), "atree-table4", "atree-choices", "atree-conjunctions",
    "opindex-fig1", *(f"opindex-fig{n}" for n in range(7, 15)),
    *(f"pstree-fig{n}" for n in range(5, 16)), "pstree-table2", "pstree-table3",
    "ranked-table2", *(f"ranked-fig{n}" for n in range(6, 10)),
]  # fmt: skip

QUICK_SETTINGS = Settings(scale=0.001, repeat=2, seconds=60, megabytes=1_500, engine_modules=("tests.broken_engines",))


def save_results(folder, name, rows, scale=0.1):
    results.save(folder, Results(name, scale, 5, {"day": "2026-01-01"}, rows))


def make_row(engine, match, x=1, noise=0.02, variant="a: uniform", **more):
    return {"variant": variant, "x": x, "engine": engine, "status": "ok", "match": match, "match_noise": noise, **more}
