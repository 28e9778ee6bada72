"""Helpers of all routes: running work within the time limit, submitting changes, and building responses."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Query, Request
from fastapi.responses import Response

from tellwhen.errors import abbreviate
from tellwhen.service import changes
from tellwhen.service.errors import MalformedRequest, TooSlow, get_status
from tellwhen.service.json_output import encode_json
from tellwhen.service.match_timing import MatchTiming
from tellwhen.service.settings import TIMEOUTS, Limits, Timeouts
from tellwhen.service.tenants import Tenant

QUERY_THREADS = 4
MATCH_THREADS = 2
INLINE_BYTES_MAX = 8 << 10
"""Match in the event loop only if a request has at most 8 KiB."""

Result = TypeVar("Result")
IdType = Annotated[
    Literal["str", "int"], Query(description="Type of the ids in the address: strings (`str`) or integers (`int`).")
]


class RequestRunner:
    """Runs the work of requests, in threads or in the event loop, within the time limit."""

    def __init__(self, limits: Limits, timeouts: Timeouts = TIMEOUTS) -> None:
        self.limits, self.timeouts = limits, timeouts
        # Separate pools, so that events never wait for searches or explanations.
        self._query_pool = ThreadPoolExecutor(QUERY_THREADS, thread_name_prefix="tellwhen-ask")
        self._match_pool = ThreadPoolExecutor(MATCH_THREADS, thread_name_prefix="tellwhen-match")

    def close(self) -> None:
        """Cancel waiting work; do not wait for running work."""
        for pool in (self._query_pool, self._match_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    async def run_in_thread(self, run: Callable[[float], Result], pool: ThreadPoolExecutor | None = None) -> Result:
        """Call a function in a thread; raise `TooSlow` at the time limit.

        A thread cannot be stopped, so `run` gets the deadline (of `time.monotonic`) and should stop by itself.
        """
        deadline = time.monotonic() + self.limits.seconds
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await loop.run_in_executor(pool or self._query_pool, run, deadline)
        except TimeoutError:
            raise TooSlow(f"the request took longer than {self.limits.seconds:g} seconds") from None

    async def match_inline_or_in_thread(
        self, timing: MatchTiming, request_bytes: int, match: Callable[[], Result]
    ) -> Result:
        """Match in the event loop if it is probably quick, and in a thread otherwise."""
        if timing.seconds < self.timeouts.inline_match_seconds and request_bytes <= INLINE_BYTES_MAX:
            return timing.measure(match)
        return await self.run_in_thread(lambda _: timing.measure(match), self._match_pool)

    async def submit_change(self, tenant: Tenant, change: changes.Change) -> Any:
        """Submit a change and return its result, once the change is on disk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def deliver(result: Any) -> None:
            def set_result() -> None:
                if not future.done():
                    future.set_result(result)

            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(set_result)

        tenant.storage.submit(change, deliver)
        try:
            async with asyncio.timeout(self.limits.seconds):
                result = await future
        except TimeoutError:
            raise TooSlow("the change took too long; it may still be made, so check later whether it was") from None
        if isinstance(result, Exception):
            raise result
        tenant.metrics.changes.labels(change["do"]).inc(changes.count_subscriptions(change))
        return result


def get_tenant(request: Request) -> Tenant:
    tenant: Tenant = request.state.tenant
    return tenant


def make_json_response(content: Any, status: int = 200) -> Response:
    return Response(encode_json(content), status, media_type="application/json")


def make_error_response(error: Exception) -> Response:
    content: dict[str, Any] = {
        "error": type(error).__name__,
        "message": getattr(error, "message", None) or str(error),
        "position": getattr(error, "position", None),
    }
    response = make_json_response(content, get_status(error))
    response.raw_headers.extend(getattr(error, "headers", ()))
    return response


def parse_id(text: str, id_type: str) -> Any:
    """Return the id that an address has as text."""
    if id_type == "str":
        return text
    if not re.fullmatch(r"-?[0-9]{1,20}", text):
        raise MalformedRequest(f"{abbreviate(text)} is not an integer; remove id_type=int if the id is a string")
    return int(text)
