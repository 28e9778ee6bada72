"""Why claims of the papers fail here: a sentence for each failed claim, by experiment and subject."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from bench.claims import Finding


class Reason(NamedTuple):
    """A sentence, and patterns (with `*`) that say which failed claims it explains."""

    experiments: str  # patterns of the name of the experiment, with commas
    subjects: str  # pattern of the finding's subject
    sentence: str
    text: str = "*"  # pattern of the finding's text, where a subject has several claims


REASONS: tuple[Reason, ...] = ()
"""Of several reasons that match, the first is shown."""


def find_reason(experiment: str, finding: Finding) -> str:
    """Return why a claim fails; empty if it does not fail, or if nobody has explained it."""
    if finding.verdict != "fails":
        return ""
    for reason in REASONS:
        has_experiment = any(fnmatchcase(experiment, pattern) for pattern in reason.experiments.split(","))
        if has_experiment and fnmatchcase(finding.subject, reason.subjects) and fnmatchcase(finding.text, reason.text):
            return reason.sentence
    return ""
