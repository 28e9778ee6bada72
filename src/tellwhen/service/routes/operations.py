"""Routes that describe the service and its state, for people, supervisors and Prometheus."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

import tellwhen as tw
from tellwhen.service import answers
from tellwhen.service.requests import RequestRunner, get_tenant, make_json_response
from tellwhen.service.tenants import FollowedIndex, Tenants


def add_health_routes(app: FastAPI, tenants: Tenants) -> None:
    """Add the routes that need no key."""

    @app.get("/healthz", tags=["operations"], responses={})
    async def check_health() -> dict[str, str]:
        """Return status 200: the process answers."""
        return {"status": "ok"}

    @app.get(
        "/readyz",
        tags=["operations"],
        responses={503: {"description": "Changes cannot be written, or a new version cannot be opened."}},
    )
    async def check_readiness() -> Response:
        """Return status 200 if the indexes are open and changes can be written."""
        is_ready = all(tenant.storage.failure is None for tenant in tenants.list_open())
        # Without the reason, because this path needs no key. /v1/stats and the log have it.
        return make_json_response({"status": "ready" if is_ready else "failing"}, 200 if is_ready else 503)


def add_information_routes(app: FastAPI, runner: RequestRunner) -> None:
    """Add the routes that need the role `read`."""

    @app.get("/v1", tags=["operations"])
    async def get_service_info(request: Request) -> dict[str, Any]:
        """Describe the service, the tenant and the roles of the key."""
        tenant = get_tenant(request)
        return {
            "version": tw.__version__,
            "tenant": tenant.name,
            "roles": list(request.state.key.roles),
            "subscriptions": len(tenant.index),
            "changes": not isinstance(tenant.storage, FollowedIndex),
            "index_version": getattr(tenant.storage, "version", None),
            "schema": tenant.index.schema.types,
        }

    @app.get("/v1/attributes", tags=["operations"])
    async def get_attributes(request: Request) -> dict[str, str]:
        """Return the attributes in the expressions of subscriptions, with their types."""
        index = get_tenant(request).index
        return await runner.run_in_thread(lambda _: index.inspect.get_attributes())

    @app.get("/v1/stats", tags=["operations"])
    async def get_stats(request: Request) -> dict[str, Any]:
        """Return the figures that the console shows: counts, latency, memory, and the most costly predicates."""
        tenant = get_tenant(request)
        return await runner.run_in_thread(lambda _: answers.collect_stats(tenant))

    @app.get("/metrics", tags=["operations"], response_class=Response)
    async def get_metrics(request: Request) -> Response:
        """Return the metrics of the tenant, as text for Prometheus."""
        return Response(get_tenant(request).metrics.export(), media_type="text/plain; version=0.0.4")
