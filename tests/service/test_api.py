"""Does every path answer what it promises: as an index does, and with a sentence where something is wrong?"""

import asyncio
import json
import math
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import httpx2
import pytest

import tellwhen as tw
from service_support import make_json_event, make_test_client, run_service
from tellwhen.service import Limits
from tellwhen.service.json_output import encode_json
from tellwhen.service.match_timing import MatchTiming
from tellwhen.service.requests import INLINE_SECONDS_MAX, RequestRunner
from tellwhen.testing.engine_checks import random_expression

IDS = [
    "ann", "a/b", "/", "//x/", "a//b", "it's", '"quoted"', "žluť", "😀", "a b", "a+b", "?x=1&y", "#x",
    "remove", "a/../b", "\\", "\n", "x\n", "x\ny", "\u2028", "x" * 3_000, "5", "", 5, -5, 0, 2**63 - 1, -(2**63) + 1,
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with make_test_client(tmp_path_factory.mktemp("api") / "data") as client:
        yield client


@pytest.fixture
def client(shared):
    """A service without subscriptions."""
    ids = []
    page = shared.get("/v1/subscriptions", params={"limit": 1000}).json()
    ids += [one["id"] for one in page["subscriptions"]]
    assert page["next"] is None
    shared.post("/v1/subscriptions/remove", json={"ids": ids})
    return shared


def address(id_):
    return f"/v1/subscriptions/{quote(str(id_), safe='')}?id_type={'int' if isinstance(id_, int) else 'str'}"


def good(response, status=200):
    assert response.status_code == status, response.text
    return response.json()


def refused(response, status, kind):
    """The sentence of a refusal."""
    assert response.status_code == status, response.text
    body = response.json()
    assert body["error"] == kind
    assert isinstance(body["message"], str)
    assert body["message"]
    assert set(body) <= {"error", "message", "position", "rejected"}
    return body["message"]


def add(client, *subscriptions, **options):
    rows = [{"id": id_, "expression": expression, **dict(*more)} for id_, expression, *more in subscriptions]
    return client.post("/v1/subscriptions", json={"subscriptions": rows, **options})


def ids_of(page):
    return [one["id"] for one in page["subscriptions"]]


# one subscription


@pytest.mark.parametrize("id_", IDS, ids=lambda id_: repr(id_)[:20])
def test_a_subscription_by_its_address(client, id_):
    given = {"expression": "price < 20", "score": 2.5, "weights": {"price": 0.5}, "payload": {"subscriber": "ann"}}
    refused(client.get(address(id_)), 404, "UnknownId")
    shown = {"id": id_, **given}
    assert good(client.put(address(id_), json=given), 201) == shown
    assert good(client.get(address(id_))) == shown
    assert good(client.put(address(id_), json=given)) == shown
    refused(client.put(address(id_) + "&replace=false", json=given), 409, "DuplicateId")
    assert good(client.post("/v1/publish", json={"event": {"price": 3}}))["matches"] == [id_]
    assert good(client.get("/v1/subscriptions"))["subscriptions"] == [shown]
    assert good(client.delete(address(id_))) == {"removed": 1}
    refused(client.delete(address(id_)), 404, "UnknownId")
    assert good(client.post("/v1/publish", json={"event": {"price": 3}}))["matches"] == []


def test_an_integer_and_its_text_are_two_ids(client):
    good(client.put("/v1/subscriptions/5", json={"expression": "a = 1"}), 201)
    good(client.put("/v1/subscriptions/5?id_type=int", json={"expression": "a = 2"}), 201)
    assert good(client.get("/v1/subscriptions/5"))["expression"] == "a = 1"
    assert good(client.get("/v1/subscriptions/5?id_type=int"))["expression"] == "a = 2"
    good(client.delete("/v1/subscriptions/5?id_type=int"))
    assert ids_of(good(client.get("/v1/subscriptions"))) == ["5"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_id_that_is_no_integer(client, method):
    body = {"expression": "a = 1"} if method == "PUT" else None
    assert "'x'" in refused(
        client.request(method, "/v1/subscriptions/x?id_type=int", json=body), 422, "MalformedRequest"
    )
    refused(client.request(method, f"/v1/subscriptions/{2**63}?id_type=int", json=body), 422, "IdError")
    refused(client.request(method, "/v1/subscriptions/5?id_type=float", json=body), 422, "MalformedRequest")


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ({"expression": "price <"}, "ParseError", "expected a constant"),
        ({"expression": "a MATCHES '('"}, "ParseError", "RE2"),
        ({"expression": {"nonsense": 1}}, "ExpressionError", "nonsense"),
        ({"expression": "a = 1", "weights": {"b": 1}}, "ScoreError", "no attribute b"),
        ({"expression": "a = 1", "scor": 1}, "MalformedRequest", "unknown field 'scor'; the fields are expression, "),
        ({"expression": "a = 1", "score": "high"}, "MalformedRequest", "score: "),
        ({"expression": "a = 1", "payload": [1]}, "MalformedRequest", "payload: "),
        ({"expression": 5}, "MalformedRequest", "expression"),
        ({}, "MalformedRequest", "expression: Field required"),
    ],
)
def test_a_subscription_that_is_refused(client, body, kind, says):
    response = client.put("/v1/subscriptions/x", json=body)
    assert says in refused(response, 422, kind)
    if kind == "ParseError":
        assert isinstance(response.json()["position"], int)
    assert good(client.get("/v1"))["subscriptions"] == 0


