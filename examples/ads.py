"""Ads with bids and budgets: which ads may be shown to a visitor, and which of them pay most? `python examples/ads.py`

The guide to it is docs/howto/ads.md.
"""

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tellwhen as tw

CITIES, SEGMENTS = ["Rome", "Oslo", "Lima", "Pune"], ["sports", "travel", "food", "cars", "minors"]
ADS, VISITORS = 5_000, 2_000
DAILY_BUDGET = 10.0
CAP = 3
"""How many times a visitor sees the same ad, at most."""
SPARE = 3
"""Ads to choose from: another thread may spend the budget of the best one meanwhile."""
THREADS = 4

Visitor = dict[str, Any]
Ad = tuple[str, str, float, None, dict[str, Any]]
"""Id, targeting, bid, no weights, and payload."""


def ads(rng: random.Random) -> list[Ad]:
    """All ads."""
    rows: list[Ad] = []
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
    """Shows ads, one to a visitor, as long as their budgets last, and none too often to the same person.

    Several threads may show at once. The index finds the best ads. What was spent and seen is kept here, under a lock:
    another thread may spend the rest of a budget after the ads were found.
    """

    def __init__(self, index: tw.Index, rows: list[Ad]) -> None:
        self.index = index
        self.rows = {row[0]: row for row in rows}  # also of those ads that leave the index
        self.bids: dict[str, float] = {row[0]: row[2] for row in rows}
        self.budget = dict.fromkeys(self.rows, DAILY_BUDGET)
        self.spent = dict.fromkeys(self.rows, 0.0)
        self.seen: Counter[tuple[int, str]] = Counter()
        self.capped: dict[int, set[str]] = {}
        self._ledger = threading.Lock()

    def show(self, visitor: Visitor) -> Any:
        """The ad that pays most, of those that this person has not seen too often; None if there is none."""
        person = visitor["person"]
        while True:
            with self._ledger:
                capped = set(self.capped.get(person, ()))
            # At most len(capped) answers are capped: SPARE others are left, or all that match.
            found = self.index.top_k(visitor, k=SPARE + len(capped))
            open_to = [ad for ad, _ in found if ad not in capped]
            if not open_to:
                return None
            for ad in open_to:
                if self._claim(ad, person):
                    return ad

    def _claim(self, ad: Any, person: int) -> bool:
        """Pay for showing an ad once; False if another thread has spent the budget, or shown it to the same person."""
        with self._ledger:
            if not self._is_paid(ad) or self.seen[person, ad] >= CAP:
                return False
            self.spent[ad] += self.bids[ad]
            if not self._is_paid(ad):
                self.index.discard(ad)
            self.seen[person, ad] += 1
            if self.seen[person, ad] == CAP:
                self.capped.setdefault(person, set()).add(ad)
            return True

    def _is_paid(self, ad: str) -> bool:
        """Does the budget suffice for another time?"""
        return self.spent[ad] + self.bids[ad] <= self.budget[ad]

    def pay(self, ad: str, amount: float) -> None:
        """The advertiser pays more: the ad is shown again, if its budget was spent."""
        with self._ledger:
            self.budget[ad] += amount
            if self._is_paid(ad) and ad not in self.index:
                self.index.add_many([self.rows[ad]])

    def pace(self, share_of_day: float) -> None:
        """Lower the scores of the ads that have spent more than their share of the day."""
        with self._ledger:
            planned = {ad: budget * share_of_day for ad, budget in self.budget.items()}
            share = {ad: min(1.0, planned[ad] / max(spent, 0.01)) for ad, spent in self.spent.items()}
        # Ads whose budgets are spent are not in the index: their scores are left out.
        self.index.set_scores({ad: bid * share[ad] for ad, bid in self.bids.items()}, missing="ignore")


def main() -> None:
    rng = random.Random(1)
    rows = ads(rng)
    index = tw.Index().add_many(rows)
    day = visitors(rng)

    visitor = {"age": 33, "city": "Rome", "segments": ["sports", "food"]}
    print(f"{index.count(visitor)} of {len(index)} ads may be shown to {visitor}; the best five:")
    for ad, bid in index.top_k(visitor, k=5):
        payload = index.get_payload(ad)
        print(f"  {bid:.2f}  {payload['text']} of advertiser {payload['advertiser']}")
    print(f"the best of advertiser 7: {index.top_k(visitor, k=1, where={'advertiser': 7})}")

    reached = index.count_by_subscription(day).to_pydict()
    print(f"on such a day, an ad may be shown to {max(reached['count'])} of {VISITORS} visitors at most")

    server = Server(index, rows)
    shown = 0
    with ThreadPoolExecutor(THREADS) as threads:
        for begin in range(0, VISITORS, 100):
            server.pace((begin + 100) / VISITORS)
            shown += sum(ad is not None for ad in threads.map(server.show, day[begin : begin + 100]))
    money = sum(server.spent.values())
    print(f"{shown} ads shown to {VISITORS} visitors for {money:.2f}; {ADS - len(index)} have spent their budgets")
    print(f"no ad has spent more than {max(server.spent.values()):.2f} of its {DAILY_BUDGET:.2f}")

    spent = next(ad for ad in server.rows if ad not in index)
    server.pay(spent, DAILY_BUDGET)
    print(f"{spent} is paid for again, and {'back' if spent in index else 'not back'} in the index")

    late = {"age": 33, "city": "Rome", "segments": ["food"]}
    missed = next(ad for ad in index if not index[ad].evaluate(late))
    print(f"why not {missed}?")
    print(index.explain(missed, late))


if __name__ == "__main__":
    main()
