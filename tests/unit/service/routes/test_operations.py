"""Routes that describe the service and its state, over HTTP."""

import tellwhen as tw
from service_support import add_subscriptions, expect_success


def test_what_is_served(client):
    expect_success(add_subscriptions(client, ("a", "x > 1"), ("b", "city = 'Oslo'")))
    assert expect_success(client.get("/v1")) == {
        "version": tw.__version__, "tenant": "default", "roles": ["read", "publish", "manage"], "subscriptions": 2,
        "changes": True, "index_version": None, "schema": {},
    }  # fmt: skip
    assert expect_success(client.get("/v1/attributes")) == {"x": "number", "city": "string"}
    assert expect_success(client.get("/healthz")) == {"status": "ok"}
    assert expect_success(client.get("/readyz")) == {"status": "ready"}
