"""Expressions are explained, checked and tried."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import Response

from tellwhen.service import answers as asking
from tellwhen.service import models
from tellwhen.service.bodies import described, read
from tellwhen.service.requests import Service, json_answer, tenant_of


def add_expressions(app: FastAPI, service: Service) -> None:
    limits = service.limits

    @app.post("/v1/explain", **described("expressions", models.Explain, models.Explained))
    async def explain(request: Request) -> Response:
        """Why does an event match, or why not?"""
        asked, index = read(await request.body(), models.Explain), tenant_of(request).index
        return json_answer(await service.beside(lambda ends: asking.explained(index, asked, limits, ends)))

    @app.post("/v1/validate", **described("expressions", models.Validate, models.Validated))
    async def validate(request: Request) -> Response:
        """Is it an expression? What is wrong with it, and where; and what is probably not meant."""
        asked, tenant = read(await request.body(), models.Validate), tenant_of(request)
        return json_answer(await service.beside(lambda _: asking.validated(tenant, asked.expression, limits)))

    @app.post("/v1/dry-run", **described("expressions", models.Validate, models.DryRun))
    async def dry_run(request: Request) -> Response:
        """How many of the events that were published last would it have matched?"""
        asked, tenant = read(await request.body(), models.Validate), tenant_of(request)
        return json_answer(await service.beside(lambda _: asking.tried(tenant, asked.expression, limits)))
