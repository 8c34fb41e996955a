"""The job of `groupcheck check --follow`: checks files or topic records as they arrive.

Spark's checkpoint says which files or records a batch has. The state store of the checkpoint and
the tables are written by batch number: a repeated batch writes the same rows to the same place.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as Spark's users call it

from groupcheck.pipeline.check import TABLES
from groupcheck.pipeline.errors import PipelineError, in_a_line
from groupcheck.pipeline.ingest import ORDER
from groupcheck.pipeline.offsets_topic.topic import SCHEME, Topic
from groupcheck.pipeline.output import marker, put_marker, writes
from groupcheck.pipeline.schemas import EVENTS, persisted, rows_of_table
from groupcheck.pipeline.sources import LOCAL, place
from groupcheck.pipeline.streaming.workers import (
    ARRIVED,
    FOLLOWED,
    Following,
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
    """The settings of the job.

    Args:
        source: the folder in which files arrive, or the topic.
        checkpoint: the folder from which a run continues.
        report: a folder for the tables.
        profile: the version to check against, instead of that of the sources.
        unknown: the version for a history whose begin is unknown.
        idle_s: a history without an event for so long is over.
        every_s: the interval of batches; 0: one batch, then end.

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
        """The topic, if the source is one.

        Raises:
            PipelineError: its name is invalid.
        """
        return Topic.of(self.source) if self.source.startswith(SCHEME) else None


class Followed:
    """The counts of this run."""

    def __init__(self) -> None:
        self.batches = self.verdicts = self.findings = self.quarantined = 0


def start(spark: SparkSession, asked: Asked) -> tuple[StreamingQuery, Followed]:
    """Start, or continue.

    Raises:
        PipelineError: the folders belong to another job, or Spark fails.
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
    """The same with a row of nulls every second: histories also end while nothing arrives."""
    nothing = [F.lit(None).cast(f.dataType).alias(f.name) for f in arriving.schema]
    return arriving.union(arriving.sparkSession.readStream.format("rate").load().select(*nothing))


def _new(rows: DataFrame, how: Following, topic: Topic | None) -> DataFrame:
    """Rows of `ARRIVED` of a batch of `_with_ticks`."""
    by = rows.columns[0]
    there = rows.where(F.col(by).isNotNull())
    there = there.repartition(rows.sparkSession.sparkContext.defaultParallelism, by)
    if topic is None:
        return there.mapInArrow(arrived, ARRIVED)
    in_order = there.sortWithinPartitions("partition", "offset")
    return in_order.mapInArrow(partial(arrived_records, how, topic.source), ARRIVED)


def wait(query: StreamingQuery) -> None:
    """Wait for the end; an interrupt stops the query in order.

    Raises:
        PipelineError: Spark fails.
    """
    try:
        with in_a_line():
            query.awaitTermination()
    except KeyboardInterrupt:
        # Java may have received the signal too; complete batches are written anyway.
        with suppress(PipelineError), in_a_line():
            query.stop()


def _claim(asked: Asked) -> None:
    """Check that the folders belong to this job, or mark them."""
    source = asked.source if asked.topic is None else asked.topic.source  # without its settings
    of = {"source": source, "report": asked.report, "profile": asked.profile}
    found = marker(asked.checkpoint)
    if found is not None and found.get("of") != of:
        msg = f"{asked.checkpoint} is the checkpoint of another job: {json.dumps(found.get('of'))}"
        raise PipelineError(msg)
    if found is None:
        for path in (asked.checkpoint, asked.report):
            system, inside = place(path)
            with writes(path):
                if system.get_file_info(inside).type != fs.FileType.NotFound:
                    msg = f"{path} exists already, and does not belong to this checkpoint"
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
    with persisted(_new(rows, how, asked.topic)) as new:
        events = rows_of_table(new, "event")
        with persisted(gone_on(events, how)) as checked:
            _write(checked, rows_of_table(new, "quarantined"), number, asked, followed)


def gone_on(events: DataFrame, how: Following) -> DataFrame:
    """Rows of `FOLLOWED`: the histories of the state store with more rows of `EVENTS`."""
    spark = events.sparkSession
    bucket = F.pmod(F.xxhash64(*ORDER[:3]), F.lit(BUCKETS)).cast("int").alias("bucket")
    no_group = [F.lit(None).cast(field.dataType).alias(field.name) for field in EVENTS]
    each = spark.range(BUCKETS).select(F.col("id").cast("int").alias("bucket"), *no_group)
    together = events.select(bucket, *EVENTS.names).union(each)
    together = together.repartition(spark.sparkContext.defaultParallelism, "bucket")
    in_order = together.sortWithinPartitions("bucket", *ORDER)
    return in_order.mapInArrow(partial(follow, how), FOLLOWED)


def _write(
    checked: DataFrame, unread: DataFrame, number: int, asked: Asked, followed: Followed
) -> None:
    """Write the tables of the batch."""
    system, report = place(asked.report)
    for name in WRITTEN.values():  # of a run that was killed in this batch
        before = f"{report}/{name}/batch={number}"
        if system.get_file_info(before).type == fs.FileType.Directory:
            system.delete_dir(before)
    counts = checked.agg(*(F.count(column).alias(column) for column in WRITTEN)).first()
    of = counts.asDict() if counts else {}
    quarantined = unread.count()
    for column, name in WRITTEN.items():
        where = f"{_uri(asked.report)}/{name}/batch={number}"
        table = rows_of_table(checked, column)
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
        _report(checked)


def _report(checked: DataFrame) -> None:
    """Print the findings on standard error."""
    found = rows_of_table(checked, "finding").limit(20)
    for row in found.select("group_id", "source", "line", "kind").collect():
        finding = f"{row.group_id}: {row.kind}, in {row.source}:{row.line}"
        sys.stderr.write(f"groupcheck: finding: {finding}\n")
    sys.stderr.flush()
