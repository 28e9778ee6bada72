"""The service, put together: who is let in, the paths, what errors are answered with, and the console."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

import tellwhen as tw
from tellwhen.errors import TellwhenError, abbreviate
from tellwhen.service import models
from tellwhen.service.bodies import told
from tellwhen.service.direct_routes import Straight
from tellwhen.service.errors import MalformedRequest
from tellwhen.service.guard import Guard
from tellwhen.service.keys import Keys
from tellwhen.service.requests import Service, refusal
from tellwhen.service.routes.events import add_events
from tellwhen.service.routes.expressions import add_expressions
from tellwhen.service.routes.operations import add_health, add_looking
from tellwhen.service.routes.subscriptions import add_subscriptions
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import Tenants, data_folder

CONSOLE = Path(__file__).parent / "console"
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": models.Refusal, "description": text}
    for status, text in {
        401: "No key, or none that is known.",
        403: "The key lacks the role.",
        404: "There is no such subscription.",
        409: "The id is taken, or the index is followed.",
        413: "Too large.",
        421: "Without keys, only this machine is answered.",
        422: "Something in it is wrong; the message says what and where.",
        429: "Too many requests; Retry-After says when.",
        503: "Files of the service are damaged; its log says more.",
        504: "It took too long.",
        507: "The disk, or the memory, is full.",
    }.items()
}


def create_app(
    folder: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    engine: str | None = None,
    schema: Any = None,
    memory_limit: int | None = None,
    accept_loss: bool = False,
    console: bool = True,
) -> Any:
    """The service on a folder, as an ASGI application. What it serves is open when this returns, and is closed when the
    application ends."""
    limits, folder = limits or Limits(), Path(folder)
    keys = Keys(data_folder(folder) / "keys.json")
    tenants = Tenants(folder, keys, limits, engine, schema, memory_limit, accept_loss)
    service = Service(limits)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.close()
            await asyncio.to_thread(tenants.close)

    app = FastAPI(
        title="tellwhen",
        version=tw.__version__,
        description="Which of millions of standing Boolean expressions does an event satisfy?",
        docs_url=None,  # they would be fetched from elsewhere
        redoc_url=None,
        lifespan=living,
        responses=ERRORS,
        dependencies=[Depends(_refuse_unknown)],
    )
    _answer_errors(app)
    add_events(app, service)  # first: the routes are tried in this order
    add_health(app, tenants)
    add_subscriptions(app, service)
    add_expressions(app, service)
    add_looking(app, service)
    if console and CONSOLE.is_dir():
        app.mount("/console", StaticFiles(directory=CONSOLE), name="console")

        async def home(_: Request) -> Response:
            return FileResponse(CONSOLE / "index.html")

        app.add_route("/", home, include_in_schema=False)

    return Guard(Straight(app), keys, tenants, limits)


async def _refuse_unknown(request: Request) -> None:  # async, or a thread would be asked for it
    """A parameter that is not known is probably misspelt, and would otherwise change nothing."""
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    if (strange := next((name for name in request.query_params if name not in known), None)) is not None:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise MalformedRequest(f"there is no parameter {abbreviate(strange)}; {there}")


def _answer_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return refusal(error)

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return JSONResponse({"error": "MalformedRequest", "message": told(error.errors())}, 422)

    async def other(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        allowed = (error.headers or {}).get("Allow")
        message = f"{error.detail}: this path has {allowed}" if allowed else error.detail
        return JSONResponse({"error": "HTTPException", "message": message}, error.status_code, error.headers)

    app.add_exception_handler(TellwhenError, refused)
    app.add_exception_handler(MemoryError, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, other)