# many subscriptions


def test_all_are_added_or_none(client):
    assert good(add(client, ("a", "x > 1"), (2, "x > 2"))) == {"accepted": 2, "added": 2, "rejected": []}
    refused(add(client, ("b", "x > 3"), ("a", "x > 4")), 409, "DuplicateId")
    assert "'c'" in refused(add(client, ("b", "x > 3"), ("c", "x >")), 422, "ParseError")
    assert good(client.get("/v1"))["subscriptions"] == 2
    assert good(add(client, ("b", "x > 3"), ("a", "x > 4"), replace=True)) == {
        "accepted": 2, "added": 1, "rejected": [],
    }  # fmt: skip
    assert good(client.get("/v1/subscriptions/a"))["expression"] == "x > 4"
    assert good(add(client)) == {"accepted": 0, "added": 0, "rejected": []}


def test_faulty_ones_are_kept_out(client):
    given = [("a", "x > 1"), ("b", "x >"), (3, "x > 2"), ("a", "x > 3"), ("d", "y = 1", {"weights": {"z": 1}})]
    answer = good(add(client, *given, errors="quarantine"))
    rows = [(id_, expression, None, *(one["weights"] for one in more)) for id_, expression, *more in given]
    rejected = tw.Index().add_valid(rows)
    assert (answer["accepted"], answer["added"]) == (2, 2)
    assert answer["rejected"] == [one._asdict() for one in rejected]
    assert [one["id"] for one in answer["rejected"]] == ["b", "a", "d"]
    assert ids_of(good(client.get("/v1/subscriptions"))) == ["a", 3]


def test_rows_of_wrong_types_are_named_or_kept_out(client):
    wrong = [
        5, None, ["a", "x = 1"], {"id": "b"}, {"id": 1.5, "expression": "x = 1"}, {"id": "c", "expression": 7},
        {"id": "d", "expression": "x = 1", "score": "much"}, {"id": "e", "expression": "x = 1", "payload": [1]},
        {"id": "f", "expression": "x = 1", "colour": 1}, {"id": 2**70, "expression": "x = 1"},
        {"id": "g", "expression": "x = 1", "weights": {"x": 10**400}},
    ]  # fmt: skip
    rows = [{"id": number, "expression": f"x = {number}"} for number in range(789)]
    for one in wrong:
        body = {"subscriptions": [*rows, one]}
        said = refused(client.post("/v1/subscriptions", json=body), 422, "MalformedRequest")
        assert said.startswith("subscriptions.789")
        assert good(client.get("/v1"))["subscriptions"] == 0
    body = {"subscriptions": [*wrong[:5], *rows, *wrong[5:], {"id": "z", "expression": "x ="}], "errors": "quarantine"}
    answer = good(client.post("/v1/subscriptions", json=body))
    assert (answer["accepted"], answer["added"]) == (789, 789)
    assert [one["id"] for one in answer["rejected"]] == [None, None, "a", "b", 1.5, "c", "d", "e", "f", 2**70, "g", "z"]
    reasons = [one["reason"] for one in answer["rejected"]]
    assert reasons[6].startswith("score: ")
    assert all(reasons)
    assert "tellwhen_rejected_total" in client.get("/metrics").text


