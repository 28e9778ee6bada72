"""Events are published, and live matches told."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

from tellwhen.index import Index
from tellwhen.language import parse
from tellwhen.service import answers as asking
from tellwhen.service import models
from tellwhen.service.bodies import described, read
from tellwhen.service.errors import TooLarge, TooMany
from tellwhen.service.event_streams import EventStream
from tellwhen.service.listeners import Listener
from tellwhen.service.requests import IdType, Service, id_of, json_answer, tenant_of

FEW = 1_000
"""Matches whose payloads are looked at while everybody waits; those of more, in a thread."""


def add_events(app: FastAPI, service: Service) -> None:
    limits = service.limits

    @app.post("/v1/publish", **described("events", models.Publish, models.Matches))
    async def publish(request: Request) -> Response:
        """An event: what does it match? Those who listen are told."""
        body, tenant = await request.body(), tenant_of(request)
        asked, index, live = read(body, models.Publish), tenant.index, tenant.live
        ids, seconds = await service.quickly(tenant.pace, len(body), lambda: asking.timed_match(index, asked))
        tenant.metrics.match_seconds.observe(seconds)
        whose: dict[str, list[Any]] = {}
        if live.asks_for_subscribers:
            is_quick = len(ids) <= FEW
            find = lambda _: asking.subscribers(index, ids)  # noqa: E731
            whose = find(0.0) if is_quick else await service.beside(find)
        satisfied: list[Any] = []
        if live.filters and ids:
            satisfied = await service.quickly(live.pace, len(body), lambda: live.satisfied(asked.event))
        asking.published(tenant, asked.event, ids, whose, satisfied, len(body) <= limits.remembered)
        return await answer(index, asked, ids)

    async def answer(index: Index, asked: models.Publish, ids: list[Any]) -> Response:
        if asked.payload:  # to read and write many takes a while
            return await service.beside(lambda _: json_answer(asking.answered(index, asked, ids, limits)))
        return json_answer(asking.answered(index, asked, ids, limits))

    @app.post("/v1/match", **described("events", models.Publish, models.Matches))
    async def match(request: Request) -> Response:
        """The same, but it is only asked: nobody is told, and nothing is counted."""
        body, tenant = await request.body(), tenant_of(request)
        asked, index = read(body, models.Publish), tenant.index
        ids, _ = await service.quickly(tenant.pace, len(body), lambda: asking.timed_match(index, asked))
        return await answer(index, asked, ids)

    @app.post("/v1/publish/many", **described("events", models.PublishMany, models.ManyMatches))
    async def publish_many(request: Request) -> Response:
        """Many events at once."""
        asked, tenant = read(await request.body(), models.PublishMany), tenant_of(request)
        index, live = tenant.index, tenant.live
        found = await service.beside(lambda ends: asking.matched_many(index, asked, limits, ends))
        whose: list[dict[str, list[Any]]] = [{} for _ in found]
        if live.asks_for_subscribers:
            whose = await service.beside(lambda _: [asking.subscribers(index, ids) for ids in found])
        satisfied: list[list[Any]] = [[] for _ in found]
        if live.filters:
            satisfied = await service.beside(lambda ends: asking.heard(live, asked.events, found, ends))
        is_kept = len(await request.body()) <= limits.remembered * len(found)
        for event, ids, by, numbers in zip(asked.events, found, whose, satisfied, strict=True):
            asking.published(tenant, event, ids, by, numbers, is_kept)
        return json_answer({"count": sum(map(len, found)), "matches": found})

    @app.post("/v1/top-k", **described("events", models.TopK, models.BestMatches))
    async def top_k(request: Request) -> Response:
        """The k best of the subscriptions that an event matches, by their scores."""
        asked, index = read(await request.body(), models.TopK), tenant_of(request).index
        return json_answer({"matches": await service.beside(lambda _: asking.best(index, asked))})

    @app.get("/v1/live", tags=["events"], response_class=Response)
    async def live(
        request: Request,
        subscriber: Annotated[str | None, Query(description="Only of subscriptions with this subscriber.")] = None,
        id: Annotated[list[str] | None, Query(description="Only of these subscriptions.")] = None,
        id_type: IdType = "str",
        filter: Annotated[str | None, Query(description="Only events that satisfy this expression.")] = None,
    ) -> Response:
        """Matches as they are published, as server-sent events. `match` has an event and the ids of what it matched;
        `lost` says how many messages a slow reader did not get."""
        tenant = tenant_of(request)
        if len(tenant.live) >= limits.listeners:
            raise TooMany(f"at most {limits.listeners:,} connections listen")
        if filter is not None:
            if len(filter) > (most := min(limits.filter, limits.expression)):
                raise TooLarge(f"a filter has at most {most:,} characters, not {len(filter):,}")
            if tenant.live.filters >= limits.filters:
                raise TooMany(f"at most {limits.filters:,} connections listen with a filter")
            tenant.index.schema.check(parse(filter))  # for an error without the id that it will have
        if subscriber is not None:  # whose the subscriptions are is looked up before anybody waits for it
            await service.beside(lambda _: asking.subscribers(tenant.index, []))
        listener = Listener(subscriber, [id_of(one, id_type) for one in id or ()])
        leave = tenant.live.listen(listener, filter)
        return EventStream(listener, leave, request.state.is_let_in)
