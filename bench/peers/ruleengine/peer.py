"""rule-engine (Python) has no index: every rule is evaluated for every event.

For a missing attribute its `<` is an error, and its `!=` and `not in` are true, so these test for presence first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import rule_engine  # type: ignore[import-not-found]
from bench.peers.protocol import Match, measure, read

SIGNS = {"=": "==", "<>": "!="}


def text(form: Any) -> str:
    if isinstance(form, bool):
        return str(form).lower()
    if "attribute" not in form:
        ((word, inner),) = form.items()
        return "(" + f" {word} ".join(map(text, inner)) + ")"
    name, operator, value = form["attribute"], form["operator"], form["value"]
    if operator == "between":
        said = f"{name} >= {value[0]} and {name} <= {value[1]}"
    elif operator == "not between":
        said = f"({name} < {value[0]} or {name} > {value[1]})"
    else:
        said = f"{name} {SIGNS.get(operator, operator)} {value}"
    return said if operator in ("=", "in") else f"({name} != null and {said})"


def main(folder: Path) -> None:
    texts = [(row["id"], text(row["positive"])) for row in read(folder, "subscriptions")]
    context = rule_engine.Context(default_value=None)

    def build() -> Match:
        rules = [(id, rule_engine.Rule(said, context=context)) for id, said in texts]
        return lambda event: [id for id, rule in rules if rule.matches(event)]

    measure("rule-engine", read(folder, "events"), build, notes="no index; tests for presence before <, <>, not in")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