def test_an_expression_that_is_too_long_is_kept_out_alone(client):
    rows = [{"id": "a", "expression": "x = 1"}, {"id": "b", "expression": "x = " + "1" * 120_000, "score": 3}]
    refused(client.post("/v1/subscriptions", json={"subscriptions": rows}), 413, "TooLarge")
    answer = good(client.post("/v1/subscriptions", json={"subscriptions": rows, "errors": "quarantine"}))
    assert (answer["accepted"], [(one["id"], one["score"]) for one in answer["rejected"]]) == (1, [("b", 3.0)])


def test_only_what_is_there_is_counted(client):
    good(add(client, ("a", "x = 1"), ("b", "x = 1")))
    scores = [{"id": "a", "score": 1}, {"id": "z", "score": 1}]
    assert good(client.post("/v1/scores", json={"scores": scores, "missing": "ignore"})) == {"scored": 1}
    assert good(client.post("/v1/subscriptions/remove", json={"ids": ["a", "a"]})) == {"removed": 1}
    ids = {"ids": ["a", "b", "b"], "missing": "ignore"}
    assert good(client.post("/v1/subscriptions/remove", json=ids)) == {"removed": 1}


def test_a_large_batch_is_read_as_a_small_one(tmp_path):
    rows = [{"id": number, "expression": f"x = {number}"} for number in range(2_000)]
    with make_test_client(tmp_path / "data", Limits(single=1_000)) as client:
        assert good(client.post("/v1/subscriptions", json={"subscriptions": rows}))["added"] == 2_000
        refused(
            client.post("/v1/subscriptions", json={"subscriptions": [{"id": "x" * 2_000}]}), 422, "MalformedRequest"
        )
        refused(client.post("/v1/subscriptions", content=b"[" * 2_000), 422, "MalformedRequest")


@pytest.mark.parametrize(
    "body",
    [
        [], 5, None, {}, {"subscriptions": {}}, {"subscriptions": [{"id": "a"}]}, {"subscriptions": [["a", "x = 1"]]},
        {"subscriptions": [{"id": None, "expression": "x = 1"}]}, {"subscriptions": [{"id": 1.0, "expression": "x"}]},
        {"subscriptions": [{"id": True, "expression": "x = 1"}]}, {"subscriptions": [], "errors": "ignore"},
        {"subscriptions": [{"id": 2**63, "expression": "x = 1"}]}, {"subscriptions": [], "more": 1},
    ],
)  # fmt: skip
def test_bodies_that_are_no_subscriptions(client, body):
    refused(client.post("/v1/subscriptions", json=body), 422, "MalformedRequest")


def test_many_are_removed(client):
    good(add(client, ("a", "x > 1"), (2, "x > 1"), ("c", "x > 1")))
    assert "'b'" in refused(client.post("/v1/subscriptions/remove", json={"ids": ["a", "b"]}), 404, "UnknownId")
    assert good(client.get("/v1"))["subscriptions"] == 3
    body = {"ids": ["a", "b", 2, "2", "a"], "missing": "ignore"}
    assert good(client.post("/v1/subscriptions/remove", json=body)) == {"removed": 2}
    assert ids_of(good(client.get("/v1/subscriptions"))) == ["c"]
    assert good(client.post("/v1/subscriptions/remove", json={"ids": []})) == {"removed": 0}
    refused(client.post("/v1/subscriptions/remove", json={"ids": "c"}), 422, "MalformedRequest")


def test_scores_are_set(client):
    good(add(client, ("a", "x > 1"), (2, "x > 1")))
    scores = [{"id": "a", "score": 3}, {"id": 2, "score": 4.5}]
    assert good(client.post("/v1/scores", json={"scores": scores})) == {"scored": 2}
    best = good(client.post("/v1/top-k", json={"event": {"x": 2}}))
    assert best == {"matches": [{"id": 2, "score": 4.5}, {"id": "a", "score": 3.0}]}
    unknown = [{"id": "a", "score": 9}, {"id": "b", "score": 1}]
    refused(client.post("/v1/scores", json={"scores": unknown}), 404, "UnknownId")
    assert good(client.get("/v1/subscriptions/a"))["score"] == 3
    good(client.post("/v1/scores", json={"scores": unknown, "missing": "ignore"}))
    assert good(client.get("/v1/subscriptions/a"))["score"] == 9
    refused(client.post("/v1/scores", json={"scores": {"a": 1}}), 422, "MalformedRequest")


