"""Subscriptions come, go, and are looked at."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response
from starlette.convertors import Convertor, register_url_convertor

from tellwhen.errors import UnknownId
from tellwhen.service import answers as asking
from tellwhen.service import changes, models
from tellwhen.service.bodies import described, read, read_batch, row
from tellwhen.service.cursors import Cursor
from tellwhen.service.listing import Search, list_page
from tellwhen.service.requests import IdType, Service, id_of, json_answer, tenant_of


class _Any(Convertor[str]):
    """The rest of an address as an id. That of Starlette (`path`) knows no line breaks, and loses one at the end: the
    id beside would be changed."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _Any())


def add_subscriptions(app: FastAPI, service: Service) -> None:
    limits = service.limits

    @app.post("/v1/subscriptions", **described("subscriptions", models.AddMany, models.Added))
    async def add_many(request: Request) -> Response:
        """Add many: all of them or, in quarantine, those that are good."""
        raw, tenant = await request.body(), tenant_of(request)
        is_small = len(raw) <= limits.single
        given = read_batch(raw, limits) if is_small else await service.beside(lambda _: read_batch(raw, limits))
        result = await service.change(tenant, changes.make_addition(given.rows, given.replace, given.errors))
        rejected = [*given.rejected, *result["rejected"]]
        tenant.metrics.rejected.inc(len(rejected))
        return json_answer({**result, "rejected": [one._asdict() for one in rejected]})

    @app.put(
        "/v1/subscriptions/{id:any}",
        **described("subscriptions", models.Given, models.Shown),
        responses={201: {"model": models.Shown, "description": "It is new."}},
    )
    async def put(request: Request, id: str, id_type: IdType = "str", replace: bool = True) -> Response:
        """Add a subscription, or replace the one of this id."""
        given = read(await request.body(), models.Given)
        id_, tenant = id_of(id, id_type), tenant_of(request)
        result = await service.change(tenant, changes.make_addition([row(given, id_, limits)], replace))
        try:
            kept = asking.shown(tenant.index.get_subscription(id_))
        except UnknownId:  # somebody else has removed it since
            kept = {**given.model_dump(), "id": id_, "weights": given.weights or {}, "payload": given.payload or {}}
        return json_answer(kept, 201 if result["added"] else 200)

    @app.get("/v1/subscriptions/{id:any}", tags=["subscriptions"])
    async def get(request: Request, id: str, id_type: IdType = "str") -> models.Shown:
        """One subscription."""
        return models.Shown(**asking.shown(tenant_of(request).index.get_subscription(id_of(id, id_type))))

    @app.delete("/v1/subscriptions/{id:any}", tags=["subscriptions"])
    async def remove(request: Request, id: str, id_type: IdType = "str") -> models.Removed:
        """Remove a subscription."""
        return models.Removed(**await service.change(tenant_of(request), changes.make_removal([id_of(id, id_type)])))

    @app.post("/v1/subscriptions/remove", **described("subscriptions", models.RemoveMany, models.Removed))
    async def remove_many(request: Request) -> Response:
        """Remove many: all of them or, if one is unknown, none."""
        given = read(await request.body(), models.RemoveMany)
        return json_answer(await service.change(tenant_of(request), changes.make_removal(given.ids, given.missing)))

    @app.post("/v1/scores", **described("subscriptions", models.SetScores, models.Scored))
    async def set_scores(request: Request) -> Response:
        """Change what subscriptions are worth: all of them or, if one is unknown, none."""
        given = read(await request.body(), models.SetScores)
        scores = [[one.id, one.score] for one in given.scores]
        return json_answer(await service.change(tenant_of(request), changes.make_scoring(scores, given.missing)))

    @app.get("/v1/subscriptions", tags=["subscriptions"])
    async def page(
        request: Request,
        text: Annotated[str | None, Query(description="Occurs in the expression or the id.")] = None,
        mentions: Annotated[str | None, Query(description="An attribute that the expression mentions.")] = None,
        constant: Annotated[str | None, Query(description="A constant, as JSON or text.")] = None,
        subscriber: Annotated[str | None, Query(description="The `subscriber` in the payload.")] = None,
        start: Annotated[str | None, Query(description="The `next` of the page before, or an id.")] = None,
        id_type: IdType = "str",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> models.Page:
        """List or search subscriptions, in the order in which their ids were first added."""
        tenant = tenant_of(request)
        position = None if start is None else Cursor.decode(start) or id_of(start, id_type)
        search = Search(text, mentions, value_of(constant), subscriber)
        index, version = tenant.index, getattr(tenant.kept, "version", 0)
        found = await service.beside(lambda ends: list_page(index, position, limit, search, ends, version))
        return models.Page(**found)


def value_of(text: str | None) -> Any:
    """A number or a Boolean as JSON; any other text is itself."""
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, str | int | float | bool) else text
