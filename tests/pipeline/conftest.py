"""One Spark session for all tests of the pipeline."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# To start sooner: what is compiled better pays only in the long run.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from groupcheck.pipeline.session import session  # noqa: PLC0415 - it may be left out

    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.sql.shuffle.partitions": "2",
    }
    with session("local[2]", settings) as started:
        yield started
    _close_sockets()


def pytest_itemcollected(item: pytest.Item) -> None:
    """py4j leaves it to the garbage collector to close its sockets."""
    item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="module", autouse=True)
def sockets() -> Iterator[None]:
    """Close what py4j leaves open before the tests of another module run."""
    yield
    _close_sockets()


def _close_sockets() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
