"""An `AsyncClient` without `await`, so that both kinds of client pass the same tests."""

import asyncio
from collections.abc import AsyncIterator, Coroutine

from tellwhen.client import AsyncClient, Client


class BlockingAsyncClient:
    """An `AsyncClient` with the methods of `Client`: it waits for every answer."""

    def __init__(self, address, key=None, **options):
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(address, key, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._loop.run_until_complete(self._client.close())
        self._loop.close()

    def __len__(self):
        return self.get_service_info()["subscriptions"]

    def __getattr__(self, name):
        def call(*args, **kwargs):
            result = getattr(self._client, name)(*args, **kwargs)
            if isinstance(result, AsyncIterator):
                return self._iterate(result)
            assert isinstance(result, Coroutine)
            return self._loop.run_until_complete(result)

        return call

    def _iterate(self, results):
        try:
            while True:
                try:
                    yield self._loop.run_until_complete(anext(results))
                except StopAsyncIteration:
                    return
        finally:
            self._loop.run_until_complete(results.aclose())


CLIENT_KINDS = [Client, BlockingAsyncClient]
