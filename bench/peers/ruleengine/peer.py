"""Peer rule-engine (Python). It has no index: every rule is evaluated for every event.

If an attribute is missing, `<` is an error, and `!=` and `not in` are true. So these operators come after a test for
presence.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import rule_engine  # type: ignore[import-not-found]
from bench.peers.protocol import Match, measure, read_rows

OPERATORS = {"=": "==", "<>": "!="}


def format_expression(form: Any) -> str:
    if isinstance(form, bool):
        return str(form).lower()
    if "attribute" not in form:
        ((word, inner),) = form.items()
        return "(" + f" {word} ".join(map(format_expression, inner)) + ")"
    name, operator, value = form["attribute"], form["operator"], form["value"]
    if operator == "between":
        condition = f"{name} >= {value[0]} and {name} <= {value[1]}"
    elif operator == "not between":
        condition = f"({name} < {value[0]} or {name} > {value[1]})"
    else:
        condition = f"{name} {OPERATORS.get(operator, operator)} {value}"
    return condition if operator in ("=", "in") else f"({name} != null and {condition})"


def main(folder: Path) -> None:
    texts = [(row["id"], format_expression(row["positive"])) for row in read_rows(folder, "subscriptions")]
    context = rule_engine.Context(default_value=None)

    def build() -> Match:
        rules = [(id, rule_engine.Rule(condition, context=context)) for id, condition in texts]
        return lambda event: [id for id, rule in rules if rule.matches(event)]

    measure(
        "rule-engine", read_rows(folder, "events"), build, notes="no index; tests for presence before <, <>, not in"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
