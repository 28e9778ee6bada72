"""Deprecated methods and parameters of clients: docs/reference/api.md has the old names with the new ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from tellwhen.client.pages import SubscriptionPage
from tellwhen.deprecation import alias_method, warn_deprecated
from tellwhen.errors import ArgumentError, abbreviate
from tellwhen.index.subscriptions import Subscription

if TYPE_CHECKING:
    from tellwhen.client.calls import ClientMethods, Id
    from tellwhen.index.payloads import Where


def _get_dict(client: Any, id: Id) -> Any:
    """Return `Client.get_subscription` as a dict. Deprecated."""
    warn_deprecated("Client.get()", "Client.get_subscription()")
    return _convert_result(client.get_subscription(id), Subscription._asdict)


def _list_dicts(client: Any, **query: Any) -> Any:
    """Return `Client.list_subscriptions` as dicts. Deprecated."""
    warn_deprecated("Client.page()", "Client.list_subscriptions()")
    return _convert_result(client.list_subscriptions(**query), _convert_page)


def _iter_dicts(client: Any) -> Any:
    """Iterate over `Client.iter_subscriptions` as dicts. Deprecated."""
    warn_deprecated("Client.all()", "Client.iter_subscriptions()")
    subscriptions = client.iter_subscriptions()
    if isinstance(subscriptions, AsyncIterator):
        return (subscription._asdict() async for subscription in subscriptions)
    return (subscription._asdict() for subscription in subscriptions)


class DeprecatedMembers:
    """Old names of the methods of `Client` and `AsyncClient`."""

    get = _get_dict
    page = _list_dicts
    all = _iter_dicts
    stats = alias_method("Client.stats", "get_stats")
    attributes = alias_method("Client.attributes", "get_attributes")
    about = alias_method("Client.about", "get_service_info")
    live = alias_method("Client.live", "listen")


def add_many_with_errors_argument(client: ClientMethods, subscriptions: Any, replace: bool, errors: str) -> Any:
    """Carry out `add_many(errors="quarantine")`."""
    if errors != "quarantine":
        raise ArgumentError(f"errors must be 'raise' or 'quarantine', not {abbreviate(errors)}")
    warn_deprecated('Client.add_many(errors="quarantine")', "Client.add_valid()", stacklevel=3)
    return client.add_valid(subscriptions, replace=replace)


def publish_with_payload_argument(client: ClientMethods, event: Mapping[str, Any] | str, where: Where) -> Any:
    """Carry out `publish(payload=True)`."""
    warn_deprecated("Client.publish(payload=True)", "Client.publish_with_payloads()", stacklevel=3)
    return client.publish_with_payloads(event, where=where)


def match_with_payload_argument(client: ClientMethods, event: Mapping[str, Any] | str, where: Where) -> Any:
    """Carry out `match(payload=True)`."""
    warn_deprecated("Client.match(payload=True)", "Client.match_with_payloads()", stacklevel=3)
    return client.match_with_payloads(event, where=where)


def _convert_page(page: SubscriptionPage) -> dict[str, Any]:
    return {"subscriptions": [subscription._asdict() for subscription in page.subscriptions], "next": page.next}


def _convert_result(result: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert the result of a method of `Client`, or of `AsyncClient` once it is awaited."""

    async def convert_awaited(result: Awaitable[Any]) -> Any:
        return convert(await result)

    return convert_awaited(result) if isawaitable(result) else convert(result)
