"""Ads with bids and budgets: which ads may be shown to a visitor, and which five pay most? `python examples/ads.py`"""

import random

import tellwhen as tw

CITIES, SEGMENTS = ["Rome", "Oslo", "Lima", "Pune"], ["sports", "travel", "food", "cars", "minors"]


def ads(count: int, rng: random.Random) -> list[tuple[object, ...]]:
    """Id, targeting, bid and payload of every ad."""
    rows: list[tuple[object, ...]] = []
    for number in range(count):
        low = rng.randint(18, 60)
        cities = ", ".join(f"'{city}'" for city in rng.sample(CITIES, rng.randint(1, 3)))
        targeting = (
            f"age BETWEEN {low} AND {low + 15} AND city IN ({cities}) "
            f"AND segments HAS ANY ('{rng.choice(SEGMENTS[:4])}') AND segments HAS NONE ('minors')"
        )
        bid = round(rng.uniform(0.1, 4), 2)
        rows.append((f"ad-{number}", targeting, bid, None, {"advertiser": rng.randint(1, 50), "text": f"Ad {number}"}))
    return rows


def main() -> None:
    rng = random.Random(1)
    index = tw.Index().add_many(ads(5_000, rng))
    budget = dict.fromkeys(index, 10.0)
    visitor = {"age": 33, "city": "Rome", "segments": ["sports", "food"]}

    print(f"{index.count(visitor)} of {len(index)} ads may be shown to {visitor}; the best five:")
    for id_, bid in index.top_k(visitor, k=5):
        print(f"  {bid:.2f}  {index.payload(id_)['text']} of advertiser {index.payload(id_)['advertiser']}")

    shown = 0
    for _ in range(2_000):  # the best one is shown, and pays; without a budget it is worth nothing
        visitor = {"age": rng.randint(18, 70), "city": rng.choice(CITIES), "segments": rng.sample(SEGMENTS, 2)}
        for id_, bid in index.top_k(visitor, k=1):
            shown += 1
            budget[id_] -= bid
            if budget[id_] <= 0:
                index.remove(id_)
    print(f"{shown} ads shown to 2000 visitors; {5_000 - len(index)} have spent their budgets")

    missed = next(id_ for id_ in index if not index[id_].evaluate({"age": 33, "city": "Rome", "segments": ["food"]}))
    print(f"why not {missed}?")
    print(index.explain(missed, {"age": 33, "city": "Rome", "segments": ["food"]}))


if __name__ == "__main__":
    main()
