"""One Spark session for all tests: starting one takes longer than most tests."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from tellwhen import spark as tws

    session = tws.session("test", master="local[2]", config={"spark.sql.shuffle.partitions": "3"})
    yield session
    session.stop()