# pages


def test_pages_in_the_order_they_were_added(client):
    ids = [f"s{number}" if number % 3 else number for number in range(25)]
    good(add(client, *((id_, f"x > {number}") for number, id_ in enumerate(ids))))
    found, start = [], {}
    while True:
        page = good(client.get("/v1/subscriptions", params={"limit": 7, **start}))
        assert len(page["subscriptions"]) <= 7
        found += ids_of(page)
        if page["next"] is None:
            break
        start = {"start": page["next"]}
    assert found == ids
    assert good(client.get("/v1/subscriptions", params={"limit": 25}))["next"] is None


def test_a_search(client):
    good(add(client, ("ann", "price < 20 AND city = 'Oslo'"), ("bob", "price < 5"), ("Rome", "n IN (1, 2)")))
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
        assert ids_of(good(client.get("/v1/subscriptions", params=query))) == ids, query


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "id_type=x", "start=x&id_type=int"])
def test_pages_that_cannot_be(client, query):
    refused(client.get(f"/v1/subscriptions?{query}"), 422, "MalformedRequest")


def test_pages_while_subscriptions_come_and_go(client):
    """What is there all the time is found once; what was removed is not shown."""
    stays = [f"stays{number}" for number in range(40)]
    goes = [f"goes{number}" for number in range(40)]
    good(add(client, *((id_, "x > 1") for pair in zip(stays, goes, strict=True) for id_ in pair)))
    found, start = [], None
    for number in range(100):
        page = good(client.get("/v1/subscriptions", params={"limit": 5} | ({"start": start} if start else {})))
        found += ids_of(page)
        if (start := page["next"]) is None:
            break
        known = goes[number * 4 : number * 4 + 4]
        good(client.post("/v1/subscriptions/remove", json={"ids": known, "missing": "ignore"}))
        good(client.put(f"/v1/subscriptions/new{number}", json={"expression": "x > 2"}), 201)
    assert [id_ for id_ in found if id_ in stays] == stays
    assert len(set(found)) == len(found)
    assert sum(id_.startswith("new") for id_ in found) >= number - 1
    gone = found[0]
    good(client.delete(address(gone)))
    assert gone in refused(client.get("/v1/subscriptions", params={"start": gone}), 404, "UnknownId")


def test_what_a_page_shows_may_be_removed_before_the_next(client):
    good(add(client, *((number, "x > 1") for number in range(100))))
    found, query = [], {"limit": 7, "id_type": "int"}
    while True:
        page = good(client.get("/v1/subscriptions", params=query))
        found += ids_of(page)
        good(client.post("/v1/subscriptions/remove", json={"ids": ids_of(page)}))
        if page["next"] is None:
            break
        query["start"] = page["next"]
    assert found == list(range(100))
    assert good(client.get("/v1"))["subscriptions"] == 0


def test_replacing_and_removing_the_last_one_of_a_page_keeps_the_place(client):
    good(add(client, *((f"s{number}", "x > 1") for number in range(100))))
    page = good(client.get("/v1/subscriptions", params={"limit": 10}))
    for id_ in ("s9", "s10"):
        good(client.put(address(id_), json={"expression": "x > 2"}))
    rest = {"limit": 1_000, "start": page["next"]}
    assert ids_of(good(client.get("/v1/subscriptions", params=rest))) == [f"s{number}" for number in range(10, 100)]
    good(client.delete(address("s9")))
    assert ids_of(good(client.get("/v1/subscriptions", params=rest))) == [f"s{number}" for number in range(10, 100)]
    # An id may be given in place of a cursor.
    after = ids_of(good(client.get("/v1/subscriptions", params={"limit": 2, "start": "s10"})))
    assert after == ["s10", "s11"]


