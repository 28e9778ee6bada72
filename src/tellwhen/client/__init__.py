"""Clients of a service: the calls of `Index` over HTTP, with and without `await`.

    call ──> HTTP request ──> service ──> JSON answer ──> result, or the error that `Index` raises

>>> from tellwhen.client import Client
>>> with Client("http://127.0.0.1:8080") as client:                     # doctest: +SKIP
...     client.add("ann", "price < 20", payload={"subscriber": "ann"})
...     client.publish({"price": 12})
['ann']
"""

from tellwhen.client.asynchronous import AsyncClient
from tellwhen.client.errors import ServiceError
from tellwhen.client.messages import Message
from tellwhen.client.pages import SubscriptionPage
from tellwhen.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "Message", "ServiceError", "SubscriptionPage"]
