"""Routes that change, list and show subscriptions."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response
from starlette.convertors import Convertor, register_url_convertor

from tellwhen.errors import UnknownId
from tellwhen.service import answers, changes, models
from tellwhen.service.bodies import build_row, describe_operation, parse_batch, parse_body
from tellwhen.service.cursors import Cursor
from tellwhen.service.listing import Search, list_page
from tellwhen.service.requests import IdType, RequestRunner, get_tenant, make_json_response, parse_id


class _IdConvertor(Convertor[str]):
    """The rest of an address as an id, with all of its characters.

    Starlette's own convertor `path` does not match line breaks, and drops one at the end, which would be another id.
    """

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _IdConvertor())


def add_subscription_routes(app: FastAPI, runner: RequestRunner) -> None:
    """Add the routes of this module."""
    limits = runner.limits

    @app.post("/v1/subscriptions", **describe_operation("subscriptions", models.AddManyRequest, models.AddManyResponse))
    async def add_many(request: Request) -> Response:
        """Add many subscriptions: all of them or, with `"errors": "quarantine"`, all valid ones."""
        raw, tenant = await request.body(), get_tenant(request)
        if len(raw) <= limits.single:
            batch = parse_batch(raw, limits)
        else:
            batch = await runner.run_in_thread(lambda _: parse_batch(raw, limits))
        change = changes.make_addition(batch.rows, batch.replace, batch.errors)
        result = await runner.submit_change(tenant, change)
        rejected = [*batch.rejected, *result["rejected"]]
        tenant.metrics.rejected.inc(len(rejected))
        return make_json_response({**result, "rejected": [rejection._asdict() for rejection in rejected]})

    @app.put(
        "/v1/subscriptions/{id:any}",
        **describe_operation("subscriptions", models.SubscriptionFields, models.StoredSubscription),
        responses={201: {"model": models.StoredSubscription, "description": "The subscription is new."}},
    )
    async def put(request: Request, id: str, id_type: IdType = "str", replace: bool = True) -> Response:
        """Add a subscription, or replace the subscription with this id."""
        body = parse_body(await request.body(), models.SubscriptionFields)
        id_, tenant = parse_id(id, id_type), get_tenant(request)
        result = await runner.submit_change(tenant, changes.make_addition([build_row(body, id_, limits)], replace))
        try:
            stored = answers.describe_subscription(tenant.index.get_subscription(id_))
        except UnknownId:  # another request has removed it meanwhile
            stored = {**body.model_dump(), "id": id_, "weights": body.weights or {}, "payload": body.payload or {}}
        return make_json_response(stored, 201 if result["added"] else 200)

    @app.get("/v1/subscriptions/{id:any}", tags=["subscriptions"])
    async def get(request: Request, id: str, id_type: IdType = "str") -> models.StoredSubscription:
        """Show one subscription."""
        subscription = get_tenant(request).index.get_subscription(parse_id(id, id_type))
        return models.StoredSubscription(**answers.describe_subscription(subscription))

    @app.delete("/v1/subscriptions/{id:any}", tags=["subscriptions"])
    async def remove(request: Request, id: str, id_type: IdType = "str") -> models.RemoveResponse:
        """Remove one subscription."""
        change = changes.make_removal([parse_id(id, id_type)])
        return models.RemoveResponse(**await runner.submit_change(get_tenant(request), change))

    @app.post(
        "/v1/subscriptions/remove",
        **describe_operation("subscriptions", models.RemoveManyRequest, models.RemoveResponse),
    )
    async def remove_many(request: Request) -> Response:
        """Remove many subscriptions: all of them or, if an id is unknown, none."""
        body = parse_body(await request.body(), models.RemoveManyRequest)
        change = changes.make_removal(body.ids, body.missing)
        return make_json_response(await runner.submit_change(get_tenant(request), change))

    @app.post("/v1/scores", **describe_operation("subscriptions", models.SetScoresRequest, models.SetScoresResponse))
    async def set_scores(request: Request) -> Response:
        """Set the scores of subscriptions: all of them or, if an id is unknown, none."""
        body = parse_body(await request.body(), models.SetScoresRequest)
        change = changes.make_score_change([[score.id, score.score] for score in body.scores], body.missing)
        return make_json_response(await runner.submit_change(get_tenant(request), change))

    @app.get("/v1/subscriptions", tags=["subscriptions"])
    async def list_subscriptions(
        request: Request,
        text: Annotated[
            str | None, Query(description="Only subscriptions whose expression or id contains this text.")
        ] = None,
        mentions: Annotated[str | None, Query(description="Only subscriptions that mention this attribute.")] = None,
        constant: Annotated[
            str | None, Query(description="Only subscriptions with this constant, as JSON or text.")
        ] = None,
        subscriber: Annotated[
            str | None, Query(description="Only subscriptions whose payload has this `subscriber`.")
        ] = None,
        start: Annotated[
            str | None, Query(description="The `next` of the previous page, or the id to begin with.")
        ] = None,
        id_type: IdType = "str",
        limit: Annotated[int, Query(ge=1, le=1_000, description="Number of subscriptions on the page.")] = 50,
    ) -> models.SubscriptionPage:
        """List or search subscriptions, in the order in which their ids were first added."""
        tenant = get_tenant(request)
        position = None if start is None else Cursor.decode(start) or parse_id(start, id_type)
        search = Search(text, mentions, _parse_constant(constant), subscriber)
        index, version = tenant.index, getattr(tenant.storage, "version", 0)
        page = await runner.run_in_thread(lambda deadline: list_page(index, position, limit, search, deadline, version))
        return models.SubscriptionPage(**page)


def _parse_constant(text: str | None) -> Any:
    """Return the constant that a query parameter stands for: a value in JSON, or else the text itself."""
    try:
        value = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str | int | float | bool) else text
