"""One Spark session for all tests: starting one takes longer than most tests."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from tellwhen import spark as tws
    from tellwhen.spark.sessions import LOGGING

    # Half the processor time: code that runs a few times is not worth optimizing.
    java = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    config = {"spark.sql.shuffle.partitions": "3", "spark.driver.extraJavaOptions": java}
    session = tws.session("test", master="local[2]", config=config)
    yield session
    session.stop()
