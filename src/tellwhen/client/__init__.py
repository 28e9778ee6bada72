"""How does a program use a service? Calls that mirror `Index`, with and without `await`.

>>> from tellwhen.client import Client
>>> with Client("http://127.0.0.1:8080") as client:                     # doctest: +SKIP
...     client.add("ann", "price < 20", payload={"subscriber": "ann"})
...     client.publish({"price": 12})
['ann']
"""

from tellwhen.client.asynchronous import AsyncClient
from tellwhen.client.errors import ServiceError
from tellwhen.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "ServiceError"]
