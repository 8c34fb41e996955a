"""What keeps arriving, files or the offsets topic, held to the model as it comes: `check --follow`.

Spark's source says what is new, and its checkpoint which of that each batch has. What
waits is in the buckets of the checkpoint, by the batch's number, and so is what is written of it: a
batch that is done again, after whatever has happened, writes the same in the same place.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from pyarrow import fs
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.check import TABLES
from groupcheck.pipeline.errors import PipelineError
from groupcheck.pipeline.failures import in_a_line
from groupcheck.pipeline.ingest import ORDER
from groupcheck.pipeline.offsets_topic.topic import SCHEME, Topic
from groupcheck.pipeline.output import marker, put_marker, writes
from groupcheck.pipeline.schemas import EVENTS
from groupcheck.pipeline.sources import LOCAL, place
from groupcheck.pipeline.streaming.state_store import Following
from groupcheck.pipeline.streaming.workers import (
    ARRIVED,
    FOLLOWED,
    arrived,
    arrived_records,
    follow,
)

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

BUCKETS: Final = 64
WRITTEN: Final = {**TABLES, "transition": "transitions", "quarantined": "quarantine"}
# Of Spark's source `binaryFile`, which reads no content where only the path is asked for.
FILES: Final = "path string, modificationTime timestamp, length long, content binary"
KIND: Final = "streaming"


class Asked(NamedTuple):
    """What is to be followed.

    Args:
        source: the folder in which files keep arriving, or the topic that grows.
        checkpoint: a folder from which it goes on, whatever has happened.
        report: a folder for the tables.
        profile: the version to judge by, in the place of the one that the sources say.
        unknown: the version of a history whose beginning is not known.
        idle_s: a history is over when nothing of it has come for so long.
        every_s: how often is looked at what has come; 0: once, and that is all.

    """

    source: str
    checkpoint: str
    report: str
    profile: str | None
    unknown: str
    idle_s: float = 3_600
    every_s: float = 2

    @property
    def topic(self) -> Topic | None:
        """The topic that is to be followed, if it is one.

        Raises:
            PipelineError: it is named as none can be.
        """
        return Topic.of(self.source) if self.source.startswith(SCHEME) else None


class Followed:
    """What has come of it so far."""

    def __init__(self) -> None:
        self.batches = self.verdicts = self.findings = self.quarantined = 0


def start(spark: SparkSession, asked: Asked) -> tuple[StreamingQuery, Followed]:
    """Begin to follow, or go on.

    Raises:
        PipelineError: the folders are of something else, or it is not possible.
    """
    _claim(asked)
    followed = Followed()

    def batch(rows: DataFrame, number: int) -> None:
        _batch(rows, number, asked, followed)

    with in_a_line():
        writer = _with_ticks(_arriving(spark, asked)).writeStream.foreachBatch(batch)
        writer = writer.option("checkpointLocation", f"{_uri(asked.checkpoint)}/spark")
        if asked.every_s:
            writer = writer.trigger(processingTime=f"{asked.every_s} seconds")
        else:
            writer = writer.trigger(availableNow=True)
        return writer.start(), followed


def _arriving(spark: SparkSession, asked: Asked) -> DataFrame:
    """The paths of files, or the records of a topic."""
    if asked.topic is not None:
        return asked.topic.arriving(spark)
    files = spark.readStream.format("binaryFile").option("recursiveFileLookup", "true")
    return files.schema(FILES).load(_uri(asked.source)).select("path")


def _with_ticks(arriving: DataFrame) -> DataFrame:
    """A row of nulls every second, too: groups grow idle while nothing comes at all."""
    nothing = [F.lit(None).cast(f.dataType).alias(f.name) for f in arriving.schema]
    return arriving.union(arriving.sparkSession.readStream.format("rate").load().select(*nothing))


def _new(rows: DataFrame, how: Following, topic: Topic | None) -> DataFrame:
    """Rows of `ARRIVED`, of what a batch of `_with_ticks` has."""
    by = rows.columns[0]
    there = rows.where(F.col(by).isNotNull())
    there = there.repartition(rows.sparkSession.sparkContext.defaultParallelism, by)
    if topic is None:
        return there.mapInArrow(arrived, ARRIVED)
    in_order = there.sortWithinPartitions("partition", "offset")
    return in_order.mapInArrow(partial(arrived_records, how, topic.source), ARRIVED)


def wait(query: StreamingQuery) -> None:
    """Wait until it is over; if it is interrupted it ends in order.

    Raises:
        PipelineError: Spark gave up.
    """
    try:
        with in_a_line():
            query.awaitTermination()
    except KeyboardInterrupt:
        # Whoever tells all processes to end has told Java, too; what was done is written anyway.
        with suppress(PipelineError), in_a_line():
            query.stop()


def _claim(asked: Asked) -> None:
    """See that the folders are of this, or make them so."""
    source = asked.source if asked.topic is None else asked.topic.source  # without its settings
    of = {"source": source, "report": asked.report, "profile": asked.profile}
    told = marker(asked.checkpoint)
    if told is not None and told.get("of") != of:
        msg = (
            f"{asked.checkpoint} is the checkpoint of something else: {json.dumps(told.get('of'))}"
        )
        raise PipelineError(msg)
    if told is None:
        for path in (asked.checkpoint, asked.report):
            system, inside = place(path)
            with writes(path):
                if system.get_file_info(inside).type != fs.FileType.NotFound:
                    msg = f"{path} is there already, and is of no such checkpoint"
                    raise PipelineError(msg)
                system.create_dir(inside, recursive=True)
        put_marker(asked.report, {"kind": KIND})
        put_marker(asked.checkpoint, {"kind": KIND, "of": of})


def _uri(path: str) -> str:
    return path if "://" in path else f"{LOCAL}{place(path)[1]}"


def _batch(rows: DataFrame, number: int, asked: Asked, followed: Followed) -> None:
    how = Following(
        f"{asked.checkpoint.rstrip('/')}/waiting",
        number,
        time.time(),
        asked.idle_s,
        asked.profile,
        asked.unknown,
    )
    new = _new(rows, how, asked.topic)
    new.persist(StorageLevel.DISK_ONLY)
    events = new.where("event is not null").select("event.*").select(*EVENTS.names)
    judged = gone_on(events, how).persist(StorageLevel.DISK_ONLY)
    try:
        unread = new.where("quarantined is not null").select("quarantined.*")
        _write(judged, unread, number, asked, followed)
    finally:
        judged.unpersist()
        new.unpersist()


def gone_on(events: DataFrame, how: Following) -> DataFrame:
    """Rows of `FOLLOWED`: what waits, held to the model by more rows of `EVENTS`."""
    spark = events.sparkSession
    bucket = F.pmod(F.xxhash64(*ORDER[:3]), F.lit(BUCKETS)).cast("int").alias("bucket")
    nobody = [F.lit(None).cast(field.dataType).alias(field.name) for field in EVENTS]
    each = spark.range(BUCKETS).select(F.col("id").cast("int").alias("bucket"), *nobody)
    together = events.select(bucket, *EVENTS.names).union(each)
    together = together.repartition(spark.sparkContext.defaultParallelism, "bucket")
    in_order = together.sortWithinPartitions("bucket", *ORDER)
    return in_order.mapInArrow(partial(follow, how), FOLLOWED)


def _write(
    judged: DataFrame, unread: DataFrame, number: int, asked: Asked, followed: Followed
) -> None:
    """Write what there is of each table, in the place of the batch."""
    system, report = place(asked.report)
    for name in WRITTEN.values():  # by a run that was killed in this batch
        before = f"{report}/{name}/batch={number}"
        if system.get_file_info(before).type == fs.FileType.Directory:
            system.delete_dir(before)
    counts = judged.agg(*(F.count(column).alias(column) for column in WRITTEN)).first()
    of = counts.asDict() if counts else {}
    quarantined = unread.count()
    for column, name in WRITTEN.items():
        where = f"{_uri(asked.report)}/{name}/batch={number}"
        table = judged.where(F.col(column).isNotNull()).select(f"{column}.*")
        if column == "quarantined":
            table = table.union(unread)
            of[column] += quarantined
        if of[column]:
            table.coalesce(1).write.mode("overwrite").parquet(where)
    followed.batches += 1
    followed.verdicts += of["verdict"]
    followed.findings += of["finding"]
    followed.quarantined += of["quarantined"]
    if of["finding"]:
        _tell(judged)


def _tell(judged: DataFrame) -> None:
    """Say on standard error, at once, which groups have left the model."""
    found = judged.where("finding is not null").select("finding.*").limit(20)
    for row in found.select("group_id", "source", "line", "kind").collect():
        told = f"{row.group_id}: {row.kind}, in {row.source}:{row.line}"
        sys.stderr.write(f"groupcheck: finding: {told}\n")
    sys.stderr.flush()
