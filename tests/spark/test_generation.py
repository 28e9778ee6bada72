"""Are workloads the same on Spark as in one process?"""

import json

import pytest

import tellwhen as tw
from tellwhen import spark as tws
from tellwhen.workloads import BEGen, take_events, take_subscriptions

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_workloads_are_the_same_on_spark(spark, partitions):
    work = BEGen()
    made = tws.generate(spark, work, 10_500).repartition(partitions)
    assert [row.expression for row in made.orderBy("id").collect()] == take_subscriptions(work, 10_500)
    events = tws.generate(spark, work, 50, "events").orderBy("event_id").collect()
    assert [json.loads(row.attributes) for row in events] == take_events(work, 50)
    for count, what in ((-1, "events"), (1, "cats")):
        with pytest.raises(tw.TellwhenError):
            tws.generate(spark, work, count, what)


def test_a_workload_from_end_to_end(spark, tmp_path):
    """Generated, ingested, built and matched on Spark, it gives what it gives in one process."""
    work = BEGen(match=0.05)
    subs, bad = tws.ingest(tws.generate(spark, work, 2_000))
    assert bad.count() == 0
    tws.build(subs, tmp_path / "i")
    found = {tuple(row) for row in tws.match(tws.generate(spark, work, 40, "events"), tmp_path / "i").collect()}
    index = tw.Index().add_many(enumerate(take_subscriptions(work, 2_000)))
    assert found == {(e, i) for e, event in enumerate(take_events(work, 40)) for i in index.match(event)}