def test_no_page_skips_what_is_replaced_meanwhile(client):
    """A walk through all pages while two threads replace at random."""
    ids = [f"s{number}" for number in range(300)]
    good(add(client, *((id_, "x > 1") for id_ in ids)))
    ended = threading.Event()

    def replace(seed):
        rng = random.Random(seed)
        while not ended.is_set():
            rows = [{"id": id_, "expression": f"x > {rng.randrange(9)}"} for id_ in rng.choices(ids, k=20)]
            good(client.post("/v1/subscriptions", json={"subscriptions": rows, "replace": True}))

    threads = [threading.Thread(target=replace, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            found, query = [], {"limit": 17}
            while True:
                page = good(client.get("/v1/subscriptions", params=query))
                found += ids_of(page)
                if page["next"] is None:
                    break
                query["start"] = page["next"]
            assert found == ids
    finally:
        ended.set()
        for thread in threads:
            thread.join()


# events


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """A service and an index with the same subscriptions."""
    rng = random.Random(11)
    rows = []
    index = tw.Index()
    for number in range(150):
        expression = str(random_expression(rng))
        payload = {"tenant": rng.randint(0, 2)} if rng.random() < 0.7 else None
        row = (number if number % 3 else f"s{number}", expression, rng.randint(0, 9) / 2, None, payload)
        try:
            index.add_many([row])
        except tw.TellwhenError:
            continue
        rows.append(dict(zip(("id", "expression", "score", "weights", "payload"), row, strict=True)))
    assert len(rows) > 140
    with make_test_client(tmp_path_factory.mktemp("twins") / "data") as client:
        good(client.post("/v1/subscriptions", json={"subscriptions": rows}))
        yield client, index, rows, [make_json_event(rng) for _ in range(60)]


def test_matches_are_those_of_an_index_and_of_the_oracle(twins):
    client, index, rows, events = twins
    oracle = [(row["id"], tw.parse(row["expression"])) for row in rows]
    total = 0
    for event in events:
        ids = index.match(event)
        total += len(ids)
        assert ids == [id_ for id_, expression in oracle if expression.evaluate(event) is True]
        for path in ("/v1/publish", "/v1/match"):
            answer = good(client.post(path, json={"event": event}))
            assert answer == {"count": len(ids), "matches": ids, "truncated": False}
    assert total > 300
    assert good(client.post("/v1/publish/many", json={"events": events})) == {
        "count": total, "matches": [index.match(event) for event in events],
    }  # fmt: skip


def test_payloads_and_filters_are_those_of_an_index(twins):
    client, index, _, events = twins
    for where in ({"tenant": 1}, {"tenant": [0, 2]}, {"tenant": None}, {"nobody": 1}, {}):
        for event in events[:8]:
            pairs = index.match_with_payloads(event, where=where)
            answer = good(client.post("/v1/publish", json={"event": event, "where": where, "payload": True}))
            assert answer["matches"] == [{"id": id_, "payload": payload} for id_, payload in pairs]
        answer = good(client.post("/v1/publish/many", json={"events": events[:8], "where": where}))
        assert answer["matches"] == [index.match(event, where=where) for event in events[:8]]


def test_the_best_are_those_of_an_index(twins):
    client, index, _, events = twins
    for number, event in enumerate(events[:15]):
        for options in ({}, {"relaxed": True}, {"where": {"tenant": 1}}, {"relaxed": True, "weights": {"a": 3.0}}):
            k = 1 + number
            best = [{"id": id_, "score": score} for id_, score in index.top_k(event, k, **options)]
            assert good(client.post("/v1/top-k", json={"event": event, "k": k, **options}))["matches"] == best


def test_reasons_are_those_of_an_index(twins):
    client, index, rows, events = twins
    for row, event in zip(rows, events, strict=False):
        found = index.explain(row["id"], event)
        by_id = good(client.post("/v1/explain", json={"id": row["id"], "event": event}))
        assert (by_id["value"], by_id["text"]) == (found.value, str(found))
        assert (by_id["tree"]["label"], len(by_id["tree"]["parts"])) == (found.label, len(found.parts))
        assert good(client.post("/v1/explain", json={"expression": row["expression"], "event": event})) == by_id


def test_some_of_many_matches_are_shown(client):
    good(add(client, *((number, "x > 1") for number in range(10))))
    answer = good(client.post("/v1/publish", json={"event": {"x": 2}, "limit": 3}))
    assert answer == {"count": 10, "matches": [0, 1, 2], "truncated": True}
    answer = good(client.post("/v1/match", json={"event": {"x": 2}, "limit": 0}))
    assert answer == {"count": 10, "matches": [], "truncated": True}
    assert not good(client.post("/v1/match", json={"event": {"x": 2}, "limit": 10}))["truncated"]


@pytest.mark.parametrize("path", ["publish", "match", "top-k"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "MalformedRequest"), ({"event": []}, "MalformedRequest"), ({"event": None}, "MalformedRequest"),
        ({"event": {}, "evnt": 1}, "MalformedRequest"), ({"event": {}, "where": 5}, "MalformedRequest"),
        ({"event": {}, "where": {"a": {"b": 1}}}, "ArgumentError"),
    ],
)  # fmt: skip
def test_events_that_are_none(client, path, body, kind):
    refused(client.post(f"/v1/{path}", json=body), 422, kind)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("publish", {"event": {}, "limit": -1}), ("publish", {"event": {}, "payload": "perhaps"}),
        ("publish/many", {"events": {}}), ("publish/many", {"events": [1]}), ("publish/many", {}),
        ("top-k", {"event": {}, "k": 0}), ("top-k", {"event": {}, "k": 10_001}),
        ("top-k", {"event": {}, "weights": {"a": "b"}}),
    ],
)  # fmt: skip
def test_questions_that_cannot_be(client, path, body):
    refused(client.post(f"/v1/{path}", json=body), 422, "MalformedRequest")


