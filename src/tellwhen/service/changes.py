"""Changes of an index as JSON objects, in the form that the journal stores. Each one is applied whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import to_json

from tellwhen.errors import ArgumentError
from tellwhen.index import Index
from tellwhen.index.subscriptions import Rejected

Change = dict[str, Any]
KINDS = ("add", "remove", "score", "refuse")
"""Values of `do`. A change `refuse` does not change the index: it lists the numbers of changes that were refused."""

SUBSCRIPTIONS_PER_GROUP = 20_000


def make_addition(rows: list[list[Any]], replace: bool = False, errors: str = "raise") -> Change:
    """Return the change that adds rows of an id, an expression, a score, weights and a payload."""
    return {"do": "add", "rows": rows, "replace": replace, "errors": errors}


def make_removal(ids: list[Any], missing: str = "raise") -> Change:
    return {"do": "remove", "ids": ids, "missing": missing}


def make_score_change(scores: list[list[Any]], missing: str = "raise") -> Change:
    """Return the change that sets scores, given as pairs of an id and a score."""
    return {"do": "score", "scores": scores, "missing": missing}


def encode_change(change: Change) -> bytes:
    """Return the change as JSON on one line."""
    return to_json(change)


def apply_change(index: Index, change: Change) -> Any:
    """Apply a change; return the counts and the rejected rows for the response."""
    match change["do"]:
        case "add":
            before = len(index)
            rejected: list[Rejected] = []
            if change["errors"] == "quarantine":
                rejected = index.add_valid(change["rows"], replace=change["replace"])
            else:
                index.add_many(change["rows"], replace=change["replace"])
            # `accepted` also counts a row that a later row of the same change replaces.
            return {
                "accepted": len(change["rows"]) - len(rejected),
                "added": len(index) - before,
                "rejected": rejected,
            }
        case "remove":
            before = len(index)
            index.remove_many(change["ids"], missing=change["missing"])
            return {"removed": before - len(index)}
        case "score":
            scores = dict(change["scores"])
            if change["missing"] == "ignore":
                scores = {id_: score for id_, score in scores.items() if id_ in index}
            index.set_scores(scores)
            return {"scored": len(scores)}
        case other:
            raise ArgumentError(f"unknown kind of change {other!r}; this version of tellwhen has {', '.join(KINDS)}")


def count_subscriptions(change: Change) -> int:
    """Return how many subscriptions a change names, and 1 for an empty change."""
    return max(1, len(change.get("rows") or change.get("ids") or change.get("scores") or ()))


def group_changes(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield groups of consecutive changes, each of which `join_changes` can join."""
    group: list[Change] = []
    length = 0
    for change in changes:
        if group and not (_can_join(group[-1], change) and length < SUBSCRIPTIONS_PER_GROUP):
            yield group
            group, length = [], 0
        group.append(change)
        length += count_subscriptions(change)
    if group:
        yield group


def join_changes(group: list[Change]) -> Change:
    """Return one change with the effect of all changes in a group, if all of them are valid."""
    if len(group) == 1:
        return group[0]
    return group[0] | {"rows": [row for change in group for row in change["rows"]]}


def _can_join(first: Change, second: Change) -> bool:
    """Return whether both changes add all rows or none, and treat existing ids alike."""
    are_additions = all(change["do"] == "add" and change["errors"] == "raise" for change in (first, second))
    return are_additions and first["replace"] == second["replace"]
