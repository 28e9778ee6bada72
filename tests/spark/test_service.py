"""Does a service follow the versions of an index that Spark builds?"""

import pytest

import tellwhen as tw
from service_support import wait_until
from tellwhen import spark as tws
from tellwhen.client import Client, ServiceError
from tellwhen.service import Keys, Timeouts, run_in_background

pytestmark = pytest.mark.spark


def test_new_versions_are_served_without_a_restart(spark, tmp_path):
    path = tmp_path / "index"
    tws.build(spark.createDataFrame([(1, "x > 1"), (2, "x > 5")], "id int, expression string"), path, shards=2)
    before = set(path.iterdir())
    timeouts = Timeouts(version_check_seconds=0.05)
    with run_in_background(path, timeouts=timeouts) as service, Client(service.address) as client:
        assert (client.publish({"x": 3}), client.get_service_info()["index_version"]) == ([1], 1)
        with pytest.raises(ServiceError, match="change it with tellwhen.spark.update") as refused:
            client.add(3, "x > 2")
        assert refused.value.status == 409
        assert set(path.iterdir()) <= before | {path / "leases"}
        changes = [("add", 3, "x > 2"), ("remove", 1, None)]
        tws.update(spark.createDataFrame(changes, "operation string, id int, expression string"), path)
        wait_until(lambda: client.get_service_info()["index_version"] == 2)
        assert client.publish({"x": 3}) == [3]
        tws.rollback(path, 1)
        wait_until(lambda: client.publish({"x": 3}) == [1])
        assert client.get_service_info()["index_version"] == 1

        # A version that cannot be opened is told, and the one before is served on.
        current = path / "current.json"
        whole = current.read_bytes()
        current.write_text("{")
        wait_until(lambda: "cannot be opened" in str(client.get_stats()["failure"]))
        assert client.publish({"x": 3}) == [1]
        current.write_bytes(whole)
        wait_until(lambda: client.get_stats()["failure"] is None)

    Keys(tmp_path / "index-service" / "keys.json").add("acme", ["read"], tenant="acme")
    with pytest.raises(tw.FormatError, match="the key of the tenant acme gives no access"):
        run_in_background(path)
