"""Reads the offsets topic of a live cluster with Spark's Kafka source.

A consumer receives neither the markers of transactions nor the producers of commits, so the rows
are those of the text of Kafka's formatters. A marker leaves a gap, as compaction does.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from groupcheck.pipeline.errors import PipelineError
from groupcheck.pipeline.offsets_topic.formatter_text import COMMITS, GROUPS
from groupcheck.pipeline.offsets_topic.group_records import MOST_EXAMINED, profile_of
from groupcheck.pipeline.offsets_topic.partition_reader import PartitionReader
from groupcheck.pipeline.offsets_topic.segments import Batch, Record
from groupcheck.pipeline.sources import TOPIC_SCHEME, Read, file_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

CONNECT_TIMEOUT_S: Final = 5.0
TOPIC: Final = "__consumer_offsets"
KINDS: Final = [*GROUPS, *COMMITS]
# Spark's other method to find the offsets, Kafka's Admin, omits internal topics such as this one
# (retrieveAllPartitions in org.apache.spark.sql.kafka010.ConsumerStrategy).
BY_CONSUMER: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
COLUMNS: Final = ("partition", "offset", "unix_millis(timestamp) AS timestamp", "key", "value")
# The default settings of Spark's source and its consumers.
DEFAULTS: Final = {
    "groupIdPrefix": "groupcheck",
    "startingOffsets": "earliest",
    "maxOffsetsPerTrigger": "1000000",  # so that the first batch of a stream is not the whole topic
    "failOnDataLoss": "false",  # records that are removed meanwhile are a gap
    "kafka.allow.auto.create.topics": "false",
    "kafka.default.api.timeout.ms": "20000",
    "kafka.request.timeout.ms": "15000",
}


class Topic(NamedTuple):
    """A topic, as `kafka://HOST:PORT[,HOST:PORT...][/TOPIC][?SETTING=VALUE&...]` names it.

    The settings are those of Kafka's consumer, such as `security.protocol`.
    """

    source: str
    servers: str
    name: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, source: str) -> Topic:
        """The topic of that name.

        Raises:
            PipelineError: a host or port is missing.
        """
        found = urlsplit(source)
        servers = found.netloc.split(",")
        if not all(host and port.isdecimal() for host, _, port in map(_split, servers)):
            msg = f"{source} is not kafka://HOST:PORT[,HOST:PORT...][/TOPIC][?SETTING=VALUE&...]"
            raise PipelineError(msg)
        name = found.path.strip("/") or TOPIC
        source = f"{TOPIC_SCHEME}{found.netloc}/{name}"  # without the settings, which may be secret
        return cls(source, found.netloc, name, dict(parse_qsl(found.query)))

    def records(self, spark: SparkSession) -> DataFrame:
        """The records from the first offset to the present last one, with the columns `COLUMNS`.

        Raises:
            PipelineError: no broker is reachable, or Spark has no source for Kafka.
        """
        return self._loaded(spark, spark.read)

    def arriving(self, spark: SparkSession) -> DataFrame:
        """The same as a stream; raises as `records` does."""
        return self._loaded(spark, spark.readStream)

    def _loaded(self, spark: SparkSession, reader: DataFrameReader | DataStreamReader) -> DataFrame:
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - only Spark needs it

        self._check_reachable()
        spark.conf.set(BY_CONSUMER, "true")
        settings = {f"kafka.{name}": value for name, value in self.settings.items()}
        where = {"kafka.bootstrap.servers": self.servers, "subscribe": self.name}
        loading = reader.format("kafka").options(**DEFAULTS, **settings, **where)
        try:
            return loading.load().selectExpr(*COLUMNS)
        except AnalysisException as error:
            if "kafka" not in str(error).lower():
                raise
            msg = (
                f"{self.source}: Spark has no Kafka source; add it with --conf "
                "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:" + spark.version
            )
            raise PipelineError(msg) from error

    def _check_reachable(self) -> None:
        """Check that a broker listens: Spark and Kafka would retry for minutes."""
        why = ""
        for host, _, port in map(_split, self.servers.split(",")):
            try:
                socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
            except OSError as error:
                why = error.strerror or str(error)
            else:
                return
        msg = f"{self.source}: no broker can be reached: {why}"
        raise PipelineError(msg)


def _split(server: str) -> tuple[str, str, str]:
    return server.rpartition(":")


def topic_rows(source: str, batches: Iterable[pa.RecordBatch]) -> Read:
    """The rows of records, which are sorted by partition and offset; each with its table."""
    for partition, records in by_partition(batches):
        yield from rows_of_records(*partition_reader(f"{source}-{partition}", records))


def by_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[Record]]]:
    """The records of each partition."""
    rows = (row for batch in batches for row in zip(*map(pa.Array.to_pylist, batch.columns)))  # noqa: B905 - columns of one batch
    for partition, of in groupby(rows, key=itemgetter(0)):
        yield partition, (Record(*row[1:]) for row in of)


def partition_reader(
    source: str, records: Iterator[Record]
) -> tuple[PartitionReader, Iterator[Record]]:
    """A reader for a partition with these first records, and all its records."""
    first = list(islice(records, MOST_EXAMINED))
    profile = profile_of((each.key, each.value) for each in first)
    return PartitionReader(source, profile, first[0].offset, KINDS), chain(first, records)


def rows_of_records(reader: PartitionReader, records: Iterable[Record]) -> Read:
    """The rows of the next records of a reader, and the row of the file."""
    read = quarantined = 0
    before = reader.events
    for record in records:
        rows, rejected = reader.take(Batch(record.offset, records=(record,)))
        yield from (("event", row) for row in rows)
        for each in rejected:
            yield "quarantined", {"source": reader.source, "line": record.offset, **each}
        read += 1
        quarantined += len(rejected)
    yield file_row(reader.source, read - quarantined, quarantined, reader.events - before)
