"""Pages of subscriptions."""

from __future__ import annotations

from typing import NamedTuple

from tellwhen.index.subscriptions import Subscription


class SubscriptionPage(NamedTuple):
    """A page of subscriptions, which `Client.list_subscriptions` returns.

    Attributes
    ----------
    subscriptions : list of Subscription
        The subscriptions of this page, in the order in which their ids were first added.
    next : str or None
        An opaque cursor: pass it as `start` to get the next page. None on the last page.
    """

    subscriptions: list[Subscription]
    next: str | None
