"""Pages and searches of subscriptions."""

import math
import random
import threading

import pytest

import tellwhen as tw
from service_support import add_subscriptions, expect_error, expect_success, list_ids, make_address
from tellwhen.service.cursors import Cursor
from tellwhen.service.errors import CursorExpired
from tellwhen.service.listing import Search, list_page


def test_pages_in_the_order_they_were_added(client):
    ids = [f"s{number}" if number % 3 else number for number in range(25)]
    expect_success(add_subscriptions(client, *((id_, f"x > {number}") for number, id_ in enumerate(ids))))
    found, start = [], {}
    while True:
        page = expect_success(client.get("/v1/subscriptions", params={"limit": 7, **start}))
        assert len(page["subscriptions"]) <= 7
        found += list_ids(page)
        if page["next"] is None:
            break
        start = {"start": page["next"]}
    assert found == ids
    assert expect_success(client.get("/v1/subscriptions", params={"limit": 25}))["next"] is None


def test_a_search(client):
    expect_success(
        add_subscriptions(
            client, ("ann", "price < 20 AND city = 'Oslo'"), ("bob", "price < 5"), ("Rome", "n IN (1, 2)")
        )
    )
    for query, ids in (
        ({"text": "OSLO"}, ["ann"]),
        ({"text": "rome"}, ["Rome"]),
        ({"text": "price", "limit": 1}, ["ann"]),
        ({"mentions": "price"}, ["ann", "bob"]),
        ({"mentions": "price", "constant": "5"}, ["bob"]),
        ({"constant": "Oslo"}, ["ann"]),
        ({"constant": '"Oslo"'}, ["ann"]),
        ({"mentions": "nothing"}, []),
        ({"text": "", "mentions": "price", "start": "bob"}, ["bob"]),
        ({"constant": "true"}, []),
    ):
        assert list_ids(expect_success(client.get("/v1/subscriptions", params=query))) == ids, query


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "id_type=x", "start=x&id_type=int"])
def test_pages_that_cannot_be(client, query):
    expect_error(client.get(f"/v1/subscriptions?{query}"), 422, "MalformedRequest")


def test_pages_while_subscriptions_come_and_go(client):
    """What is there all the time is found once; what was removed is not shown."""
    stays = [f"stays{number}" for number in range(40)]
    goes = [f"goes{number}" for number in range(40)]
    expect_success(
        add_subscriptions(client, *((id_, "x > 1") for pair in zip(stays, goes, strict=True) for id_ in pair))
    )
    found, start = [], None
    for number in range(100):
        page = expect_success(
            client.get("/v1/subscriptions", params={"limit": 5} | ({"start": start} if start else {}))
        )
        found += list_ids(page)
        if (start := page["next"]) is None:
            break
        known = goes[number * 4 : number * 4 + 4]
        expect_success(client.post("/v1/subscriptions/remove", json={"ids": known, "missing": "ignore"}))
        expect_success(client.put(f"/v1/subscriptions/new{number}", json={"expression": "x > 2"}), 201)
    assert [id_ for id_ in found if id_ in stays] == stays
    assert len(set(found)) == len(found)
    assert sum(id_.startswith("new") for id_ in found) >= number - 1
    gone = found[0]
    expect_success(client.delete(make_address(gone)))
    assert gone in expect_error(client.get("/v1/subscriptions", params={"start": gone}), 404, "UnknownId")


def test_what_a_page_shows_may_be_removed_before_the_next(client):
    expect_success(add_subscriptions(client, *((number, "x > 1") for number in range(100))))
    found, query = [], {"limit": 7, "id_type": "int"}
    while True:
        page = expect_success(client.get("/v1/subscriptions", params=query))
        found += list_ids(page)
        expect_success(client.post("/v1/subscriptions/remove", json={"ids": list_ids(page)}))
        if page["next"] is None:
            break
        query["start"] = page["next"]
    assert found == list(range(100))
    assert expect_success(client.get("/v1"))["subscriptions"] == 0


def test_replacing_and_removing_the_last_one_of_a_page_keeps_the_place(client):
    expect_success(add_subscriptions(client, *((f"s{number}", "x > 1") for number in range(100))))
    page = expect_success(client.get("/v1/subscriptions", params={"limit": 10}))
    for id_ in ("s9", "s10"):
        expect_success(client.put(make_address(id_), json={"expression": "x > 2"}))
    rest = {"limit": 1_000, "start": page["next"]}
    assert list_ids(expect_success(client.get("/v1/subscriptions", params=rest))) == [
        f"s{number}" for number in range(10, 100)
    ]
    expect_success(client.delete(make_address("s9")))
    assert list_ids(expect_success(client.get("/v1/subscriptions", params=rest))) == [
        f"s{number}" for number in range(10, 100)
    ]
    # An id may be given in place of a cursor.
    after = list_ids(expect_success(client.get("/v1/subscriptions", params={"limit": 2, "start": "s10"})))
    assert after == ["s10", "s11"]


def test_no_page_skips_what_is_replaced_meanwhile(client):
    """A walk through all pages while two threads replace at random."""
    ids = [f"s{number}" for number in range(300)]
    expect_success(add_subscriptions(client, *((id_, "x > 1") for id_ in ids)))
    ended = threading.Event()

    def replace(seed):
        rng = random.Random(seed)
        while not ended.is_set():
            rows = [{"id": id_, "expression": f"x > {rng.randrange(9)}"} for id_ in rng.choices(ids, k=20)]
            expect_success(client.post("/v1/subscriptions", json={"subscriptions": rows, "replace": True}))

    threads = [threading.Thread(target=replace, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            found, query = [], {"limit": 17}
            while True:
                page = expect_success(client.get("/v1/subscriptions", params=query))
                found += list_ids(page)
                if page["next"] is None:
                    break
                query["start"] = page["next"]
            assert found == ids
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_cursor_of_another_version_is_refused():
    index = tw.Index().add_many({"a": "x > 1", "b": "x > 1"})
    page = list_page(index, None, 1, Search(), math.inf, index_version=3)
    cursor = Cursor.decode(page["next"])
    assert cursor == Cursor(0, 3)
    assert [row["id"] for row in list_page(index, cursor, 1, Search(), math.inf, 3)["subscriptions"]] == ["b"]
    with pytest.raises(CursorExpired, match="version 3 of the index, and version 4 is served now"):
        list_page(index, cursor, 1, Search(), math.inf, 4)
