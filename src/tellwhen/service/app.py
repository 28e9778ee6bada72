"""Which paths are there, and what answers them? Each is a few lines: what they do is in the rooms beside."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ValidationError
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException

import tellwhen as tw
from tellwhen.errors import TellwhenError, shown
from tellwhen.service import asking, changes, models
from tellwhen.service.errors import MalformedRequest, TooLarge, TooMany, TooSlow, status_of
from tellwhen.service.guard import Guard
from tellwhen.service.keys import Keys
from tellwhen.service.live import Listener
from tellwhen.service.settings import Limits
from tellwhen.service.streams import EventStream
from tellwhen.service.tenants import Followed, Tenant, Tenants, data_folder


class _Any(Convertor[str]):
    """The rest of an address as an id. That of Starlette (`path`) knows no line breaks, and loses one at the end: the
    id beside would be changed."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any", _Any())

CONSOLE = Path(__file__).parent / "console"
THREADS = 4
QUICK_SECONDS = 0.002
"""Where matching takes longer than this on average, it is done beside the loop that answers everybody."""

Found = TypeVar("Found")
Asked = TypeVar("Asked", bound=BaseModel)
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
IdType = Annotated[Literal["str", "int"], Query(description="Are the ids in the address strings, or integers?")]


def create_app(
    folder: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    engine: str = "auto",
    schema: Any = None,
    memory_limit: int | None = None,
    console: bool = True,
) -> Any:
    """The service on a folder, as an ASGI application. What it serves is open when this returns, and is closed when the
    application ends."""
    limits, folder = limits or Limits(), Path(folder)
    keys = Keys(data_folder(folder) / "keys.json")
    tenants = Tenants(folder, keys, limits, engine, schema, memory_limit)
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="tellwhen-ask")

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            await asyncio.to_thread(tenants.close)

    app = FastAPI(
        title="tellwhen",
        version=tw.__version__,
        description="Which of millions of standing Boolean expressions does an event satisfy?",
        docs_url=None,  # they would be fetched from elsewhere
        redoc_url=None,
        lifespan=living,
        responses=ERRORS,
    )
    _answer_errors(app)
    service = _Service(limits, pool)
    _events(app, service)  # first: the routes are tried in this order
    _health(app, tenants)
    _subscriptions(app, service)
    _expressions(app, service)
    _looking(app, service)
    _listening(app, service)
    if console and CONSOLE.is_dir():
        app.mount("/console", StaticFiles(directory=CONSOLE), name="console")

        @app.get("/", include_in_schema=False)
        async def home() -> Response:
            return FileResponse(CONSOLE / "index.html")

    return Guard(app, keys, tenants, limits)


