"""One Spark session for all tests: starting one takes longer than most tests."""

import pyarrow as pa
import pytest

import tellwhen as tw

SIMPLE = ("string", "smallint", "int", "bigint", "double", "boolean", "binary", "map<string,string>")


@pytest.fixture(scope="session")
def spark():
    from tellwhen import spark as tws
    from tellwhen.spark.sessions import LOGGING

    # Once, here: the workers would compile the same kernels at the same time.
    tw.Index("auto:pending=1").add_many({1: "x = 1", 2: "y = 1 OR z = 1"}).rebuild().match({"x": 1})
    # Half the processor time: code that runs a few times is not worth optimizing.
    java = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    config = {"spark.sql.shuffle.partitions": "3", "spark.driver.extraJavaOptions": java}
    session = tws.start_session("test", master="local[2]", config=config)
    session.createDataFrame = through_arrow(session.createDataFrame)
    yield session
    session.stop()


def through_arrow(create):
    """`createDataFrame` with a list as an Arrow table: of a list, every query would ask Python workers."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    def createDataFrame(data, schema=None):  # noqa: N802
        types = StructType.fromDDL(schema) if isinstance(schema, str) else None
        if types is None or any(field.dataType.simpleString() not in SIMPLE for field in types.fields):
            return create(data, schema)
        columns = list(zip(*data, strict=True)) or [()] * len(types)
        fields = to_arrow_schema(types)
        arrays = [pa.array(map(pairs, column), field.type) for column, field in zip(columns, fields, strict=True)]
        return create(pa.Table.from_arrays(arrays, schema=fields), types)

    return createDataFrame


def pairs(value):
    """Arrow takes a map as pairs."""
    return list(value.items()) if isinstance(value, dict) else value
