"""Pages of subscriptions, and searches in them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from tellwhen.index import Index
from tellwhen.index.listing import ListedSubscription, find_ordinal, iter_listing
from tellwhen.service.answers import describe_subscription, group_ids_by_subscriber
from tellwhen.service.cursors import Cursor
from tellwhen.service.errors import CursorExpired, TooSlow

SUBSCRIPTIONS_PER_DEADLINE_CHECK = 1_000


class Search(NamedTuple):
    """Conditions that listed subscriptions satisfy; None for any."""

    text: str | None = None
    mentions: str | None = None
    constant: Any = None
    subscriber: str | None = None


def list_page(
    index: Index, start: Cursor | str | int | None, limit: int, search: Search, deadline: float, index_version: int = 0
) -> dict[str, Any]:
    """Return up to `limit` subscriptions in the order in which their ids were first added, and the next cursor.

    A page begins behind a cursor, at an id, or at the beginning. It is read from one state of the index.
    """
    matches = _iter_matches(index, _find_position(index, start, index_version), search, deadline)
    page = list(islice(matches, limit))
    has_more = len(page) == limit and next(matches, None) is not None
    return {
        "subscriptions": [describe_subscription(listed.read()) for listed in page],
        "next": Cursor(page[-1].ordinal, index_version).encode() if has_more else None,
    }


def _find_position(index: Index, start: Cursor | str | int | None, index_version: int) -> int:
    """Return the ordinal behind which a page begins."""
    if start is None:
        return -1
    if not isinstance(start, Cursor):
        return find_ordinal(index, start) - 1
    if start.index_version != index_version:
        raise CursorExpired(
            f"this cursor belongs to version {start.index_version} of the index, and version {index_version} is served "
            "now; list from the beginning, without start"
        )
    return start.ordinal


def _iter_matches(index: Index, after: int, search: Search, deadline: float) -> Iterator[ListedSubscription]:
    """Yield the subscriptions behind an ordinal that satisfy a search."""
    listing = iter_listing(index, after)
    text = None if search.text is None else search.text.casefold()
    mentioning_ids = None
    if search.mentions is not None or search.constant is not None:
        options = {} if search.constant is None else {"constant": search.constant}
        mentioning_ids = set(index.inspect.find_mentions(search.mentions, **options))
    while chunk := list(islice(listing, SUBSCRIPTIONS_PER_DEADLINE_CHECK)):
        if time.monotonic() > deadline:
            raise TooSlow("the search took too long; add `mentions` with an attribute to narrow the search")
        if mentioning_ids is not None:
            chunk = [listed for listed in chunk if listed.id in mentioning_ids]
        if search.subscriber is not None:
            groups = group_ids_by_subscriber(index, [listed.id for listed in chunk])
            ids = {*groups.get(search.subscriber, ())}
            chunk = [listed for listed in chunk if listed.id in ids]
        for listed in chunk:
            if text is None or text in listed.text.casefold() or text in str(listed.id).casefold():
                yield listed