def test_weights_are_for_relaxed_ranking(client):
    refused(client.post("/v1/top-k", json={"event": {}, "weights": {"a": 1}}), 422, "ScoreError")


def test_matching_goes_on_beside_the_loop_where_it_takes_long(twins, monkeypatch):
    client, index, _, events = twins
    run_in_thread = RequestRunner.run_in_thread
    asked = []

    async def count_call(runner, run, *pool):
        asked.append(run)
        return await run_in_thread(runner, run, *pool)

    monkeypatch.setattr(RequestRunner, "run_in_thread", count_call)
    monkeypatch.setattr("tellwhen.service.requests.INLINE_SECONDS_MAX", 0.0)
    assert INLINE_SECONDS_MAX > 0
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda event: client.post("/v1/publish", json={"event": event}).json(), events))
    assert [answer["matches"] for answer in answers] == [index.match(event) for event in events]
    assert len(asked) == len(events)


def test_matching_that_takes_long_is_done_in_a_thread_until_it_is_quick_again():
    runner, timing, here, threads = RequestRunner(Limits()), MatchTiming(), threading.current_thread(), []

    def match(seconds):
        threads.append(threading.current_thread())
        ends = time.thread_time() + seconds
        while time.thread_time() < ends:
            pass

    async def run():
        for seconds, count in ((0.0, 100), (4 * INLINE_SECONDS_MAX, 40), (0.0, 200)):
            for _ in range(count):
                await runner.run_matching(timing, 100, lambda: match(seconds))  # noqa: B023
        await runner.run_matching(timing, 100_000, lambda: match(0.0))

    asyncio.run(run())
    runner.close()
    assert all(one is here for one in threads[:100])
    assert all(one is not here for one in threads[102:140])
    assert all(one is here for one in threads[-51:-1])
    assert threads[-1] is not here  # a large event


# expressions


def test_validation(client):
    answer = good(client.post("/v1/validate", json={"expression": "price<20 and city='Oslo'"}))
    assert answer == {
        "ok": True, "error": None, "hints": [], "attributes": ["price", "city"],
        "text": "price < 20 AND city = 'Oslo'",
    }  # fmt: skip
    answer = good(client.post("/v1/validate", json={"expression": "price <"}))
    assert not answer["ok"]
    assert answer["error"]["position"] == 7
    assert "expected a constant" in answer["error"]["message"]
    assert good(client.post("/v1/validate", json={"expression": "a < 1 AND a > 2"}))["hints"]
    good(add(client, ("a", "lower(station) = 'basel' AND delay > 5")))
    good(client.post("/v1/publish", json={"event": {"vehicle": {"seats": 5}, "planned": 1, "actual": 1}}))
    for expression, hints in (
        ("dealy > 5", ["no other subscription uses dealy; did you mean delay?"]),
        ("station = Basel", ["Basel is an attribute here; if it is text, write 'Basel'"]),
        ("vehicle.seatz > 5", ["no other subscription uses vehicle.seatz; did you mean vehicle.seats?"]),
        ("station = 'Basel' AND actual = planned AND vehicle.seats > 1", []),
        ("quite_new = 1", []),
    ):
        assert good(client.post("/v1/validate", json={"expression": expression}))["hints"] == hints
    assert good(client.get("/v1/attributes")) == {"station": "string", "delay": "number"}
    for body in ({}, {"expression": None}, {"expression": 1}, {"expression": []}):
        refused(client.post("/v1/validate", json=body), 422, "MalformedRequest")


