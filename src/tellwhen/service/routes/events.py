"""Events are published, and live matches told."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

from tellwhen.index import Index
from tellwhen.service import asking, models
from tellwhen.service.answering import IdType, Service, body, id_of, json_answer, read, tenant_of
from tellwhen.service.errors import TooMany
from tellwhen.service.live import Listener
from tellwhen.service.streams import EventStream


def add_events(app: FastAPI, service: Service) -> None:
    limits = service.limits

    @app.post("/v1/publish", tags=["events"], openapi_extra=body(models.Publish), response_model=models.Matches)
    async def publish(request: Request) -> Response:
        """An event: what does it match? Those who listen are told."""
        asked, tenant = await read(request, models.Publish), tenant_of(request)
        index = tenant.index
        ids, seconds = await service.quickly(lambda: asking.timed_match(index, asked))
        tenant.metrics.match_seconds.observe(seconds)
        asking.published(tenant, asked.event, ids)
        return json_answer(asking.answered(index, asked, ids, limits))

    @app.post("/v1/match", tags=["events"], openapi_extra=body(models.Publish), response_model=models.Matches)
    async def match(request: Request) -> Response:
        """The same, but it is only asked: nobody is told, and nothing is counted."""
        asked, index = await read(request, models.Publish), tenant_of(request).index
        ids, _ = await service.quickly(lambda: asking.timed_match(index, asked))
        return json_answer(asking.answered(index, asked, ids, limits))

    @app.post(
        "/v1/publish/many", tags=["events"], openapi_extra=body(models.PublishMany), response_model=models.ManyMatches
    )
    async def publish_many(request: Request) -> Response:
        """Many events at once."""
        asked, tenant = await read(request, models.PublishMany), tenant_of(request)
        index = tenant.index
        found = await service.beside(lambda ends: asking.matched_many(index, asked, limits, ends))
        for event, ids in zip(asked.events, found, strict=True):
            asking.published(tenant, event, ids)
        return json_answer({"count": sum(map(len, found)), "matches": found})

    @app.post("/v1/top-k", tags=["events"], openapi_extra=body(models.TopK), response_model=models.BestMatches)
    async def top_k(request: Request) -> Response:
        """The k best of the subscriptions that an event matches, by their scores."""
        asked, index = await read(request, models.TopK), tenant_of(request).index
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
        if len(tenant.live) >= service.limits.listeners:
            raise TooMany(f"at most {service.limits.listeners:,} connections listen")
        if filter is not None:
            asking.alone(Index(), filter, service.limits)
        listener = Listener(subscriber, [id_of(one, id_type) for one in id or ()])
        return EventStream(listener, tenant.live.listen(listener, filter), service.limits.seconds)
