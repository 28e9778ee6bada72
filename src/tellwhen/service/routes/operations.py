"""How does the service do? For people, supervisors and Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

import tellwhen as tw
from tellwhen.service import answers as asking
from tellwhen.service.requests import Service, json_answer, tenant_of
from tellwhen.service.tenants import Followed, Tenants


def add_health(app: FastAPI, tenants: Tenants) -> None:
    @app.get("/healthz", tags=["operations"], responses={})
    async def healthy() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operations"], responses={503: {"description": "Something is wrong on disk."}})
    async def ready() -> Response:
        """Indexes are open, and changes can be written."""
        is_ready = all(tenant.kept.failure is None for tenant in tenants.opened())
        # What is wrong is for those who have a key: /v1/stats, and the log.
        return json_answer({"status": "ready" if is_ready else "failing"}, 200 if is_ready else 503)


def add_looking(app: FastAPI, service: Service) -> None:
    @app.get("/v1", tags=["operations"])
    async def about(request: Request) -> dict[str, Any]:
        """What is served, and what this key may do."""
        tenant = tenant_of(request)
        return {
            "version": tw.__version__,
            "tenant": tenant.name,
            "roles": list(request.state.key.roles),
            "subscriptions": len(tenant.index),
            "changes": not isinstance(tenant.kept, Followed),
            "index_version": getattr(tenant.kept, "version", None),
            "schema": tenant.index.schema.types,
        }

    @app.get("/v1/attributes", tags=["operations"])
    async def attributes(request: Request) -> dict[str, str]:
        """The attributes that subscriptions ask for, with their types."""
        index = tenant_of(request).index
        return await service.beside(lambda _: index.inspect.get_attributes())

    @app.get("/v1/stats", tags=["operations"])
    async def stats(request: Request) -> dict[str, Any]:
        """What the console shows: counts, times, the plan and the heaviest predicates."""
        tenant = tenant_of(request)
        return await service.beside(lambda _: asking.stats(tenant))

    @app.get("/metrics", tags=["operations"], response_class=Response)
    async def metrics(request: Request) -> Response:
        """For Prometheus."""
        return Response(tenant_of(request).metrics.text(), media_type="text/plain; version=0.0.4")
