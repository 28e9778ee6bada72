"""Routes that match and publish events, and the stream of live matches."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

from tellwhen.index import Index
from tellwhen.language import parse
from tellwhen.service import answers, models
from tellwhen.service.bodies import describe_operation, parse_body
from tellwhen.service.errors import TooLarge, TooMany
from tellwhen.service.event_streams import EventStream
from tellwhen.service.listeners import Listener
from tellwhen.service.requests import IdType, RequestRunner, get_tenant, make_json_response, parse_id

INLINE_PAYLOADS_MAX = 1_000
"""Look up the subscribers of up to 1,000 matches in the event loop, and of more in a thread."""


def add_event_routes(app: FastAPI, runner: RequestRunner) -> None:
    """Add the routes of this module."""
    limits = runner.limits

    @app.post("/v1/publish", **describe_operation("events", models.PublishRequest, models.PublishResponse))
    async def publish(request: Request) -> Response:
        """Match an event, return its matches, and send them to listeners."""
        raw, tenant = await request.body(), get_tenant(request)
        body, index, listeners = parse_body(raw, models.PublishRequest), tenant.index, tenant.listeners
        ids, seconds = await runner.match_inline_or_in_thread(
            tenant.match_timing, len(raw), lambda: answers.match_event(index, body)
        )
        tenant.metrics.match_seconds.observe(seconds)
        ids_by_subscriber: dict[str, list[Any]] = {}
        if listeners.needs_subscribers:
            if len(ids) <= INLINE_PAYLOADS_MAX:
                ids_by_subscriber = answers.group_ids_by_subscriber(index, ids)
            else:
                ids_by_subscriber = await runner.run_in_thread(lambda _: answers.group_ids_by_subscriber(index, ids))
        satisfied_filters: list[Any] = []
        if listeners.filter_count and ids:
            satisfied_filters = await runner.match_inline_or_in_thread(
                listeners.filter_timing, len(raw), lambda: listeners.match_filters(body.event)
            )
        is_remembered = len(raw) <= limits.remembered
        answers.publish_matches(tenant, body.event, ids, ids_by_subscriber, satisfied_filters, is_remembered)
        return await respond(index, body, ids)

    async def respond(index: Index, body: models.PublishRequest, ids: list[Any]) -> Response:
        if body.payload:  # many payloads take long to read and to encode
            return await runner.run_in_thread(
                lambda _: make_json_response(answers.build_matches(index, body, ids, limits))
            )
        return make_json_response(answers.build_matches(index, body, ids, limits))

    @app.post("/v1/match", **describe_operation("events", models.PublishRequest, models.PublishResponse))
    async def match(request: Request) -> Response:
        """Match an event and return its matches. The event is not counted, and listeners do not get it."""
        raw, tenant = await request.body(), get_tenant(request)
        body, index = parse_body(raw, models.PublishRequest), tenant.index
        ids, _ = await runner.match_inline_or_in_thread(
            tenant.match_timing, len(raw), lambda: answers.match_event(index, body)
        )
        return await respond(index, body, ids)

    @app.post("/v1/publish/many", **describe_operation("events", models.PublishManyRequest, models.PublishManyResponse))
    async def publish_many(request: Request) -> Response:
        """Publish many events, which is faster than one request for each."""
        raw, tenant = await request.body(), get_tenant(request)
        body, index, listeners = parse_body(raw, models.PublishManyRequest), tenant.index, tenant.listeners
        matches = await runner.run_in_thread(lambda deadline: answers.match_events(index, body, limits, deadline))
        ids_by_subscriber: list[dict[str, list[Any]]] = [{} for _ in matches]
        if listeners.needs_subscribers:
            ids_by_subscriber = await runner.run_in_thread(
                lambda _: [answers.group_ids_by_subscriber(index, ids) for ids in matches]
            )
        satisfied_filters: list[list[Any]] = [[] for _ in matches]
        if listeners.filter_count:
            satisfied_filters = await runner.run_in_thread(
                lambda deadline: answers.match_filters(listeners, body.events, matches, deadline)
            )
        is_remembered = len(raw) <= limits.remembered * len(matches)
        for event, ids, groups, filters in zip(body.events, matches, ids_by_subscriber, satisfied_filters, strict=True):
            answers.publish_matches(tenant, event, ids, groups, filters, is_remembered)
        return make_json_response({"count": sum(map(len, matches)), "matches": matches})

    @app.post("/v1/top-k", **describe_operation("events", models.TopKRequest, models.TopKResponse))
    async def top_k(request: Request) -> Response:
        """Return the matches of an event with the highest scores. Listeners do not get them."""
        body, index = parse_body(await request.body(), models.TopKRequest), get_tenant(request).index
        ranking = await runner.run_in_thread(lambda _: answers.rank_matches(index, body))
        return make_json_response({"matches": ranking})

    @app.get("/v1/live", tags=["events"], response_class=Response)
    async def live(
        request: Request,
        subscriber: Annotated[
            str | None, Query(description="Only matches of subscriptions whose payloads have this `subscriber`.")
        ] = None,
        id: Annotated[
            list[str] | None, Query(description="Only matches of this subscription; may be repeated.")
        ] = None,
        id_type: IdType = "str",
        filter: Annotated[str | None, Query(description="Only events that satisfy this expression.")] = None,
    ) -> Response:
        """Stream published events with their matches, as server-sent events.

        A message `match` has an event and the ids of its matches. A message `lost` has the number of messages that a
        slow client lost.
        """
        tenant = get_tenant(request)
        if len(tenant.listeners) >= limits.listeners:
            raise TooMany(f"there are {limits.listeners:,} listeners already, and no more are allowed; try again later")
        if filter is not None:
            if len(filter) > (characters_max := min(limits.filter, limits.expression)):
                raise TooLarge(f"a filter has at most {characters_max:,} characters, not {len(filter):,}")
            if tenant.listeners.filter_count >= limits.filters:
                raise TooMany(
                    f"there are {limits.filters:,} listeners with a filter already, and no more are allowed; listen "
                    "without a filter, or try again later"
                )
            # Here, because errors of the index of filters name a number that the client does not know.
            tenant.index.schema.check(parse(filter))
        if subscriber is not None:
            # The first lookup of subscribers builds a column of their values, which events should not wait for.
            await runner.run_in_thread(lambda _: answers.group_ids_by_subscriber(tenant.index, []))
        listener = Listener(subscriber, [parse_id(text, id_type) for text in id or ()])
        remove_listener = tenant.listeners.add(listener, filter)
        return EventStream(listener, remove_listener, request.state.has_access, runner.timeouts)
