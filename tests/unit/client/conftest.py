"""A service, and both kinds of client."""

import pytest

from client_support import CLIENT_KINDS
from service_support import run_service


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with run_service(tmp_path_factory.mktemp("client") / "data") as address:
        yield address


@pytest.fixture(params=CLIENT_KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=CLIENT_KINDS)
def client(request, address):
    """A client of a service without subscriptions."""
    with request.param(address, timeout=120.0) as client:  # the first call of a kernel compiles it
        client.remove_many([subscription.id for subscription in client.iter_subscriptions()])
        assert len(client) == 0
        yield client