def test_json_expressions(client):
    given = json.loads(json.dumps({"and": [{"attribute": "a"}, 1]}))
    text = good(client.post("/v1/validate", json={"expression": given}))
    assert text["ok"] in (True, False)
    assert text["ok"] or text["error"]["message"]


def test_what_is_wrong_names_no_id_that_nobody_gave(client):
    for path, more in (("explain", {"event": {}}), ("dry-run", {})):
        response = client.post(f"/v1/{path}", json={"expression": "price <", **more})
        assert not refused(response, 422, "ParseError").startswith("subscription")
        assert response.json()["position"] == 7


def test_explain_takes_an_id_or_an_expression(client):
    good(add(client, (0, "x > 1"), ("", "x > 2")))
    assert good(client.post("/v1/explain", json={"id": 0, "event": {"x": 2}}))["value"] is True
    assert good(client.post("/v1/explain", json={"id": "", "event": {"x": 2}}))["value"] is False
    assert good(client.post("/v1/explain", json={"id": 0, "event": {}}))["value"] is None
    for body in ({}, {"id": 0, "expression": "x > 1"}, {"id": None, "expression": None}):
        refused(client.post("/v1/explain", json={"event": {}, **body}), 422, "MalformedRequest")
    refused(client.post("/v1/explain", json={"id": "nobody", "event": {}}), 404, "UnknownId")
    refused(client.post("/v1/explain", json={"id": 0, "event": 5}), 422, "MalformedRequest")


def test_dry_run_on_recent_events(tmp_path):
    with make_test_client(tmp_path / "data", Limits(recent=20)) as client:
        assert good(client.post("/v1/dry-run", json={"expression": "x > 1"})) == {
            "events": 0, "matches": 0, "examples": [],
        }  # fmt: skip
        good(client.post("/v1/publish/many", json={"events": [{"x": number} for number in range(30)]}))
        good(client.post("/v1/match", json={"event": {"x": 100}}))  # it is only asked
        good(client.post("/v1/publish", json={"event": {"x": -1}}))
        answer = good(client.post("/v1/dry-run", json={"expression": "x > 14"}))
        assert (answer["events"], answer["matches"]) == (20, 15)
        assert answer["examples"] == [{"x": number} for number in range(20, 30)]
        refused(client.post("/v1/dry-run", json={"expression": "x >"}), 422, "ParseError")


# looking


def test_what_is_served(client):
    good(add(client, ("a", "x > 1"), ("b", "city = 'Oslo'")))
    assert good(client.get("/v1")) == {
        "version": tw.__version__, "tenant": "default", "roles": ["read", "publish", "manage"], "subscriptions": 2,
        "changes": True, "index_version": None, "schema": {},
    }  # fmt: skip
    assert good(client.get("/v1/attributes")) == {"x": "number", "city": "string"}
    assert good(client.get("/healthz")) == {"status": "ok"}
    assert good(client.get("/readyz")) == {"status": "ready"}


def test_measurements(tmp_path):
    with make_test_client(tmp_path / "data") as client:
        good(add(client, ("a", "x > 1"), ("b", "x > 2")))
        good(client.post("/v1/publish/many", json={"events": [{"x": 2}, {"x": 3}]}))
        good(client.post("/v1/publish", json={"event": {"x": 3}}))
        good(client.post("/v1/match", json={"event": {"x": 3}}))
        refused(client.get("/v1/subscriptions/nobody"), 404, "UnknownId")
        stats = good(client.get("/v1/stats"))
        assert (stats["subscriptions"], stats["events"], stats["matches"]) == (2, 3, 5)
        assert sum(one["events"] for one in stats["latency"]) == 1
        assert (stats["listeners"], stats["lost"], stats["failure"]) == (0, 0, None)
        assert stats["journal_bytes"] > 0
        text = client.get("/metrics").text
        for line in (
            "tellwhen_subscriptions 2.0", "tellwhen_events_total 3.0", "tellwhen_matches_total 5.0",
            'tellwhen_changes_total{kind="add"} 2.0', "tellwhen_healthy 1.0",
            'tellwhen_requests_total{path="/v1/publish",status="200"} 1.0',
        ):  # fmt: skip
            assert line in text.splitlines()
        assert 'status="404"' in text
        assert "nobody" not in text


