"""The ASGI application: routes, error responses, the console and the guard in front of them."""

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
from tellwhen.service.bodies import format_errors
from tellwhen.service.direct_routes import DirectRoutes
from tellwhen.service.errors import MalformedRequest
from tellwhen.service.guard import Guard
from tellwhen.service.keys import Keys
from tellwhen.service.requests import RequestRunner, make_error_response
from tellwhen.service.routes.events import add_event_routes
from tellwhen.service.routes.expressions import add_expression_routes
from tellwhen.service.routes.operations import add_health_routes, add_information_routes
from tellwhen.service.routes.subscriptions import add_subscription_routes
from tellwhen.service.settings import TIMEOUTS, Limits, Timeouts
from tellwhen.service.tenants import Tenants, resolve_data_folder

CONSOLE_FOLDER = Path(__file__).parent / "console"
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": models.ErrorResponse, "description": text}
    for status, text in {
        401: "The request has no key, or an unknown key.",
        403: "The key lacks the role.",
        404: "The subscription does not exist.",
        409: "A subscription has this id already, or the index is built on Spark and can only be changed there.",
        413: "The request or its answer exceeds a limit.",
        421: "Without keys, the service answers only requests to this machine.",
        422: "The request has a mistake; the message says what is wrong and where.",
        429: "Too many requests, and `Retry-After` is the number of seconds to wait; or too many listeners.",
        503: "Files of the service are damaged; its log has the details.",
        504: "The request took too long. A change may still be made.",
        507: "The disk or the memory is full; nothing was changed.",
    }.items()
}


def create_app(
    folder: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    timeouts: Timeouts = TIMEOUTS,
    engine: str | None = None,
    schema: Any = None,
    memory_limit: int | None = None,
    accept_loss: bool = False,
    console: bool = True,
) -> Any:
    """Return a service as an ASGI application, for a server of your own.

    The index is open when this function returns. The application saves and closes it at shutdown (ASGI lifespan).

    Parameters
    ----------
    folder
        The folder of a service, a saved index, an index built on Spark, or an empty folder.
    limits
        Limits of requests and answers; None for the defaults.
    timeouts
        Timeouts and intervals. Your server decides about `head_seconds`, `send_seconds`, `keep_alive_seconds` and
        `shutdown_seconds` itself: these are for `run_in_background` and `serve`.
    engine
        Engine of new indexes. Existing ones must have the same engine.
    schema
        Types of attributes. They replace the schemas of existing indexes.
    memory_limit
        Maximum size of a tenant's index in bytes.
    accept_loss
        Start even if acknowledged changes are missing in the log.
    console
        Whether to serve the web console at `/`.

    Raises
    ------
    ArgumentError
        If an option is invalid, or contradicts an existing index.
    FormatError
        If files of the service are damaged, or another service uses the folder.
    """
    limits, folder = limits or Limits(), Path(folder)
    keys = Keys(resolve_data_folder(folder) / "keys.json", timeouts=timeouts)
    tenants = Tenants(folder, keys, limits, engine, schema, memory_limit, accept_loss, timeouts)
    runner = RequestRunner(limits, timeouts)

    @asynccontextmanager
    async def close_at_shutdown(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            runner.close()
            await asyncio.to_thread(tenants.close)

    app = FastAPI(
        title="tellwhen",
        version=tw.__version__,
        description="Which of millions of standing Boolean expressions does an event satisfy?",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        lifespan=close_at_shutdown,
        responses=ERROR_RESPONSES,
        dependencies=[Depends(_reject_unknown_parameters)],
    )
    _add_error_handlers(app)
    add_event_routes(app, runner)  # first, because routes are tried in this order
    add_health_routes(app, tenants)
    add_subscription_routes(app, runner)
    add_expression_routes(app, runner)
    add_information_routes(app, runner)
    if console and CONSOLE_FOLDER.is_dir():
        app.mount("/console", StaticFiles(directory=CONSOLE_FOLDER), name="console")

        async def send_console(_: Request) -> Response:
            return FileResponse(CONSOLE_FOLDER / "index.html")

        app.add_route("/", send_console, include_in_schema=False)

    return Guard(DirectRoutes(app), keys, tenants, limits)


async def _reject_unknown_parameters(request: Request) -> None:  # async: FastAPI runs other functions in a thread
    """Raise if a query parameter is unknown: it is probably misspelt, and would be ignored."""
    names = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    unknown = next((name for name in request.query_params if name not in names), None)
    if unknown is not None:
        expected = f"the parameters are {', '.join(names)}" if names else "this path has no parameters"
        raise MalformedRequest(f"unknown parameter {abbreviate(unknown)}; {expected}")


def _add_error_handlers(app: FastAPI) -> None:
    async def answer_error(_: Request, error: Exception) -> Response:
        return make_error_response(error)

    async def answer_invalid_parameters(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return JSONResponse({"error": "MalformedRequest", "message": format_errors(error.errors())}, 422)

    async def answer_http_error(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        methods = (error.headers or {}).get("Allow")
        message = f"{error.detail}: this path has {methods}" if methods else error.detail
        return JSONResponse({"error": "HTTPException", "message": message}, error.status_code, error.headers)

    app.add_exception_handler(TellwhenError, answer_error)
    app.add_exception_handler(MemoryError, answer_error)
    app.add_exception_handler(RequestValidationError, answer_invalid_parameters)
    app.add_exception_handler(HTTPException, answer_http_error)
