"""Which calls are there, and what do they send? Written once; `send` is given by those who carry them out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from tellwhen.errors import ArgumentError, EventError, ExpressionError, IdError, ScoreError, abbreviate
from tellwhen.index.subscriptions import Rejected, iter_subscriptions

Id = str | int
FIELDS = ("id", "expression", "score", "weights", "payload")


class Call(NamedTuple):
    """A request, and what its answer means."""

    method: str
    path: str
    read: Callable[[Any], Any]
    body: Any = None
    query: Mapping[str, Any] = {}

    @property
    def options(self) -> dict[str, Any]:
        """What `httpx2` is given beside the method and the path."""
        if self.body is None:
            return {"params": dict(self.query)}
        try:
            content = json.dumps(self.body, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(
                f"only what JSON has can be sent: {error}. A date is sent as text, such as 2026-01-15; it is one where "
                "the service was started with a --schema that says so"
            ) from None
        return {"params": dict(self.query), "content": content, "headers": {"content-type": "application/json"}}


def _id_type(id_: Id) -> str:
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise IdError(f"an id is a string or an integer, not {abbreviate(id_)}")
    return "int" if isinstance(id_, int) else "str"


def _one(id_: Id) -> tuple[str, dict[str, str]]:
    """The address of a subscription."""
    if id_ in ("", ".", ".."):
        raise IdError(f"the id {id_!r} cannot stand in an address; add_many and remove_many take it")
    kind = _id_type(id_)
    try:
        return f"/v1/subscriptions/{quote(str(id_), safe='')}", {"id_type": kind}
    except UnicodeEncodeError:
        raise IdError(f"the id {abbreviate(id_)} holds a lone surrogate") from None


def _row(given: Any) -> dict[str, Any]:
    """A subscription, as a mapping of fields or a tuple of an id, an expression, a score, weights and a payload."""
    if not isinstance(given, Mapping) and not (isinstance(given, tuple | list) and 2 <= len(given) <= len(FIELDS)):
        raise ExpressionError(
            f"a subscription is a tuple of {', '.join(FIELDS)}, or a dict of them, not {abbreviate(given)}"
        )
    named = dict(given) if isinstance(given, Mapping) else dict(zip(FIELDS, given, strict=False))
    found = {name: value for name, value in named.items() if value is not None}
    expression = found.get("expression")
    if expression is not None and not isinstance(expression, str | Mapping):
        found["expression"] = str(expression)  # made with col()
    return found


def _rejected(answer: Any) -> list[Rejected]:
    return [Rejected(**one) for one in answer["rejected"]]


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(event, Mapping):
        raise EventError(f"an event is a mapping from attributes to values, not {abbreviate(event)}")
    strange = next((name for name in event if not isinstance(name, str)), "")
    if strange != "":
        raise EventError(f"the name of an attribute is a string, not {abbreviate(strange)}")
    return dict(event)


class Sends(Protocol):
    def _send(self, call: Call) -> Any: ...


class Calls(Sends):
    """What a service may be asked. All ids are strings or integers; a client of threads returns answers, one with
    `await` returns what is awaited."""

    # changing

    def add(
        self,
        id: Id,
        expression: Any,
        *,
        score: float | None = None,
        weights: Mapping[str, float] | None = None,
        payload: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Any:
        """Add a subscription. When this returns, it is on the disk of the service."""
        return self._send(_adding([(id, expression, score, weights, payload)], replace, "raise", lambda answer: None))

    def add_many(self, subscriptions: Any, *, replace: bool = False, errors: str = "raise") -> Any:
        """Add many, all or none; with `errors="quarantine"` all good ones, and the others are returned.

        They are a mapping from ids to expressions, tuples as `Index.add_many` takes them, or mappings of `id`,
        `expression`, `score`, `weights` and `payload`.
        """
        return self._send(_adding(iter_subscriptions(subscriptions), replace, errors, _rejected))

    def set_score(self, id: Id, score: float) -> Any:
        """Change what a subscription is worth."""
        return self.set_scores({id: score})

    def set_scores(self, scores: Mapping[Id, float], *, missing: str = "raise") -> Any:
        """Change many scores at once; returns how many."""
        if not isinstance(scores, Mapping):
            raise ScoreError(f"set_scores takes a mapping from ids to scores, not {abbreviate(scores)}")
        body = {"scores": [{"id": id_, "score": score} for id_, score in scores.items()], "missing": missing}
        return self._send(Call("POST", "/v1/scores", lambda answer: answer["scored"], body))

    def remove(self, id: Id) -> Any:
        """Remove a subscription."""
        path, query = _one(id)
        return self._send(Call("DELETE", path, lambda answer: None, query=query))

    def remove_many(self, ids: Iterable[Id], *, missing: str = "raise") -> Any:
        """Remove many, all or none; returns how many."""
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise IdError(f"remove_many takes ids, not {abbreviate(ids)}; remove() takes one")
        body = {"ids": list(ids), "missing": missing}
        return self._send(Call("POST", "/v1/subscriptions/remove", lambda answer: answer["removed"], body))

    def discard(self, id: Id) -> Any:
        """Remove a subscription if there is one of that id."""
        return self.remove_many([id], missing="ignore")

    # events

    def publish(
        self, event: Mapping[str, Any], *, where: Mapping[str, Any] | None = None, payload: bool = False
    ) -> Any:
        """The ids of what an event matches, or pairs of an id and its payload. Those who listen are told."""
        return self._send(_asking("/v1/publish", event, where, payload))

    def match(self, event: Mapping[str, Any], *, where: Mapping[str, Any] | None = None, payload: bool = False) -> Any:
        """The same, but nobody is told."""
        return self._send(_asking("/v1/match", event, where, payload))

    def count(self, event: Mapping[str, Any], *, where: Mapping[str, Any] | None = None) -> Any:
        """How many subscriptions an event matches."""
        body = {"event": _event(event), "where": where, "limit": 0}
        return self._send(Call("POST", "/v1/match", lambda answer: answer["count"], body))

    def publish_many(self, events: Iterable[Mapping[str, Any]], *, where: Mapping[str, Any] | None = None) -> Any:
        """For each of many events, the ids of what it matches. Those who listen are told."""
        body = {"events": [_event(event) for event in events], "where": where}
        return self._send(Call("POST", "/v1/publish/many", lambda answer: answer["matches"], body))

    def top_k(
        self,
        event: Mapping[str, Any],
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Any:
        """The k best matches, as pairs of an id and its score."""
        body = {"event": _event(event), "k": k, "relaxed": relaxed, "weights": weights, "where": where}
        read = lambda answer: [(one["id"], one["score"]) for one in answer["matches"]]  # noqa: E731
        return self._send(Call("POST", "/v1/top-k", read, body))

    # asking

    def explain(self, id: Id, event: Mapping[str, Any]) -> Any:
        """Why the event matches, or why not: a dict of its `value`, a `tree` and a `text` to print."""
        body = {"id": id, "event": _event(event)}
        return self._send(Call("POST", "/v1/explain", _whole, body))

    def validate(self, expression: Any) -> Any:
        """Is it an expression, and is it probably meant?"""
        return self._send(Call("POST", "/v1/validate", _whole, {"expression": _text(expression)}))

    def dry_run(self, expression: Any) -> Any:
        """How many of the events that were published last would have matched?"""
        return self._send(Call("POST", "/v1/dry-run", _whole, {"expression": _text(expression)}))

    def get(self, id: Id) -> Any:
        """A subscription: its expression, score, weights and payload."""
        path, query = _one(id)
        return self._send(Call("GET", path, _whole, query=query))

    def page(
        self,
        *,
        text: str | None = None,
        mentions: str | None = None,
        constant: Any = None,
        subscriber: str | int | None = None,
        start: Id | None = None,
        limit: int = 50,
    ) -> Any:
        """Some subscriptions, and as `next` an opaque cursor to `start` the next page with, None at the end."""
        said = json.dumps(constant) if isinstance(constant, str) else constant  # '5' is text, and 5 a number
        given = {"text": text, "mentions": mentions, "constant": said, "subscriber": subscriber, "start": start}
        query: dict[str, Any] = {"limit": limit} | {name: value for name, value in given.items() if value is not None}
        if isinstance(start, int):
            query["id_type"] = _id_type(start)
        return self._send(Call("GET", "/v1/subscriptions", _whole, query=query))

    def stats(self) -> Any:
        """Counts, times, the plan and the heaviest predicates."""
        return self._send(Call("GET", "/v1/stats", _whole))

    def about(self) -> Any:
        """What is served, and what the key may do."""
        return self._send(Call("GET", "/v1", _whole))

    def attributes(self) -> Any:
        """The attributes that subscriptions ask for, with their types."""
        return self._send(Call("GET", "/v1/attributes", _whole))


def listening(subscriber: Any, ids: Iterable[Id], wanted: str | None) -> Call:
    """The request of one who listens."""
    named = list(ids)
    types = {_id_type(id_) for id_ in named}
    if len(types) > 1:
        raise IdError("ids to listen to are all strings, or all integers")
    query: dict[str, Any] = {"id": [str(id_) for id_ in named], "id_type": next(iter(types), "str")}
    if subscriber is not None:
        query["subscriber"] = str(subscriber)
    if wanted is not None:
        query["filter"] = wanted
    try:
        str(query).encode()
    except UnicodeEncodeError:
        raise ArgumentError("what stands in an address cannot hold a lone surrogate") from None
    return Call("GET", "/v1/live", _whole, query=query)


def _whole(answer: Any) -> Any:
    return answer


def _text(expression: Any) -> Any:
    return expression if isinstance(expression, str | Mapping) else str(expression)


def _adding(rows: Iterable[Any], replace: bool, errors: str, read: Callable[[Any], Any]) -> Call:
    body = {"subscriptions": [_row(row) for row in rows], "replace": replace, "errors": errors}
    return Call("POST", "/v1/subscriptions", read, body)


def _asking(path: str, event: Mapping[str, Any], where: Mapping[str, Any] | None, payload: bool) -> Call:
    def read(answer: Any) -> Any:
        if answer["truncated"]:
            raise ArgumentError(
                f"the event matches {answer['count']:,} subscriptions, more than the service shows at once; "
                "narrow it with where, or ask for the best with top_k"
            )
        return [(one["id"], one["payload"]) for one in answer["matches"]] if payload else answer["matches"]

    body = {"event": _event(event), "where": where, "payload": payload}
    return Call("POST", path, read, body)