def test_listening_is_refused_with_a_sentence(client):
    refused(client.get("/v1/live", params={"filter": "x >"}), 422, "ParseError")
    refused(client.get("/v1/live", params={"id": "x", "id_type": "int"}), 422, "MalformedRequest")
    assert good(client.get("/v1/stats"))["listeners"] == 0


def test_other_addresses(client):
    assert client.get("/v1/nothing").status_code == 404
    assert client.get("/v1/nothing").json()["message"]
    assert client.request("PATCH", "/v1/subscriptions").status_code == 405
    assert client.get("/openapi.json").json()["info"]["title"] == "tellwhen"


def test_the_description_is_whole(client):
    """Every reference in it leads somewhere."""
    described = client.get("/openapi.json").json()

    def references(part):
        if isinstance(part, dict):
            yield from ([part["$ref"]] if isinstance(part.get("$ref"), str) else [])
            part = list(part.values())
        if isinstance(part, list):
            for one in part:
                yield from references(one)

    names = set(references(described))
    assert names
    for name in names:
        place = described
        for step in name.removeprefix("#/").split("/"):
            place = place[step]
    for path in described["paths"].values():
        for operation in path.values():
            assert operation["description"] or operation["summary"]


def test_it_is_all_there_when_the_service_starts_again(tmp_path):
    with make_test_client(tmp_path / "data") as client:
        good(add(client, *((id_, "x > 1", {"payload": {"n": 1}}) for id_ in IDS)))
        page = good(client.get("/v1/subscriptions"))
    with make_test_client(tmp_path / "data") as client:
        assert good(client.get("/v1/subscriptions")) == page
        assert ids_of(page) == IDS


# how answers are written, and what goes straight to its function


def test_answers_are_json_in_ascii_whatever_is_in_them():
    assert encode_json({"a": ["ž\u2028\n", -0.0, 10**30, math.inf, math.nan]}) == (
        b'{"a":["\\u017e\\u2028\\n",-0.0,1000000000000000000000000000000,null,null]}'
    )


def test_what_is_not_posted_to_a_path_is_refused_as_ever(client):
    for path in ("/v1/publish", "/v1/publish/many", "/v1/match", "/v1/top-k", "/v1/explain", "/v1/scores"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_parameters_that_are_none(client):
    """What is misspelt would change nothing, or show too much."""
    for path, there in (
        ("/v1/subscriptions?q=ann", "the parameters are text, mentions, "),
        ("/v1/live?subscribers=ann", "subscriber, "),
    ):
        assert there in refused(client.get(path), 422, "MalformedRequest")
    assert "this path has no parameters" in refused(
        client.post("/v1/publish?x=1", json={"event": {}}), 422, "MalformedRequest"
    )
    assert "this path has no parameters" in refused(client.get("/v1/stats?x"), 422, "MalformedRequest")
    assert client.get("/?x=1").status_code == 200


def test_what_nobody_expected_is_answered_counted_and_ends_nothing(tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a mistake of ours")

    with run_service(tmp_path / "data") as address, httpx2.Client(base_url=address) as client:
        with monkeypatch.context() as patched:
            patched.setattr("tellwhen.service.answers.match_event", broken)
            answer = client.post("/v1/publish", json={"event": {"x": 1}})
            assert answer.status_code == 500
            assert "mistake" not in answer.text
        assert client.post("/v1/publish", json={"event": {"x": 1}}).json()["count"] == 0
        counted = client.get("/metrics").text
    assert 'tellwhen_requests_total{path="/v1/publish",status="500"} 1.0' in counted
    assert 'tellwhen_requests_total{path="/v1/publish",status="200"} 1.0' in counted


def test_times_that_are_not_declared_are_hinted_at(tmp_path):
    given = {"expression": "at > DATE '2026-01-01' AND day < DATE '2027-01-01'"}
    with make_test_client(tmp_path / "data", schema={"day": "date"}) as client:
        hints = good(client.post("/v1/validate", json=given))["hints"]
        assert hints == [
            "at is compared with a time, but JSON has no times; declare at as a date or timestamp in the schema"
        ]
        found = good(client.post("/v1/explain", json=given | {"event": {"at": "2026-02-02", "day": "2026-02-02"}}))
        assert "at is '2026-02-02', which is a string, not a time; a schema can declare at as a time" in found["text"]
        assert found["value"] is None
