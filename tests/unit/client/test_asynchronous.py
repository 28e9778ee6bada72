"""The async client."""

import asyncio

from tellwhen.client import AsyncClient


def test_many_calls_run_at_once(address):
    async def ask():
        async with AsyncClient(address) as client:
            await client.remove_many([subscription.id async for subscription in client.iter_subscriptions()])
            await asyncio.gather(*(client.add(number, f"x > {number}") for number in range(50)))
            found = await asyncio.gather(*(client.publish({"x": number}) for number in range(50)))
            return [sorted(ids) for ids in found]

    assert asyncio.run(ask()) == [list(range(number)) for number in range(50)]
