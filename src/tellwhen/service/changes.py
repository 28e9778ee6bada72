"""What can be changed? Each change is JSON, as it stands in the journal, and is applied whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic_core import to_json

from tellwhen.errors import ArgumentError
from tellwhen.index import Index
from tellwhen.index.subscriptions import Rejected

Change = dict[str, Any]
KINDS = ("add", "remove", "score", "refuse")
"""What a change may do; the last one only says which others were refused."""


def adding(rows: list[list[Any]], replace: bool = False, errors: str = "raise") -> Change:
    """Add subscriptions: rows of an id, an expression, a score, weights and a payload."""
    return {"do": "add", "rows": rows, "replace": replace, "errors": errors}


def removing(ids: list[Any], missing: str = "raise") -> Change:
    return {"do": "remove", "ids": ids, "missing": missing}


def scoring(scores: list[list[Any]], missing: str = "raise") -> Change:
    """Pairs of an id and a score."""
    return {"do": "score", "scores": scores, "missing": missing}


def written(change: Change) -> bytes:
    """On one line."""
    return to_json(change)


def apply(index: Index, change: Change) -> Any:
    """Carry out a change; returns what there is to say about it."""
    match change["do"]:
        case "add":
            before = len(index)
            found = index.add_many(change["rows"], replace=change["replace"], errors=change["errors"])
            rejected: list[Rejected] = found if isinstance(found, list) else []
            accepted = len(change["rows"]) - len(rejected)
            # Of an id that comes twice in one change, the last one stays.
            return {"accepted": accepted, "added": len(index) - before, "rejected": rejected}
        case "remove":
            ids = list(dict.fromkeys(change["ids"]))
            if change["missing"] == "ignore":
                ids = [id_ for id_ in ids if id_ in index]
            index.remove_many(ids)
            return {"removed": len(ids)}
        case "score":
            scores = dict(change["scores"])
            if change["missing"] == "ignore":
                scores = {id_: score for id_, score in scores.items() if id_ in index}
            index.set_scores(scores)
            return {"scored": len(scores)}
        case other:
            raise ArgumentError(f"{other!r} is no change that this version knows")


def size(change: Change) -> int:
    """How many subscriptions it is about."""
    return max(1, len(change.get("rows") or change.get("ids") or change.get("scores") or ()))


def groups(changes: Iterable[Change], most: int = 20_000) -> Iterator[list[Change]]:
    """Neighbours that can be carried out as one."""
    group: list[Change] = []
    length = 0
    for change in changes:
        if group and not (_can_join(group[-1], change) and length < most):
            yield group
            group, length = [], 0
        group.append(change)
        length += size(change)
    if group:
        yield group


def joined(group: list[Change]) -> Change:
    """A group as one change: what it says is the same if all of them are good."""
    if len(group) == 1:
        return group[0]
    return group[0] | {"rows": [row for change in group for row in change["rows"]]}


def _can_join(one: Change, other: Change) -> bool:
    """Both add, and both all or nothing."""
    return all(change["do"] == "add" and change["errors"] == "raise" for change in (one, other)) and (
        one["replace"] == other["replace"]
    )
