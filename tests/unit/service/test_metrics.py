"""Metrics for Prometheus and for the console."""

from service_support import add_subscriptions, expect_error, expect_success, make_test_client


def test_measurements(tmp_path):
    with make_test_client(tmp_path / "data") as client:
        expect_success(add_subscriptions(client, ("a", "x > 1"), ("b", "x > 2")))
        expect_success(client.post("/v1/publish/many", json={"events": [{"x": 2}, {"x": 3}]}))
        expect_success(client.post("/v1/publish", json={"event": {"x": 3}}))
        expect_success(client.post("/v1/match", json={"event": {"x": 3}}))
        expect_error(client.get("/v1/subscriptions/nobody"), 404, "UnknownId")
        stats = expect_success(client.get("/v1/stats"))
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
