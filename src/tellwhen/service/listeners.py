"""Who listens, and what is new for them? Matches, as they are published.

A listener may ask for the subscriptions of one subscriber (the `subscriber` of their payloads), for some ids, and for
events that satisfy a filter. Filters are expressions, and an index of their own finds which are satisfied.

A listener that reads too slowly loses the oldest of what waits for it, and is told how much.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tellwhen.index import Index
from tellwhen.language.schema import Schema
from tellwhen.service.match_timing import Pace
from tellwhen.service.messages import News

WAITING_MAX = 1_000
"""Messages that wait for one listener."""
SUBSCRIBER = "subscriber"
"""The name in a payload that says whose subscription it is."""


class Listener:
    """One who listens. `next` waits for what is new."""

    def __init__(self, subscriber: str | None = None, ids: Iterable[Any] = (), waiting_max: int = WAITING_MAX) -> None:
        self.subscriber = subscriber
        self.ids = frozenset(ids)
        self.lost = 0  # since it was told
        self._waiting: deque[News] = deque()
        self._most = waiting_max
        self._is_new = asyncio.Event()
        self.is_ended = False

    def tell(self, message: News) -> int:
        """Something is new; returns how many messages were lost by it."""
        lost = len(self._waiting) >= self._most
        if lost:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append(message)
        self._is_new.set()
        return int(lost)

    def end(self) -> None:
        """There will be nothing new."""
        self.is_ended = True
        self._is_new.set()

    async def next(self) -> list[News]:
        """All messages that wait, as soon as there is one."""
        await self._is_new.wait()
        self._is_new.clear()
        found = list(self._waiting)
        self._waiting.clear()
        return found


class Live:
    """The listeners of a tenant. Used by one thread."""

    def __init__(self, schema: Schema | None = None) -> None:
        """`schema` is what expressions of the tenant are read by, and so filters."""
        self._filters = Index(schema=schema)
        self.pace = Pace()
        self._filtered: dict[int, Listener] = {}
        # Those without a filter: by subscriber, by id, or neither. An event costs nothing for whom it does not concern.
        self._of_subscriber: dict[str, set[Listener]] = defaultdict(set)
        self._of_id: dict[Any, set[Listener]] = defaultdict(set)
        self._others: set[Listener] = set()
        self._numbers = 0
        self._with_subscriber = 0
        self._all: set[Listener] = set()
        self.sent = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self._all)

    @property
    def asks_for_subscribers(self) -> bool:
        """Must it be known whose subscriptions an event matched? To find out takes time."""
        return self._with_subscriber > 0

    @property
    def filters(self) -> int:
        return len(self._filtered)

    def listen(self, listener: Listener, wanted: str | None = None) -> Callable[[], None]:
        """Begin to listen, to events that satisfy an expression if one is given. What is returned ends it."""
        leave = self._listen_unfiltered(listener) if wanted is None else self._listen_filtered(listener, wanted)
        self._with_subscriber += listener.subscriber is not None
        self._all.add(listener)

        def leave_once() -> None:
            nonlocal leave
            if leave is not None:
                leave()
                leave = None
                self._with_subscriber -= listener.subscriber is not None
                self._all.discard(listener)

        return leave_once

    def _listen_filtered(self, listener: Listener, wanted: str) -> Callable[[], None] | None:
        self._numbers += 1
        number = self._numbers
        self._filters.add(number, wanted)
        self._filtered[number] = listener

        def leave() -> None:
            del self._filtered[number]
            self._filters.remove(number)

        return leave

    def _listen_unfiltered(self, listener: Listener) -> Callable[[], None] | None:
        if listener.subscriber is not None:
            places, names = self._of_subscriber, [listener.subscriber]
        else:
            places, names = self._of_id, list(listener.ids)
        for name in names:
            places[name].add(listener)
        if not names:
            self._others.add(listener)

        def leave() -> None:
            self._others.discard(listener)
            for name in names:
                places[name].discard(listener)
                if not places[name]:
                    del places[name]

        return leave

    def end(self) -> None:
        """The service stops: tell all who listen, so that nobody waits for them."""
        for listener in self._all:
            listener.end()

    def satisfied(self, event: Mapping[str, Any]) -> list[Any]:
        """The numbers of the filters that an event satisfies. Any thread may ask, and it may take long."""
        return self._filters.match(event)

    def tell(
        self,
        event: Mapping[str, Any],
        ids: list[Any],
        by_subscriber: Mapping[str, list[Any]],
        satisfied: Iterable[Any] = (),
    ) -> None:
        """An event was published, and matched these subscriptions. Whose they are matters if `asks_for_subscribers`,
        and which filters it satisfies if there are `filters`."""
        if not self._all or not ids:
            return
        listeners = {*self._others, *(self._filtered[number] for number in satisfied if number in self._filtered)}
        if self._of_id:
            listeners |= {listener for id_ in ids for listener in self._of_id.get(id_, ())}
        if self._of_subscriber:
            listeners |= {listener for name in by_subscriber for listener in self._of_subscriber.get(name, ())}
        news: dict[str | None, News] = {None: News(event, ids)}
        for listener in listeners:
            name = listener.subscriber
            if name not in news:
                news[name] = News(event, by_subscriber.get(name, []) if name is not None else ids)
            one = news[name]
            if listener.ids:
                one = News(event, [id_ for id_ in one.matches if id_ in listener.ids])
            if one.matches:
                self.sent += 1
                self.lost += listener.tell(one)


def by_subscriber(ids: list[Any], named: list[Any]) -> dict[str, list[Any]]:
    """Whose are these subscriptions? `named` has what their payloads say."""
    found: dict[str, list[Any]] = defaultdict(list)
    for id_, subscriber in zip(ids, named, strict=True):
        if isinstance(subscriber, str | int):
            found[str(subscriber)].append(id_)  # in an address, all is text
    return found
