"""The requests that a client sends, each defined once for the blocking and the async client."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tellwhen.client import deprecated_members
from tellwhen.client.pages import SubscriptionPage
from tellwhen.compile.scores import parse_score, parse_weights
from tellwhen.engines.shared.top_k import validate_k
from tellwhen.errors import ArgumentError, EventError, ExpressionError, IdError, ScoreError, TellwhenError, abbreviate
from tellwhen.index.ids import validate_id, validate_missing
from tellwhen.index.payloads import Where, encode_payload, validate_where
from tellwhen.index.subscriptions import Rejected, Subscription, iter_subscriptions, read_subscription
from tellwhen.language.ast import Expr
from tellwhen.language.reading import read_expression

Id = str | int
FIELDS = Subscription._fields
"""The fields of a subscription, in the order of a tuple."""

SUBSCRIPTIONS_PER_PAGE_MAX = 1_000
"""The service refuses a larger `limit` of a page."""


class Call(NamedTuple):
    """A request, and the function that converts its JSON answer to the result of the call."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, Any] = {}
    convert: Callable[[Any], Any] | None = None
    """None: the answer is the result."""

    @property
    def http_options(self) -> dict[str, Any]:
        """Arguments of `httpx2.Client.request` besides the method and the path."""
        if self.body is None:
            return {"params": dict(self.query)}
        try:
            content = json.dumps(self.body, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(
                f"expected values that JSON can represent: {error}{_suggest_json_value(str(error))}"
            ) from None
        return {"params": dict(self.query), "content": content, "headers": {"content-type": "application/json"}}


def _suggest_json_value(error: str) -> str:
    """Return what to send in place of the value that an error of `json.dumps` is about."""
    if "float" in error:
        return "; send None instead of NaN or an infinity"
    if " set " in error or " frozenset " in error:
        return "; send a list instead of a set"
    if " date " in error or " datetime " in error:
        return (
            "; send a date as text, such as 2026-01-15, and start the service with a --schema that declares its "
            "attribute as a date"
        )
    return ""


class ClientMethods(deprecated_members.DeprecatedMembers, ABC):
    """The methods that `Client` and `AsyncClient` share: all but those that iterate.

    `Client._send` returns the result of a call, and `AsyncClient._send` returns an awaitable of it. The annotation of
    both is Any.
    """

    @abstractmethod
    def _send(self, call: Call) -> Any: ...

    # Changes

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
        """Add a subscription. When the call returns, the service has written it to disk.

        Parameters
        ----------
        id : str or int
            The id that matches return. It must not be empty, `.` or `..`, which cannot be part of a URL.
        expression : str, Expr or mapping
            Text, an expression made with `col`, or its JSON form.
        score : float, optional
            The number that `top_k` ranks by; 0 by default.
        weights : mapping of str to float, optional
            Weights of attributes, by which `top_k(relaxed=True)` ranks; 1 by default.
        payload : mapping, optional
            A JSON object that is returned with matches and by which matches can be filtered. Its `subscriber` is the
            one for whom `listen` yields the matches.
        replace : bool, default False
            Whether to replace a subscription of the same id.

        Raises
        ------
        ParseError
            If the text is not an expression.
        DuplicateId
            If a subscription has this id, unless `replace`.
        IdError
            If the id is invalid, or cannot be part of a URL.
        """
        return self._send(_build_add_call([(id, expression, score, weights, payload)], replace))

    def add_many(self, subscriptions: Any, *, replace: bool = False, errors: str = "raise") -> Any:
        """Add many subscriptions at once: all of them, or none if one is faulty. They become visible together.

        Parameters
        ----------
        subscriptions
            A mapping of ids to expressions; tuples of an id and an expression, which a score, weights and a payload may
            follow; mappings with these keys; or a table (Arrow, pandas or polars) with columns of these names.
        replace : bool, default False
            Whether to replace subscriptions of the same ids.
        errors : str
            Deprecated: use `add_valid`.

        Raises
        ------
        ParseError
            If a text is not an expression.
        DuplicateId
            If an id occurs twice, or a subscription has this id and `replace` is False.
        IdError
            If an id is invalid, or cannot be part of a URL: it is empty, `.` or `..`.
        """
        if errors != "raise":
            return deprecated_members.add_many_with_errors_argument(self, subscriptions, replace, errors)
        return self._send(_build_add_call(iter_subscriptions(subscriptions), replace))

    def add_valid(self, subscriptions: Any, *, replace: bool = False) -> Any:
        """Add the valid ones of many subscriptions. They become visible together.

        Parameters
        ----------
        subscriptions
            Subscriptions in any form that `add_many` takes.
        replace : bool, default False
            Whether to replace subscriptions of the same ids.

        Returns
        -------
        list of Rejected
            The faulty subscriptions, each with its id, the reason, and the position of an error in its text. Those
            that the client refuses, such as those with an invalid id, come before those that the service refuses.
        """
        return self._send(_build_add_valid_call(iter_subscriptions(subscriptions), replace))

    def set_score(self, id: Id, score: float) -> Any:
        """Set the score of a subscription.

        Returns
        -------
        int
            1, the number of scores that were set.

        Raises
        ------
        UnknownId
            If no subscription has this id.
        """
        return self.set_scores({id: score})

    def set_scores(self, scores: Mapping[Id, float], *, missing: str = "raise") -> Any:
        """Set many scores at once. They become visible together.

        Parameters
        ----------
        scores : mapping of id to float
            The new scores.
        missing : {"raise", "ignore"}, default "raise"
            Whether an unknown id raises UnknownId, and no score is set, or is passed over.

        Returns
        -------
        int
            The number of scores that were set.
        """
        validate_missing(missing)
        if not isinstance(scores, Mapping):
            raise ScoreError(f"set_scores takes a mapping from ids to scores, not {abbreviate(scores)}")
        body = {"scores": [_convert_score(id_, score) for id_, score in scores.items()], "missing": missing}
        return self._send(Call("POST", "/v1/scores", body, convert=lambda answer: answer["scored"]))

    def remove(self, id: Id) -> Any:
        """Remove a subscription.

        Raises
        ------
        UnknownId
            If no subscription has this id.
        IdError
            If the id cannot be part of a URL: it is empty, `.` or `..`. `remove_many` takes these ids.
        """
        path, query = _locate_subscription(id)
        return self._send(Call("DELETE", path, query=query, convert=_return_none))

    def remove_many(self, ids: Iterable[Id], *, missing: str = "raise") -> Any:
        """Remove many subscriptions at once.

        Parameters
        ----------
        ids : iterable of id
            The ids of the subscriptions.
        missing : {"raise", "ignore"}, default "raise"
            Whether an unknown id raises UnknownId, and nothing is removed, or is passed over.

        Returns
        -------
        int
            The number of subscriptions that were removed.
        """
        validate_missing(missing)
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise IdError(f"remove_many takes ids, not {abbreviate(ids)}; remove() takes one")
        body = {"ids": [validate_id(id_) for id_ in ids], "missing": missing}
        return self._send(Call("POST", "/v1/subscriptions/remove", body, convert=lambda answer: answer["removed"]))

    def discard(self, id: Id) -> Any:
        """Remove the subscription of this id, if it exists.

        Returns
        -------
        int
            The number of subscriptions that were removed: 1 or 0.
        """
        return self.remove_many([id], missing="ignore")

    # Events

    def publish(self, event: Mapping[str, Any] | str, *, where: Where = None, payload: bool = False) -> Any:
        """Match an event, and send its matches to all listeners.

        Parameters
        ----------
        event : mapping of str to value, or str
            The attributes of the event, with values that JSON can represent; or predicates joined by AND, as text.
        where : str, Expr or mapping, optional
            Match only subscriptions whose payloads satisfy this expression. A mapping asks for values: by key a value,
            or a list of values of which the payload must have one.
        payload : bool
            Deprecated: use `publish_with_payloads`.

        Returns
        -------
        list of id
            The ids of the matching subscriptions, in the order in which the subscriptions were added.

        Raises
        ------
        ArgumentError
            If the event matches more subscriptions than the service returns in one answer.
        """
        if payload:
            return deprecated_members.publish_with_payload_argument(self, event, where)
        return self._send(_build_match_call("/v1/publish", event, where, _read_matches))

    def publish_with_payloads(self, event: Mapping[str, Any] | str, *, where: Where = None) -> Any:
        """Match an event, send its matches to all listeners, and return the payloads, too.

        Parameters
        ----------
        event, where
            As in `publish`.

        Returns
        -------
        list of (id, dict)
            The ids and payloads of the matching subscriptions, in the order in which the subscriptions were added.

        Raises
        ------
        ArgumentError
            If the event matches more subscriptions than the service returns in one answer.
        """
        return self._send(_build_match_call("/v1/publish", event, where, _read_payloads))

    def match(self, event: Mapping[str, Any] | str, *, where: Where = None, payload: bool = False) -> Any:
        """Match an event without sending its matches to listeners.

        Parameters
        ----------
        event, where
            As in `publish`.
        payload : bool
            Deprecated: use `match_with_payloads`.

        Returns
        -------
        list of id
            The ids of the matching subscriptions, in the order in which the subscriptions were added.

        Raises
        ------
        ArgumentError
            If the event matches more subscriptions than the service returns in one answer.
        """
        if payload:
            return deprecated_members.match_with_payload_argument(self, event, where)
        return self._send(_build_match_call("/v1/match", event, where, _read_matches))

    def match_with_payloads(self, event: Mapping[str, Any] | str, *, where: Where = None) -> Any:
        """Match an event without sending its matches to listeners, and return the payloads, too.

        Parameters
        ----------
        event, where
            As in `publish`.

        Returns
        -------
        list of (id, dict)
            The ids and payloads of the matching subscriptions, in the order in which the subscriptions were added.

        Raises
        ------
        ArgumentError
            If the event matches more subscriptions than the service returns in one answer.
        """
        return self._send(_build_match_call("/v1/match", event, where, _read_payloads))

    def count(self, event: Mapping[str, Any] | str, *, where: Where = None) -> Any:
        """Count the subscriptions that match an event, without sending the matches to listeners.

        Parameters
        ----------
        event, where
            As in `publish`.

        Returns
        -------
        int
            The number of matching subscriptions.
        """
        body = {"event": _validate_event(event), "where": _encode_where(where), "limit": 0}
        return self._send(Call("POST", "/v1/match", body, convert=lambda answer: answer["count"]))

    def publish_many(self, events: Iterable[Mapping[str, Any]], *, where: Where = None) -> Any:
        """Match many events, and send their matches to all listeners.

        Parameters
        ----------
        events : iterable of mapping
            The events.
        where : str, Expr or mapping, optional
            As in `publish`.

        Returns
        -------
        list of list of id
            For each event, the ids of the matching subscriptions.
        """
        body = {"events": [_validate_event(event) for event in events], "where": _encode_where(where)}
        return self._send(Call("POST", "/v1/publish/many", body, convert=lambda answer: answer["matches"]))

    def top_k(
        self,
        event: Mapping[str, Any] | str,
        k: int = 10,
        *,
        relaxed: bool = False,
        weights: Mapping[str, float] | None = None,
        where: Where = None,
    ) -> Any:
        """Return the k subscriptions with the highest scores among those that match an event.

        Parameters
        ----------
        event, where
            As in `publish`.
        k : int, default 10
            The number of subscriptions.
        relaxed : bool, default False
            Rank by weights, where not all of a subscription need be true. See `Index.top_k`.
        weights : mapping of str to float, optional
            Weights of the event: they multiply the weights of the same attributes. See `Index.top_k`.

        Returns
        -------
        list of (id, float)
            Ids with scores, the highest score first. An infinite score is None.
        """
        body = {
            "event": _validate_event(event), "k": validate_k(k), "relaxed": relaxed, "weights": parse_weights(weights),
            "where": _encode_where(where),
        }  # fmt: skip
        return self._send(Call("POST", "/v1/top-k", body, convert=_read_scores))

    # Questions

    def explain(self, id: Id, event: Mapping[str, Any]) -> Any:
        """Explain why a subscription matches an event, or why it does not.

        Parameters
        ----------
        id : str or int
            The id of the subscription.
        event : mapping of str to value
            The attributes of the event.

        Returns
        -------
        dict
            `value` is True, False, or None if undefined; `tree` has the value of every part of the expression; `text`
            is the same as text to print.
        """
        return self._send(Call("POST", "/v1/explain", {"id": validate_id(id), "event": _validate_event(event)}))

    def validate(self, expression: Any) -> Any:
        """Check an expression without adding it.

        Parameters
        ----------
        expression : str, Expr or mapping
            Text, an expression made with `col`, or its JSON form.

        Returns
        -------
        dict
            `ok` is whether it is a valid expression; `error` has the message and the position of an error; `hints`
            name what is probably a mistake, such as an unknown attribute; `attributes` are the attributes it tests;
            `text` is the expression as the service understands it.
        """
        return self._send(Call("POST", "/v1/validate", {"expression": _format_expression(expression)}))

    def dry_run(self, expression: Any) -> Any:
        """Match an expression with the events that were published last.

        Parameters
        ----------
        expression : str, Expr or mapping
            Text, an expression made with `col`, or its JSON form.

        Returns
        -------
        dict
            The number of `events`, the number of `matches` among them, and `examples` of matching events.
        """
        return self._send(Call("POST", "/v1/dry-run", {"expression": _format_expression(expression)}))

    def get_subscription(self, id: Id) -> Any:
        """Return a subscription with its expression, score, weights and payload.

        Parameters
        ----------
        id : str or int
            The id of the subscription.

        Returns
        -------
        Subscription
            The record that `Index.get_subscription` returns. An infinite score is None.

        Raises
        ------
        UnknownId
            If no subscription has this id.
        IdError
            If the id cannot be part of a URL: it is empty, `.` or `..`.
        """
        path, query = _locate_subscription(id)
        return self._send(Call("GET", path, query=query, convert=_read_subscription))

    def list_subscriptions(
        self,
        *,
        text: str | None = None,
        mentions: str | None = None,
        constant: Any = None,
        subscriber: str | int | None = None,
        start: Id | None = None,
        limit: int = 50,
    ) -> Any:
        """List or search subscriptions page by page, in the order in which their ids were first added.

        Parameters
        ----------
        text : str, optional
            Text that occurs in the expression or the id.
        mentions : str, optional
            An attribute that the expression tests.
        constant : str, int, float or bool, optional
            A constant of the expression. The number 5 and the text "5" are different constants.
        subscriber : str or int, optional
            The `subscriber` in the payload.
        start : str or int, optional
            The `next` of the page before, or the id of the first subscription to list.
        limit : int, default 50
            The maximum number of subscriptions, at most 1,000.

        Returns
        -------
        SubscriptionPage
            The `subscriptions`, and `next`, an opaque cursor to pass as `start`; None on the last page.

        Raises
        ------
        ArgumentError
            If `limit` is not a whole number from 1 to 1,000.
        UnknownId
            If no subscription has the id `start`.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= SUBSCRIPTIONS_PER_PAGE_MAX:
            raise ArgumentError(
                f"limit must be a whole number from 1 to {SUBSCRIPTIONS_PER_PAGE_MAX:,}, not {abbreviate(limit)}"
            )
        json_constant = json.dumps(constant) if isinstance(constant, str) else constant  # text stays text: "5"
        conditions = {
            "text": text, "mentions": mentions, "constant": json_constant, "subscriber": subscriber, "start": start,
        }  # fmt: skip
        query: dict[str, Any] = {"limit": limit}
        query |= {name: value for name, value in conditions.items() if value is not None}
        if isinstance(start, int):
            query["id_type"] = _get_id_type(start)
        return self._send(Call("GET", "/v1/subscriptions", query=query, convert=_read_page))

    def get_stats(self) -> Any:
        """Return figures of the service.

        Returns
        -------
        dict
            Counts of `subscriptions`, `events`, `matches` and `listeners`, the histogram of `latency`, the `heaviest`
            predicates, `bytes` of memory, and more. The HTTP reference describes all keys.
        """
        return self._send(Call("GET", "/v1/stats"))

    def get_service_info(self) -> Any:
        """Return a description of the service and of the rights of the key.

        Returns
        -------
        dict
            The `version` of tellwhen, the `tenant` and the `roles` of the key, the number of `subscriptions`, the
            `schema`, whether `changes` are allowed, and the `index_version` of an index that was built on Spark.
        """
        return self._send(Call("GET", "/v1"))

    def get_attributes(self) -> Any:
        """Return the attributes that subscriptions test.

        Returns
        -------
        dict of str to str
            The type of each attribute, by name.
        """
        return self._send(Call("GET", "/v1/attributes"))


def build_listen_call(subscriber: Any, ids: Iterable[Id], event_filter: str | None) -> Call:
    """Return the call that opens a stream of live matches."""
    ids = list(ids)
    types = {_get_id_type(id_) for id_ in ids}
    if len(types) > 1:
        raise IdError(
            "expected ids of one type, found strings and integers; listen to each type with a call of its own"
        )
    query: dict[str, Any] = {"id": [str(id_) for id_ in ids], "id_type": next(iter(types), "str")}
    if subscriber is not None:
        query["subscriber"] = str(subscriber)
    if event_filter is not None:
        query["filter"] = event_filter
    try:
        str(query).encode()
    except UnicodeEncodeError:
        raise ArgumentError(
            "subscriber, ids and filter are sent in a URL, which cannot hold a lone surrogate; remove it"
        ) from None
    return Call("GET", "/v1/live", query=query)


def _build_add_call(rows: Iterable[Any], replace: bool) -> Call:
    body = {"subscriptions": [_convert_row(row) for row in rows], "replace": replace, "errors": "raise"}
    return Call("POST", "/v1/subscriptions", body, convert=_return_none)


def _build_add_valid_call(rows: Iterable[Any], replace: bool) -> Call:
    converted: list[dict[str, Any]] = []
    rejected: list[Rejected] = []
    for row in rows:
        try:
            converted.append(_convert_row(row))
        except TellwhenError as error:
            rejected.append(Rejected.from_row(row, error))
    body = {"subscriptions": converted, "replace": replace, "errors": "quarantine"}
    return Call("POST", "/v1/subscriptions", body, convert=lambda answer: rejected + _read_rejected(answer))


def _build_match_call(path: str, event: Mapping[str, Any] | str, where: Where, convert: Callable[[Any], Any]) -> Call:
    body = {"event": _validate_event(event), "where": _encode_where(where), "payload": convert is _read_payloads}
    return Call("POST", path, body, convert=convert)


# Arguments


UNUSABLE_IDS = ("", ".", "..")
"""Ids that cannot be part of a URL: proxies and clients remove such parts of a path."""


def _locate_subscription(id_: Id) -> tuple[str, dict[str, str]]:
    """Return the path of a subscription, and the query that says whether its id is a str or an int."""
    _validate_url_id(id_, "remove_many and explain take it")
    return f"/v1/subscriptions/{quote(str(id_), safe='')}", {"id_type": _get_id_type(id_)}


def _validate_url_id(id_: Id, way_out: str) -> Id:
    """Return a valid id as a plain str or int; raise IdError if it is invalid, or cannot be part of a URL."""
    id_ = validate_id(id_)
    if id_ in UNUSABLE_IDS:
        raise IdError(
            f"the id {id_!r} cannot be part of a URL, since proxies and clients remove such parts of a path; {way_out}"
        )
    return id_


def _get_id_type(id_: Id) -> str:
    return "str" if isinstance(validate_id(id_), str) else "int"


def _convert_row(row: Any) -> dict[str, Any]:
    """Return the JSON object of a subscription; raise the error that `Index.add` raises for an invalid field."""
    id_, expression, score, weights, payload = read_subscription(row)
    id_ = _validate_url_id(id_, "choose another id")
    try:
        if expression is None:
            raise ExpressionError("the expression is missing")
        fields = {
            "id": id_,
            "expression": _format_expression(expression),
            "score": None if score is None else parse_score(score),
            "weights": parse_weights(weights),
            "payload": None if payload is None else json.loads(encode_payload(payload)),
        }
    except TellwhenError as error:
        raise type(error)(f"subscription {id_!r}: {error}") from None
    return {name: value for name, value in fields.items() if value is not None}


def _convert_score(id_: Id, score: Any) -> dict[str, Any]:
    """Return the JSON object of a new score."""
    id_ = validate_id(id_)
    try:
        if score is None:
            raise ScoreError("a score is a number, not None")
        return {"id": id_, "score": parse_score(score)}
    except ScoreError as error:
        raise ScoreError(f"subscription {id_!r}: {error}") from None


def _format_expression(expression: Any) -> str | Mapping[str, Any]:
    """Return the text of an expression that was made with `col`; return text and JSON as they are."""
    return expression if isinstance(expression, str | Mapping) else read_expression(expression)[1]


def _validate_event(event: Mapping[str, Any] | str) -> dict[str, Any] | str:
    if isinstance(event, str):  # predicates joined by AND
        return event
    if not isinstance(event, Mapping):
        raise EventError(f"an event is a mapping from attribute names to values, not {abbreviate(event)}")
    for name in event:
        if not isinstance(name, str):
            raise EventError(f"the name of an attribute is a string, not {abbreviate(name)}")
    return dict(event)


def _encode_where(where: Where) -> Mapping[str, Any] | str | None:
    conditions = validate_where(where)
    return str(conditions) if isinstance(conditions, Expr) else conditions


# Answers


def _return_none(answer: Any) -> None:
    """Ignore an answer that has nothing new for the caller."""


def _read_rejected(answer: Any) -> list[Rejected]:
    return [Rejected(**fields) for fields in answer["rejected"]]


def _read_matches(answer: Any) -> list[Any]:
    if answer["truncated"]:
        raise ArgumentError(
            f"the event matches {answer['count']:,} subscriptions, more than the service returns in one answer; "
            "match fewer with where, or ask for the best with top_k"
        )
    return list(answer["matches"])


def _read_payloads(answer: Any) -> list[tuple[Id, dict[str, Any]]]:
    return [(match["id"], match["payload"]) for match in _read_matches(answer)]


def _read_subscription(answer: Any) -> Subscription:
    return Subscription(*(answer[name] for name in FIELDS))  # a newer service may send more fields


def _read_page(answer: Any) -> SubscriptionPage:
    return SubscriptionPage([_read_subscription(row) for row in answer["subscriptions"]], answer["next"])


def _read_scores(answer: Any) -> list[tuple[Id, float | None]]:
    return [(one["id"], one["score"]) for one in answer["matches"]]
