"""Verdicts on the claims of experiments and of whole papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from bench.claims import VERDICTS, Finding
from bench.engines import Paper
from bench.experiment import Experiment
from bench.reasons import find_reason
from bench.results import Results

PAPER_TITLES: dict[Paper, str] = {
    "betree": "BE-Tree (SIGMOD 2011)",
    "atree": "A-Tree (SIGMOD 2021)",
    "opindex": "OpIndex (VLDB 2014)",
    "pstree": "PS-Tree (VLDB 2018)",
    "ranked": "Ranked Publish/Subscribe (VLDB 2008)",
}
assert set(PAPER_TITLES) == set(get_args(Paper))


def judge_experiment(experiment: Experiment, result: Results) -> list[Finding]:
    """Check the paper's claims on the results of an experiment."""
    absent = {engine for claim in experiment.claims for engine in claim.engines} & set(experiment.missing_engines)
    if absent:
        return [Finding("not comparable", f"waits for {', '.join(sorted(absent))}")]
    if experiment.no_verdict_reason:
        return [Finding("not comparable", experiment.no_verdict_reason)]
    return [finding for claim in experiment.claims for finding in claim.judge(result.rows, experiment.metric)]


def count_verdicts(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(finding.verdict for finding in findings)


def summarize_verdicts(findings: Iterable[Finding]) -> str:
    """Return the number of each verdict as text, such as "5 hold, 1 draw, 2 fail"."""
    counts = count_verdicts(findings)
    words = {"holds": "hold", "draw": "draw", "fails": "fail", "not comparable": "not comparable"}
    return ", ".join(f"{counts[verdict]} {words[verdict]}" for verdict in VERDICTS if counts[verdict]) or "no claims"


def describe_finding(experiment: str, finding: Finding) -> str:
    """Return the facts of a finding; if the claim fails and the reason is known, append the reason."""
    reason = find_reason(experiment, finding)
    return f"{finding.text}. Why: {reason}" if reason else finding.text


def get_paper(experiment: str) -> str:
    """Return the paper of an experiment, which is the first part of its name."""
    return experiment.partition("-")[0]
