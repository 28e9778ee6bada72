"""Content of the responses about events and expressions."""

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
from tellwhen.service.json_output import encode_json
from tellwhen.service.listeners import SUBSCRIBER_FIELD, ListenerRegistry, group_by_subscriber
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import Tenant

DRY_RUN_EXAMPLES_MAX = 10
COSTLY_PREDICATES_MAX = 10


def match_event(index: Index, request: models.PublishRequest) -> tuple[list[Any], float]:
    """Return the ids of an event's matches, and the seconds that matching took."""
    begin = time.perf_counter()
    ids = index.match(request.event, where=request.where)
    return ids, time.perf_counter() - begin


def group_ids_by_subscriber(index: Index, ids: list[Any]) -> dict[str, list[Any]]:
    """Return the ids of each subscriber that the payloads name."""
    return group_by_subscriber(ids, index.get_payload_values(SUBSCRIBER_FIELD, ids))


def publish_matches(
    tenant: Tenant,
    event: dict[str, Any],
    ids: list[Any],
    ids_by_subscriber: Mapping[str, list[Any]],
    satisfied_filters: list[Any],
    is_remembered: bool,
) -> None:
    """Count an event, remember it for dry runs, and send its matches to listeners. Call this only in the event loop."""
    tenant.metrics.events.inc()
    tenant.metrics.matches.inc(len(ids))
    if is_remembered:
        tenant.recent_events.append(event)
    tenant.listeners.deliver(event, ids, ids_by_subscriber, satisfied_filters)


def build_matches(index: Index, request: models.PublishRequest, ids: list[Any], limits: Limits) -> dict[str, Any]:
    """Return the response to an event: the number of its matches, and those within the limits."""
    matches_max = limits.payloads if request.payload else limits.results
    if request.limit is not None:
        matches_max = min(request.limit, matches_max)
    matches = ids[:matches_max]
    if request.payload:
        matches = list(_iter_matches_with_payloads(index, matches, limits.payload_bytes))
    return {"count": len(ids), "matches": matches, "truncated": len(ids) > len(matches)}


def _iter_matches_with_payloads(index: Index, ids: list[Any], bytes_left: int) -> Iterator[dict[str, Any]]:
    """Yield ids with their payloads until the payloads exceed `bytes_left`."""
    for id_ in ids:
        payload = _get_payload(index, id_)
        bytes_left -= len(encode_json(payload))
        if bytes_left < 0:
            return
        yield {"id": id_, "payload": payload}


def _get_payload(index: Index, id_: Any) -> dict[str, Any]:
    try:
        return index.get_payload(id_)
    except UnknownId:  # removed after the event was matched
        return {}


def match_events(index: Index, request: models.PublishManyRequest, limits: Limits, deadline: float) -> list[list[Any]]:
    """Return the ids of each event's matches."""
    if len(request.events) > limits.events:
        raise TooLarge(f"a request has at most {limits.events:,} events, not {len(request.events):,}")
    matches: list[list[Any]] = [[] for _ in request.events]
    count = 0
    for batch in index.match_batches(request.events, where=request.where):
        count += len(batch)
        if count > limits.results:
            raise TooLarge(f"the events have more than {limits.results:,} matches; send fewer events at once")
        if time.monotonic() > deadline:
            raise TooSlow("matching took too long; send fewer events at once")
        for event, id_ in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            matches[event].append(id_)
    return matches


def match_filters(
    listeners: ListenerRegistry, events: list[dict[str, Any]], matches: list[list[Any]], deadline: float
) -> list[list[Any]]:
    """Return the numbers of the listeners' filters that each event satisfies; skip events without matches."""
    satisfied: list[list[Any]] = []
    for event, ids in zip(events, matches, strict=True):
        if time.monotonic() > deadline:
            raise TooSlow("testing the filters of listeners took too long; send fewer events at once")
        satisfied.append(listeners.match_filters(event) if ids else [])
    return satisfied


def rank_matches(index: Index, request: models.TopKRequest) -> list[dict[str, Any]]:
    """Return the matches of an event with the highest scores."""
    ranking = index.top_k(
        request.event, request.k, relaxed=request.relaxed, weights=request.weights, where=request.where
    )
    return [{"id": id_, "score": _replace_infinity(score)} for id_, score in ranking]


def _replace_infinity(score: float) -> float | None:
    """Return None for an infinite score, because JSON has no infinity."""
    return score if isfinite(score) else None


