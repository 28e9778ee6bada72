"""Listeners and the matches that wait for them.

A listener may restrict its matches to one subscriber (the `subscriber` of payloads), to some ids, and to events that
satisfy a filter. Filters are expressions, and an index of their own finds the filters that an event satisfies.

If a listener reads too slowly, its oldest waiting messages are dropped, and the stream says how many were lost.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tellwhen.index import Index
from tellwhen.language.schema import Schema
from tellwhen.service.match_timing import MatchTiming
from tellwhen.service.messages import MatchMessage

WAITING_MESSAGES_MAX = 1_000
"""Messages that wait for one listener; further ones replace the oldest."""
SUBSCRIBER_FIELD = "subscriber"
"""Field of a payload that names the subscriber."""


class Listener:
    """One connection: its conditions on matches, and the messages that wait for it."""

    def __init__(
        self, subscriber: str | None = None, ids: Iterable[Any] = (), waiting_max: int = WAITING_MESSAGES_MAX
    ) -> None:
        self.subscriber = subscriber
        self.ids = frozenset(ids)
        self.unreported_losses = 0  # messages that were dropped since the stream reported a loss
        self.is_closed = False
        self._waiting: deque[MatchMessage] = deque()
        self._waiting_max = waiting_max
        self._has_messages = asyncio.Event()  # set also when the listener is closed

    def enqueue(self, message: MatchMessage) -> int:
        """Add a message to the waiting ones; return how many messages were dropped for it, 0 or 1."""
        dropped = int(len(self._waiting) >= self._waiting_max)
        if dropped:
            self._waiting.popleft()
            self.unreported_losses += 1
        self._waiting.append(message)
        self._has_messages.set()
        return dropped

    def close(self) -> None:
        """Close the listener and wake up the stream that waits for messages."""
        self.is_closed = True
        self._has_messages.set()

    async def receive(self) -> list[MatchMessage]:
        """Wait for messages; remove and return all of them. The list is empty if the listener was closed."""
        await self._has_messages.wait()
        self._has_messages.clear()
        messages = list(self._waiting)
        self._waiting.clear()
        return messages


class ListenerRegistry:
    """The listeners of a tenant. All methods but `match_filters` belong to the thread of the event loop."""

    def __init__(self, schema: Schema | None = None) -> None:
        """Create a registry without listeners. Filters are read with the schema of the tenant."""
        self._filters = Index(schema=schema)
        self.filter_timing = MatchTiming()
        self._by_filter: dict[int, Listener] = {}
        # Listeners without a filter are looked up by subscriber or id, so that an event costs nothing for the others.
        self._by_subscriber: dict[str, set[Listener]] = defaultdict(set)
        self._by_id: dict[Any, set[Listener]] = defaultdict(set)
        self._unconditional: set[Listener] = set()
        self._last_filter_number = 0
        self._subscriber_conditions = 0  # listeners that ask for one subscriber, with or without a filter
        self._all: set[Listener] = set()
        self.sent_messages = 0
        self.lost_messages = 0

    def __len__(self) -> int:
        return len(self._all)

    @property
    def needs_subscribers(self) -> bool:
        """Whether `deliver` needs the ids by subscriber, which take time to look up."""
        return self._subscriber_conditions > 0

    @property
    def filter_count(self) -> int:
        return len(self._by_filter)

    def add(self, listener: Listener, filter_text: str | None = None) -> Callable[[], None]:
        """Register a listener; return the function that removes it, which may be called more than once.

        With `filter_text`, the listener only gets events that satisfy this expression.
        """
        if filter_text is None:
            unregister = self._register_unfiltered(listener)
        else:
            unregister = self._register_filtered(listener, filter_text)
        self._subscriber_conditions += listener.subscriber is not None
        self._all.add(listener)

        is_registered = True

        def remove() -> None:
            nonlocal is_registered
            if is_registered:
                is_registered = False
                unregister()
                self._subscriber_conditions -= listener.subscriber is not None
                self._all.discard(listener)

        return remove

    def _register_filtered(self, listener: Listener, filter_text: str) -> Callable[[], None]:
        self._last_filter_number += 1
        number = self._last_filter_number
        self._filters.add(number, filter_text)
        self._by_filter[number] = listener

        def unregister() -> None:
            del self._by_filter[number]
            self._filters.remove(number)

        return unregister

    def _register_unfiltered(self, listener: Listener) -> Callable[[], None]:
        registry: dict[Any, set[Listener]]
        keys: list[Any]
        if listener.subscriber is not None:
            registry, keys = self._by_subscriber, [listener.subscriber]
        else:
            registry, keys = self._by_id, list(listener.ids)
        for key in keys:
            registry[key].add(listener)
        if not keys:
            self._unconditional.add(listener)

        def unregister() -> None:
            self._unconditional.discard(listener)
            for key in keys:
                registry[key].discard(listener)
                if not registry[key]:
                    del registry[key]

        return unregister

    def close_all(self) -> None:
        """Close all listeners, so that their connections end before the service stops."""
        for listener in self._all:
            listener.close()

    def match_filters(self, event: Mapping[str, Any]) -> list[Any]:
        """Return the numbers of the filters that an event satisfies. This may take long, and any thread may call it."""
        return self._filters.match(event)

    def deliver(
        self,
        event: Mapping[str, Any],
        ids: list[Any],
        ids_by_subscriber: Mapping[str, list[Any]],
        satisfied_filters: Iterable[Any] = (),
    ) -> None:
        """Send an event and the ids of its matches to all listeners whose conditions they satisfy.

        `ids_by_subscriber` is only read if `needs_subscribers`, and `satisfied_filters` only if there are filters.
        """
        if not self._all or not ids:
            return
        filtered = {self._by_filter[number] for number in satisfied_filters if number in self._by_filter}
        listeners = self._unconditional | filtered
        if self._by_id:
            listeners |= {listener for id_ in ids for listener in self._by_id.get(id_, ())}
        if self._by_subscriber:
            listeners |= {listener for name in ids_by_subscriber for listener in self._by_subscriber.get(name, ())}
        messages: dict[str | None, MatchMessage] = {None: MatchMessage(event, ids)}
        for listener in listeners:
            name = listener.subscriber
            if name not in messages:
                messages[name] = MatchMessage(event, ids_by_subscriber.get(name, []) if name is not None else ids)
            message = messages[name]
            if listener.ids:
                message = MatchMessage(event, [id_ for id_ in message.matches if id_ in listener.ids])
            if message.matches:
                self.sent_messages += 1
                self.lost_messages += listener.enqueue(message)


def group_by_subscriber(ids: list[Any], subscribers: list[Any]) -> dict[str, list[Any]]:
    """Group ids by the `subscriber` values of their payloads.

    An integer is converted to text, because a query parameter is text. Values of other types are ignored.
    """
    groups: dict[str, list[Any]] = defaultdict(list)
    for id_, subscriber in zip(ids, subscribers, strict=True):
        if isinstance(subscriber, str | int):
            groups[str(subscriber)].append(id_)
    return groups
