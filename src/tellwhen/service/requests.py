"""What do all paths share? How a body is read, how long work is kept from holding up others, how a change is made."""

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
from tellwhen.service.errors import MalformedRequest, TooSlow, status_of
from tellwhen.service.json_output import json_bytes
from tellwhen.service.match_timing import Pace
from tellwhen.service.settings import Limits
from tellwhen.service.tenants import Tenant

ASKING_THREADS, MATCHING_THREADS = 4, 2
QUICK_SECONDS, QUICK_BYTES = 0.002, 8 << 10
"""Where matching takes longer than this on average, or a request is larger, it is done beside the loop that answers
everybody."""

Found = TypeVar("Found")
IdType = Annotated[Literal["str", "int"], Query(description="Are the ids in the address strings, or integers?")]


class Service:
    """What the routes share."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # Two, so that those who publish never wait for those who search or explain.
        self._asking = ThreadPoolExecutor(ASKING_THREADS, thread_name_prefix="tellwhen-ask")
        self._matching = ThreadPoolExecutor(MATCHING_THREADS, thread_name_prefix="tellwhen-match")

    def close(self) -> None:
        for pool in (self._asking, self._matching):
            pool.shutdown(wait=False, cancel_futures=True)

    async def beside(self, run: Callable[[float], Found], pool: ThreadPoolExecutor | None = None) -> Found:
        """Run something that may take long, in a thread: it is told when it must end."""
        ends = time.monotonic() + self.limits.seconds
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await loop.run_in_executor(pool or self._asking, run, ends)
        except TimeoutError:
            raise TooSlow(f"it took longer than {self.limits.seconds:g} seconds") from None

    async def quickly(self, pace: Pace, size: int, match: Callable[[], Found]) -> Found:
        """Match an event of a request of this size, which is usually quick: here, unless it was not lately."""
        if pace.seconds < QUICK_SECONDS and size <= QUICK_BYTES:
            return pace.timed(match)
        return await self.beside(lambda _: pace.timed(match), self._matching)

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
        tenant.metrics.changes.labels(change["do"]).inc(changes.count_subscriptions(change))
        return result


def tenant_of(request: Request) -> Tenant:
    found: Tenant = request.state.tenant
    return found


def json_answer(content: Any, status: int = 200) -> Response:
    return Response(json_bytes(content), status, media_type="application/json")


def refusal(error: Exception) -> Response:
    """The answer to what cannot be done."""
    content: dict[str, Any] = {
        "error": type(error).__name__,
        "message": getattr(error, "message", None) or str(error),
        "position": getattr(error, "position", None),
    }
    answer = json_answer(content, status_of(error))
    answer.raw_headers.extend(getattr(error, "headers", ()))
    return answer


def id_of(text: str, id_type: str) -> Any:
    """An id in an address, where all is text."""
    if id_type == "str":
        return text
    if not re.fullmatch(r"-?[0-9]{1,20}", text):
        raise MalformedRequest(f"{abbreviate(text)} is no integer, as id_type=int says")
    return int(text)