def collect_stats(tenant: Tenant) -> dict[str, Any]:
    """Return the figures of a tenant that the console shows."""
    index, metrics = tenant.index, tenant.metrics
    stats = index.inspect.get_stats()
    return {
        "subscriptions": len(index),
        "events": metrics.get_total("tellwhen_events_total"),
        "matches": metrics.get_total("tellwhen_matches_total"),
        "latency": metrics.get_latency_histogram(),
        "plan": str(index.inspect.describe_engine()),
        "heaviest": [cost._asdict() for cost in index.inspect.find_costly_predicates(COSTLY_PREDICATES_MAX)],
        "listeners": len(tenant.listeners),
        "lost": tenant.listeners.lost_messages,
        "bytes": stats["bytes"],
        "mismatches": stats["mismatches"],
        "unseen": stats["unseen"],
        "journal_bytes": tenant.storage.journal_bytes,
        "failure": tenant.storage.failure,
    }


# expressions


def check_expression_length(expression: Any, limits: Limits) -> None:
    """Raise `TooLarge` if an expression, as text or JSON, has too many characters."""
    length = len(expression) if isinstance(expression, str) else len(json.dumps(expression))
    if length > limits.expression:
        raise TooLarge(f"an expression has at most {limits.expression:,} characters, not {length:,}")


def build_single_index(index: Index, expression: Any, limits: Limits) -> Index:
    """Return an index of only this expression, with the schema of another index.

    The expression is checked before it gets an id, because an error must not name an id that the user did not choose.
    """
    check_expression_length(expression, limits)
    expr, _ = read_expression(expression)
    index.schema.check(expr)
    return Index(schema=index.schema).add(0, expression)


def explain(index: Index, request: models.ExplainRequest, limits: Limits, deadline: float) -> dict[str, Any]:
    """Explain why an event satisfies a subscription or an expression, or why it does not."""
    if (request.id is None) == (request.expression is None):
        raise MalformedRequest("explain takes either an id or an expression")

    def check_deadline() -> None:
        if time.monotonic() > deadline:
            raise TooSlow("explaining this expression took too long; explain a part of it")

    if request.id is not None:
        expression = index[request.id]
    else:
        expression = build_single_index(index, request.expression, limits)[0]
    explanation = explain_expression(expression, index.schema.read_event(flatten(request.event)), check_deadline)
    return {"value": explanation.value, "tree": _build_tree(explanation), "text": str(explanation)}


def _build_tree(explanation: Explanation) -> dict[str, Any]:
    parts = [_build_tree(part) for part in explanation.parts]
    return {"label": explanation.label, "value": explanation.value, "note": explanation.note, "parts": parts}


def validate_expression(tenant: Tenant, expression: Any, limits: Limits) -> dict[str, Any]:
    """Return the error of an expression, or hints at probable mistakes."""
    index = tenant.index
    try:
        single = build_single_index(index, expression, limits)
    except TellwhenError as error:
        fault = {"message": getattr(error, "message", str(error)), "position": getattr(error, "position", None)}
        return {"ok": False, "error": fault, "hints": [], "attributes": [], "text": None}
    event_attributes = (name for event in list(tenant.recent_events) for name in flatten(event))
    attributes = (*index.inspect.get_attributes(), *event_attributes)
    hints = [finding.reason for finding in validate({0: expression}, index.schema, attributes=attributes).findings]
    hints += [
        f"{name} is compared with a time, but JSON has no times; declare {name} as a date or timestamp in the schema"
        for name, type_ in single.inspect.get_attributes().items()
        if type_ == "time" and name not in index.schema.types
    ]
    return {
        "ok": True,
        "error": None,
        "hints": hints,
        "attributes": list(list_event_attributes(single[0])),
        "text": str(single[0]),
    }


def dry_run(tenant: Tenant, expression: Any, limits: Limits) -> dict[str, Any]:
    """Count the recent events that an expression would have matched."""
    single = build_single_index(tenant.index, expression, limits)
    events = list(tenant.recent_events)
    matching = single.match_many(events).column("event_id").to_pylist() if events else []
    examples = [events[number] for number in sorted(matching)[-DRY_RUN_EXAMPLES_MAX:]]
    return {"events": len(events), "matches": len(matching), "examples": examples}


# subscriptions


def describe_subscription(subscription: Subscription) -> dict[str, Any]:
    """Return a subscription with the fields that responses have."""
    fields = subscription._asdict()
    return fields | {"score": _replace_infinity(fields["score"])}
