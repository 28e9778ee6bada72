"""Events in, matches out: what the routes about events and expressions answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from tellwhen.errors import TellwhenError, UnknownId
from tellwhen.index import Index
from tellwhen.index.subscriptions import Subscription
from tellwhen.inspect.spelling import list_event_attributes
from tellwhen.inspect.validation import validate
from tellwhen.language.explanation import Explanation, explain_expression
from tellwhen.language.reading import read_expression
from tellwhen.language.values import flatten
from tellwhen.service import models
from tellwhen.service.errors import MalformedRequest, TooLarge, TooSlow
from tellwhen.service.json_output import json_bytes
from tellwhen.service.listeners import SUBSCRIBER, Live, by_subscriber
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import Tenant

EXAMPLES_MAX = 10


def timed_match(index: Index, asked: models.Publish) -> tuple[list[Any], float]:
    """The ids of what an event matches, and how long it took."""
    begin = time.perf_counter()
    ids = index.match(asked.event, where=asked.where)
    return ids, time.perf_counter() - begin


def subscribers(index: Index, ids: list[Any]) -> dict[str, list[Any]]:
    """Whose subscriptions are these?"""
    return by_subscriber(ids, index.get_payload_values(SUBSCRIBER, ids))


def published(
    tenant: Tenant,
    event: dict[str, Any],
    ids: list[Any],
    whose: Mapping[str, list[Any]],
    satisfied: list[Any],
    is_kept: bool,
) -> None:
    """An event is counted, remembered, and told to those who listen. Only the thread of the loop does this."""
    tenant.metrics.events.inc()
    tenant.metrics.matches.inc(len(ids))
    if is_kept:
        tenant.recent.append(event)
    tenant.live.tell(event, ids, whose, satisfied)


def answered(index: Index, asked: models.Publish, ids: list[Any], limits: Limits) -> dict[str, Any]:
    """What is answered: at most so many of the ids, with their payloads if they are wanted."""
    most = limits.payloads if asked.payload else limits.results
    if asked.limit is not None:
        most = min(asked.limit, most)
    shown = list(_with_payloads(index, ids[:most], limits.payload_bytes)) if asked.payload else ids[:most]
    return {"count": len(ids), "matches": shown, "truncated": len(ids) > len(shown)}


def _with_payloads(index: Index, ids: list[Any], most: int) -> Iterator[dict[str, Any]]:
    for id_ in ids:
        payload = payload_of(index, id_)
        most -= len(json_bytes(payload))
        if most < 0:
            return
        yield {"id": id_, "payload": payload}


def payload_of(index: Index, id_: Any) -> dict[str, Any]:
    try:
        return index.get_payload(id_)
    except UnknownId:  # removed since
        return {}


def matched_many(index: Index, asked: models.PublishMany, limits: Limits, ends: float) -> list[list[Any]]:
    """What each of many events matches."""
    if len(asked.events) > limits.events:
        raise TooLarge(f"a request has at most {limits.events:,} events, not {len(asked.events):,}")
    found: list[list[Any]] = [[] for _ in asked.events]
    count = 0
    for batch in index.match_batches(asked.events, where=asked.where):
        count += len(batch)
        if count > limits.results:
            raise TooLarge(f"there are more than {limits.results:,} matches; send fewer events at once")
        if time.monotonic() > ends:
            raise TooSlow("matching takes too long; send fewer events at once")
        for event, id_ in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            found[event].append(id_)
    return found


def heard(live: Live, events: list[dict[str, Any]], found: list[list[Any]], ends: float) -> list[list[Any]]:
    """Which filters does each of many events satisfy, if it matched anything?"""
    satisfied: list[list[Any]] = []
    for event, ids in zip(events, found, strict=True):
        if time.monotonic() > ends:
            raise TooSlow("the filters of those who listen take too long; send fewer events at once")
        satisfied.append(live.satisfied(event) if ids else [])
    return satisfied


def best(index: Index, asked: models.TopK) -> list[dict[str, Any]]:
    found = index.top_k(asked.event, asked.k, relaxed=asked.relaxed, weights=asked.weights, where=asked.where)
    return [{"id": id_, "score": _finite(score)} for id_, score in found]


def _finite(score: float) -> float | None:
    """JSON has no infinity."""
    return score if isfinite(score) else None


def stats(tenant: Tenant) -> dict[str, Any]:
    """What there is to say of a tenant."""
    index, metrics = tenant.index, tenant.metrics
    said = index.inspect.get_stats()
    return {
        "subscriptions": len(index),
        "events": metrics.total("tellwhen_events_total"),
        "matches": metrics.total("tellwhen_matches_total"),
        "latency": metrics.latency(),
        "plan": str(index.inspect.describe_engine()),
        "heaviest": [one._asdict() for one in index.inspect.find_costly_predicates(10)],
        "listeners": len(tenant.live),
        "lost": tenant.live.lost,
        "bytes": said["bytes"],
        "mismatches": said["mismatches"],
        "unseen": said["unseen"],
        "journal_bytes": tenant.kept.journal_bytes,
        "failure": tenant.kept.failure,
    }


# expressions


def checked_expression(expression: Any, limits: Limits) -> Any:
    """An expression of limited size, still as it was given."""
    length = len(expression) if isinstance(expression, str) else len(json.dumps(expression))
    if length > limits.expression:
        raise TooLarge(f"an expression has at most {limits.expression:,} characters, not {length:,}")
    return expression


def alone(index: Index, expression: Any, limits: Limits) -> Index:
    """An index of one expression. What is wrong with it is said first, without the id that it has there."""
    expr, _ = read_expression(checked_expression(expression, limits))
    index.schema.check(expr)
    return Index(schema=index.schema).add(0, expression)


def explained(index: Index, asked: models.Explain, limits: Limits, ends: float) -> dict[str, Any]:
    if (asked.id is None) == (asked.expression is None):
        raise MalformedRequest("explain takes an id, or an expression")

    def look() -> None:
        if time.monotonic() > ends:
            raise TooSlow("to explain this takes too long")

    expression = index[asked.id] if asked.id is not None else alone(index, asked.expression, limits)[0]
    found = explain_expression(expression, index.schema.read_event(flatten(asked.event)), look)
    return {"value": found.value, "tree": _reason(found), "text": str(found)}


def _reason(found: Explanation) -> dict[str, Any]:
    parts = [_reason(part) for part in found.parts]
    return {"label": found.label, "value": found.value, "note": found.note, "parts": parts}


def validated(tenant: Tenant, expression: Any, limits: Limits) -> dict[str, Any]:
    """Is it an expression, and is it probably meant?"""
    index = tenant.index
    try:
        one = alone(index, expression, limits)
    except TellwhenError as error:
        told = {"message": getattr(error, "message", str(error)), "position": getattr(error, "position", None)}
        return {"ok": False, "error": told, "hints": [], "attributes": [], "text": None}
    known = (*index.inspect.get_attributes(), *(name for event in list(tenant.recent) for name in flatten(event)))
    hints = [finding.reason for finding in validate({0: expression}, index.schema, attributes=known).findings]
    # Events come as JSON, which has no times.
    times = [name for name, type_ in one.attributes.items() if type_ == "time" and name not in index.schema.types]
    hints += [f"{name} is compared with a time, and not declared as one: no text in JSON is one" for name in times]
    return {
        "ok": True,
        "error": None,
        "hints": hints,
        "attributes": list(list_event_attributes(one[0])),
        "text": str(one[0]),
    }


def tried(tenant: Tenant, expression: Any, limits: Limits) -> dict[str, Any]:
    """How many recent events would have matched?"""
    one = alone(tenant.index, expression, limits)
    events = list(tenant.recent)
    found = one.match_many(events).column("event_id").to_pylist() if events else []
    examples = [events[number] for number in sorted(found)[-EXAMPLES_MAX:]]
    return {"events": len(events), "matches": len(found), "examples": examples}


# subscriptions


def shown(subscription: Subscription) -> dict[str, Any]:
    """Return a subscription as the bodies of responses have it."""
    fields = subscription._asdict()
    return fields | {"score": _finite(fields["score"])}