class _Service:
    """What the routes share."""

    def __init__(self, limits: Limits, pool: ThreadPoolExecutor) -> None:
        self.limits = limits
        self._pool = pool
        self._seconds = 0.0  # that matching takes, on average

    async def beside(self, run: Callable[[float], Found]) -> Found:
        """Run something that may take long, in a thread: it is told when it must end."""
        ends = time.monotonic() + self.limits.seconds
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await loop.run_in_executor(self._pool, run, ends)
        except TimeoutError:
            raise TooSlow(f"it took longer than {self.limits.seconds:g} seconds") from None

    async def quickly(self, run: Callable[[], Found]) -> Found:
        """Run something that is usually quick: here, unless it was not lately."""
        begin = time.perf_counter()
        found = run() if self._seconds < QUICK_SECONDS else await self.beside(lambda _: run())
        self._seconds += 0.05 * (time.perf_counter() - begin - self._seconds)
        return found

    async def change(self, tenant: Tenant, change: changes.Change) -> Any:
        """Make a change; when this returns, it is on disk."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def done(result: Any) -> None:
            def put() -> None:
                if not answer.done():
                    answer.set_result(result)

            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(put)

        tenant.kept.submit(change, done)
        try:
            async with asyncio.timeout(self.limits.seconds):
                result = await answer
        except TimeoutError:
            raise TooSlow("the change was not finished in time; it may be made yet: ask for it later") from None
        if isinstance(result, Exception):
            raise result
        tenant.metrics.changes.labels(change["do"]).inc(changes.size(change))
        return result


def _tenant(request: Request) -> Tenant:
    found: Tenant = request.state.tenant
    return found


async def _read(request: Request, model: type[Asked]) -> Asked:
    """A body. FastAPI would read it slower, and answer what cannot be decoded, or is too large, with less."""
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        raise MalformedRequest(_told(error.errors())) from None


def _told(errors: Any) -> str:
    """What is wrong with a request, and where."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where + ': ' if where else ''}{first['msg']}{more}"


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """What the documentation says of a body that `_read` reads."""
    schema = model.model_json_schema()
    whole = _inlined(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": whole}}}}


def _inlined(schema: Any, named: dict[str, Any]) -> Any:
    """A schema without references: these would lead outside of it. (No body holds itself.)"""
    if isinstance(schema, list):
        return [_inlined(part, named) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(named[schema["$ref"].rpartition("/")[2]], named)
    return {name: _inlined(part, named) for name, part in schema.items()}


def _json(content: Any, status: int = 200) -> Response:
    return Response(json.dumps(content), status, media_type="application/json")


def _answer_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        content: dict[str, Any] = {
            "error": type(error).__name__,
            "message": getattr(error, "message", None) or str(error),
            "position": getattr(error, "position", None),
        }
        return JSONResponse(content, status_of(error), headers=dict(_decoded(getattr(error, "headers", ()))))

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return JSONResponse({"error": "MalformedRequest", "message": _told(error.errors())}, 422)

    async def other(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": "HTTPException", "message": error.detail}, error.status_code, error.headers)

    app.add_exception_handler(TellwhenError, refused)
    app.add_exception_handler(MemoryError, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, other)


def _decoded(headers: Any) -> list[tuple[str, str]]:
    return [(name.decode(), value.decode()) for name, value in headers]


def _health(app: FastAPI, tenants: Tenants) -> None:
    @app.get("/healthz", tags=["operations"], responses={})
    async def healthy() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operations"], responses={503: {"description": "Something is wrong on disk."}})
    async def ready() -> Response:
        """Indexes are open, and changes can be written."""
        failures = [tenant.kept.failure for tenant in tenants.opened() if tenant.kept.failure]
        return _json({"status": failures[0] if failures else "ready"}, 503 if failures else 200)


def _subscriptions(app: FastAPI, service: _Service) -> None:
    limits = service.limits

    def row(given: models.Given, id_: Any) -> list[Any]:
        asking.checked_expression(given.expression, limits)
        return [id_, given.expression, given.score, given.weights, given.payload]

    @app.post("/v1/subscriptions", tags=["subscriptions"], openapi_extra=_body(models.AddMany))
    async def add_many(request: Request) -> models.Added:
        """Add many: all of them or, in quarantine, those that are good."""
        given = await _read(request, models.AddMany)
        if len(given.subscriptions) > limits.subscriptions:
            raise TooLarge(f"a request has at most {limits.subscriptions:,} subscriptions; send several")
        rows = [row(one, one.id) for one in given.subscriptions]
        tenant = _tenant(request)
        result = await service.change(tenant, changes.adding(rows, given.replace, given.errors))
        tenant.metrics.rejected.inc(len(result["rejected"]))
        return models.Added(**{**result, "rejected": [one._asdict() for one in result["rejected"]]})

    @app.put(
        "/v1/subscriptions/{id:any}",
        tags=["subscriptions"],
        openapi_extra=_body(models.Given),
        response_model=models.Shown,
        responses={201: {"model": models.Shown, "description": "It is new."}},
    )
    async def put(request: Request, id: str, id_type: IdType = "str", replace: bool = True) -> Response:
        """Add a subscription, or replace the one of this id."""
        given = await _read(request, models.Given)
        id_, tenant = _id_of(id, id_type), _tenant(request)
        result = await service.change(tenant, changes.adding([row(given, id_)], replace))
        return _json(asking.shown(tenant.index, id_), 201 if result["added"] else 200)

    @app.get("/v1/subscriptions/{id:any}", tags=["subscriptions"])
    async def get(request: Request, id: str, id_type: IdType = "str") -> models.Shown:
        """One subscription."""
        return models.Shown(**asking.shown(_tenant(request).index, _id_of(id, id_type)))

    @app.delete("/v1/subscriptions/{id:any}", tags=["subscriptions"])
    async def remove(request: Request, id: str, id_type: IdType = "str") -> models.Removed:
        """Remove a subscription."""
        return models.Removed(**await service.change(_tenant(request), changes.removing([_id_of(id, id_type)])))

    @app.post("/v1/subscriptions/remove", tags=["subscriptions"], openapi_extra=_body(models.RemoveMany))
    async def remove_many(request: Request) -> models.Removed:
        """Remove many: all of them or, if one is unknown, none."""
        given = await _read(request, models.RemoveMany)
        return models.Removed(**await service.change(_tenant(request), changes.removing(given.ids, given.missing)))

    @app.post("/v1/scores", tags=["subscriptions"], openapi_extra=_body(models.SetScores))
    async def set_scores(request: Request) -> models.Scored:
        """Change what subscriptions are worth: all of them or, if one is unknown, none."""
        given = await _read(request, models.SetScores)
        scores = [[one.id, one.score] for one in given.scores]
        return models.Scored(**await service.change(_tenant(request), changes.scoring(scores, given.missing)))

    @app.get("/v1/subscriptions", tags=["subscriptions"])
    async def page(
        request: Request,
        text: Annotated[str | None, Query(description="Occurs in the expression or the id.")] = None,
        mentions: Annotated[str | None, Query(description="An attribute that the expression mentions.")] = None,
        constant: Annotated[str | None, Query(description="A constant, as JSON or text.")] = None,
        after: Annotated[str | None, Query(description="The `next` of the page before.")] = None,
        id_type: IdType = "str",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> models.Page:
        """List subscriptions, or search them, in the order they were added."""
        index = _tenant(request).index
        begin = None if after is None else _id_of(after, id_type)
        found = await service.beside(
            lambda ends: asking.page(index, begin, limit, text, mentions, _value(constant), ends)
        )
        return models.Page(**found)


def _value(text: str | None) -> Any:
    """A number or a Boolean as JSON; any other text is itself."""
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, str | int | float | bool) else text


def _id_of(text: str, id_type: str) -> Any:
    """An id in an address, where all is text."""
    if id_type == "str":
        return text
    if not re.fullmatch(r"-?[0-9]{1,20}", text):
        raise MalformedRequest(f"{shown(text)} is no integer, as id_type=int says")
    return int(text)


def _events(app: FastAPI, service: _Service) -> None:
    limits = service.limits

    @app.post("/v1/publish", tags=["events"], openapi_extra=_body(models.Publish), response_model=models.Matches)
    async def publish(request: Request) -> Response:
        """An event: what does it match? Those who listen are told."""
        asked, tenant = await _read(request, models.Publish), _tenant(request)
        index = tenant.index
        ids, seconds = await service.quickly(lambda: asking.timed_match(index, asked))
        tenant.metrics.match_seconds.observe(seconds)
        asking.published(tenant, asked.event, ids)
        return _json(asking.answered(index, asked, ids, limits))

    @app.post("/v1/match", tags=["events"], openapi_extra=_body(models.Publish), response_model=models.Matches)
    async def match(request: Request) -> Response:
        """The same, but it is only asked: nobody is told, and nothing is counted."""
        asked, index = await _read(request, models.Publish), _tenant(request).index
        ids, _ = await service.quickly(lambda: asking.timed_match(index, asked))
        return _json(asking.answered(index, asked, ids, limits))

    @app.post(
        "/v1/publish/many", tags=["events"], openapi_extra=_body(models.PublishMany), response_model=models.ManyMatches
    )
    async def publish_many(request: Request) -> Response:
        """Many events at once."""
        asked, tenant = await _read(request, models.PublishMany), _tenant(request)
        index = tenant.index
        found = await service.beside(lambda ends: asking.matched_many(index, asked, limits, ends))
        for event, ids in zip(asked.events, found, strict=True):
            asking.published(tenant, event, ids)
        return _json({"count": sum(map(len, found)), "matches": found})

    @app.post("/v1/top-k", tags=["events"], openapi_extra=_body(models.TopK), response_model=models.BestMatches)
    async def top_k(request: Request) -> Response:
        """The k best of the subscriptions that an event matches, by their scores."""
        asked, index = await _read(request, models.TopK), _tenant(request).index
        return _json({"matches": await service.beside(lambda _: asking.best(index, asked))})


def _expressions(app: FastAPI, service: _Service) -> None:
    limits = service.limits

    @app.post("/v1/explain", tags=["expressions"], openapi_extra=_body(models.Explain))
    async def explain(request: Request) -> models.Explained:
        """Why does an event match, or why not?"""
        asked, index = await _read(request, models.Explain), _tenant(request).index
        return models.Explained(**await service.beside(lambda _: asking.explained(index, asked, limits)))

    @app.post("/v1/validate", tags=["expressions"], openapi_extra=_body(models.Validate))
    async def validate(request: Request) -> models.Validated:
        """Is it an expression? What is wrong with it, and where; and what is probably not meant."""
        asked, index = await _read(request, models.Validate), _tenant(request).index
        return models.Validated(**await service.beside(lambda _: asking.validated(index, asked.expression, limits)))

    @app.post("/v1/dry-run", tags=["expressions"], openapi_extra=_body(models.Validate))
    async def dry_run(request: Request) -> models.DryRun:
        """How many of the events that were published last would it have matched?"""
        asked, tenant = await _read(request, models.Validate), _tenant(request)
        return models.DryRun(**await service.beside(lambda _: asking.tried(tenant, asked.expression, limits)))


def _looking(app: FastAPI, service: _Service) -> None:
    @app.get("/v1", tags=["operations"])
    async def about(request: Request) -> dict[str, Any]:
        """What is served, and what this key may do."""
        tenant = _tenant(request)
        return {
            "version": tw.__version__,
            "tenant": tenant.name,
            "roles": list(request.state.key.roles),
            "subscriptions": len(tenant.index),
            "changes": not isinstance(tenant.kept, Followed),
            "index_version": getattr(tenant.kept, "version", None),
        }

    @app.get("/v1/attributes", tags=["operations"])
    async def attributes(request: Request) -> dict[str, str]:
        """The attributes that subscriptions ask for, with their types."""
        index = _tenant(request).index
        return await service.beside(lambda _: index.types)

    @app.get("/v1/stats", tags=["operations"])
    async def stats(request: Request) -> dict[str, Any]:
        """What the console shows: counts, times, the plan and the heaviest predicates."""
        tenant = _tenant(request)
        return await service.beside(lambda _: asking.stats(tenant))

    @app.get("/metrics", tags=["operations"], response_class=Response)
    async def metrics(request: Request) -> Response:
        """For Prometheus."""
        return Response(_tenant(request).metrics.text(), media_type="text/plain; version=0.0.4")


def _listening(app: FastAPI, service: _Service) -> None:
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
        tenant = _tenant(request)
        if len(tenant.live) >= service.limits.listeners:
            raise TooMany(f"at most {service.limits.listeners:,} connections listen")
        if filter is not None:
            asking.alone(tw.Index(), filter, service.limits)
        listener = Listener(subscriber, [_id_of(one, id_type) for one in id or ()])
        return EventStream(listener, tenant.live.listen(listener, filter), service.limits.seconds)
