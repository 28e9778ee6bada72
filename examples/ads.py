"""Ads with bids and budgets: which ads may be shown to a visitor, and which of them pay most? `python examples/ads.py`

The guide to it is docs/howto/ads.md.
"""

import random
from typing import Any

import tellwhen as tw

CITIES, SEGMENTS = ["Rome", "Oslo", "Lima", "Pune"], ["sports", "travel", "food", "cars", "minors"]
ADS, VISITORS = 5_000, 2_000
DAILY_BUDGET = 10.0
CAP = 3
"""So many times a visitor sees the same ad."""

Visitor = dict[str, Any]


def ads(rng: random.Random) -> list[tuple[Any, ...]]:
    """Id, targeting, bid, no weights, and payload of every ad."""
    rows: list[tuple[Any, ...]] = []
    for number in range(ADS):
        low = rng.randint(18, 60)
        cities = ", ".join(f"'{city}'" for city in rng.sample(CITIES, rng.randint(1, 3)))
        targeting = (
            f"age BETWEEN {low} AND {low + 15} AND city IN ({cities}) "
            f"AND segments HAS ANY ('{rng.choice(SEGMENTS[:4])}') AND segments HAS NONE ('minors')"
        )
        bid = round(rng.uniform(0.1, 4), 2)
        rows.append((f"ad-{number}", targeting, bid, None, {"advertiser": rng.randint(1, 50), "text": f"Ad {number}"}))
    return rows


def visitors(rng: random.Random) -> list[Visitor]:
    """Several visits of each of 100 people."""
    people = [
        {"age": rng.randint(18, 70), "city": rng.choice(CITIES), "segments": rng.sample(SEGMENTS, 2), "person": number}
        for number in range(100)
    ]
    return [rng.choice(people) for _ in range(VISITORS)]


class Server:
    """Shows ads, one to a visitor, as long as their budgets last, and none too often to the same person."""

    def __init__(self, index: tw.Index) -> None:
        self.index = index
        self.bids = {ad: index.score(ad) for ad in index}
        self.spent = dict.fromkeys(index, 0.0)
        self.seen: dict[tuple[int, Any], int] = {}
        self.capped: dict[int, set[Any]] = {}

    def show(self, visitor: Visitor) -> Any:
        """The ad that pays most, of those that this person has not seen too often; None if there is none."""
        person = visitor["person"]
        capped = self.capped.setdefault(person, set())
        # At most len(capped) answers are capped: one more than that is enough.
        for ad, _ in self.index.top_k(visitor, k=1 + len(capped)):
            if ad not in capped:
                self._charge(ad, person)
                return ad
        return None

    def _charge(self, ad: Any, person: int) -> None:
        self.spent[ad] += self.bids[ad]
        if self.spent[ad] + self.bids[ad] > DAILY_BUDGET:
            self.index.discard(ad)
        self.seen[person, ad] = self.seen.get((person, ad), 0) + 1
        if self.seen[person, ad] == CAP:
            self.capped[person].add(ad)

    def pace(self, share_of_day: float) -> None:
        """Lower the scores of the ads that have spent more than their share of the day."""
        planned = DAILY_BUDGET * share_of_day
        self.index.set_scores({ad: self.bids[ad] * min(1.0, planned / max(self.spent[ad], 0.01)) for ad in self.index})


def main() -> None:
    rng = random.Random(1)
    index = tw.Index().add_many(ads(rng))
    day = visitors(rng)

    visitor = {"age": 33, "city": "Rome", "segments": ["sports", "food"]}
    print(f"{index.count(visitor)} of {len(index)} ads may be shown to {visitor}; the best five:")
    for ad, bid in index.top_k(visitor, k=5):
        payload = index.payload(ad)
        print(f"  {bid:.2f}  {payload['text']} of advertiser {payload['advertiser']}")
    print(f"the best of advertiser 7: {index.top_k(visitor, k=1, where={'advertiser': 7})}")

    reached = index.count_many(day, by="subscription").to_pydict()
    print(f"on such a day, an ad may be shown to {max(reached['count'])} of {VISITORS} visitors at most")

    server = Server(index)
    shown = 0
    for number, one in enumerate(day):
        if number % 100 == 0:
            server.pace((number + 100) / VISITORS)
        shown += server.show(one) is not None
    money = sum(server.spent.values())
    print(f"{shown} ads shown to {VISITORS} visitors for {money:.2f}; {ADS - len(index)} have spent their budgets")

    late = {"age": 33, "city": "Rome", "segments": ["food"]}
    missed = next(ad for ad in index if not index[ad].evaluate(late))
    print(f"why not {missed}?")
    print(index.explain(missed, late))


if __name__ == "__main__":
    main()
