"""The job of `groupcheck check --follow`: checks files or topic records as they arrive.

Spark's checkpoint lists the files or records of a batch. The state store of the checkpoint and
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
from pyspark.sql import functions as F  # noqa: N812 - Spark's convention

from groupcheck.pipeline.check import TABLES
from groupcheck.pipeline.errors import PipelineError, in_a_line, naming_errors
from groupcheck.pipeline.inputs import ORDER
from groupcheck.pipeline.offsets_topic.topic import Topic
from groupcheck.pipeline.output import marker, put_marker
from groupcheck.pipeline.schemas import EVENTS, FOLLOWED, for_spark, persisted, rows_of_table
from groupcheck.pipeline.sources import TOPIC_SCHEME, place, uri_of
from groupcheck.pipeline.streaming.workers import (
    ARRIVED,
    BatchSettings,
    arrived,
    arrived_records,
    follow,
)

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

BUCKETS: Final = 64
WRITTEN: Final = {**TABLES, "transition": "transitions", "quarantined": "quarantine"}
# The schema of Spark's source `binaryFile`, which reads no content if only the path is selected.
FILES: Final = "path string, modificationTime timestamp, length long, content binary"
KIND: Final = "streaming"


class Asked(NamedTuple):
    """The settings of the job.

    Args:
        source: the folder in which files arrive, or the topic.
        checkpoint: the folder from which a run continues.
        report: a folder for the tables.
        profile: the version to check against, instead of that of the sources.
        unknown: the version for a history whose beginning is unknown.
        idle_s: a history without an event for this time ends.
        every_s: the interval of batches; 0 for one batch.

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
        return Topic.of(self.source) if self.source.startswith(TOPIC_SCHEME) else None


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
        writer = writer.option("checkpointLocation", f"{uri_of(asked.checkpoint)}/spark")
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
    return files.schema(FILES).load(uri_of(asked.source)).select("path")


def _with_ticks(arriving: DataFrame) -> DataFrame:
    """What arrives and a row of nulls every second, so that histories also end between arrivals."""
    nulls = [F.lit(None).cast(f.dataType).alias(f.name) for f in arriving.schema]
    return arriving.union(arriving.sparkSession.readStream.format("rate").load().select(*nulls))


def _new(rows: DataFrame, settings: BatchSettings, topic: Topic | None) -> DataFrame:
    """Rows of `ARRIVED` of a batch of `_with_ticks`."""
    key = rows.columns[0]
    arriving = rows.where(F.col(key).isNotNull())
    arriving = arriving.repartition(rows.sparkSession.sparkContext.defaultParallelism, key)
    if topic is None:
        return arriving.mapInArrow(arrived, for_spark(ARRIVED))
    in_order = arriving.sortWithinPartitions("partition", "offset")
    return in_order.mapInArrow(partial(arrived_records, settings, topic.source), for_spark(ARRIVED))


def wait(query: StreamingQuery) -> None:
    """Wait for the end; an interrupt stops the query after the batch in progress.

    Raises:
        PipelineError: Spark fails.
    """
    try:
        with in_a_line():
            query.awaitTermination()
    except KeyboardInterrupt:
        # Java may receive the signal too; complete batches are written in any case.
        with suppress(PipelineError), in_a_line():
            query.stop()


def _claim(asked: Asked) -> None:
    """Check that the folders belong to this job, or mark them."""
    source = asked.source if asked.topic is None else asked.topic.source  # without its settings
    job = {"source": source, "report": asked.report, "profile": asked.profile}
    found = marker(asked.checkpoint)
    if found is not None and found.get("job") != job:
        other = json.dumps(found.get("job"))
        msg = f"{asked.checkpoint} is the checkpoint of another job: {other}"
        raise PipelineError(msg)
    if found is None:
        for path in (asked.checkpoint, asked.report):
            system, inside = place(path)
            with naming_errors(f"write to {path}"):
                if system.get_file_info(inside).type != fs.FileType.NotFound:
                    msg = f"{path} exists already, and does not belong to this checkpoint"
                    raise PipelineError(msg)
                system.create_dir(inside, recursive=True)
        put_marker(asked.report, {"kind": KIND})
        put_marker(asked.checkpoint, {"kind": KIND, "job": job})


def _batch(rows: DataFrame, number: int, asked: Asked, followed: Followed) -> None:
    settings = BatchSettings(
        f"{asked.checkpoint.rstrip('/')}/waiting",
        number,
        time.time(),
        asked.idle_s,
        asked.profile,
        asked.unknown,
    )
    with persisted(_new(rows, settings, asked.topic)) as new:
        events = rows_of_table(new, "event")
        with persisted(continued(events, settings)) as checked:
            _write(checked, rows_of_table(new, "quarantined"), number, asked, followed)


def continued(events: DataFrame, settings: BatchSettings) -> DataFrame:
    """Rows of `FOLLOWED`: the histories of the state store with more rows of `EVENTS`."""
    spark = events.sparkSession
    bucket = F.pmod(F.xxhash64(*ORDER[:3]), F.lit(BUCKETS)).cast("int").alias("bucket")
    no_group = [F.lit(None).cast(field.dataType).alias(field.name) for field in for_spark(EVENTS)]
    buckets = spark.range(BUCKETS).select(F.col("id").cast("int").alias("bucket"), *no_group)
    rows = events.select(bucket, *EVENTS.names).union(buckets)
    rows = rows.repartition(spark.sparkContext.defaultParallelism, "bucket")
    in_order = rows.sortWithinPartitions("bucket", *ORDER)
    return in_order.mapInArrow(partial(follow, settings), for_spark(FOLLOWED))


def _write(
    checked: DataFrame, unreadable: DataFrame, number: int, asked: Asked, followed: Followed
) -> None:
    """Write the tables of the batch."""
    system, report = place(asked.report)
    for name in WRITTEN.values():  # of a run that was killed in this batch
        folder = f"{report}/{name}/batch={number}"
        if system.get_file_info(folder).type == fs.FileType.Directory:
            system.delete_dir(folder)
    row = checked.agg(*(F.count(column).alias(column) for column in WRITTEN)).first()
    counts = row.asDict() if row else {}
    quarantined = unreadable.count()
    for column, name in WRITTEN.items():
        where = f"{uri_of(asked.report)}/{name}/batch={number}"
        table = rows_of_table(checked, column)
        if column == "quarantined":
            table = table.union(unreadable)
            counts[column] += quarantined
        if counts[column]:
            table.coalesce(1).write.mode("overwrite").parquet(where)
    followed.batches += 1
    followed.verdicts += counts["verdict"]
    followed.findings += counts["finding"]
    followed.quarantined += counts["quarantined"]
    if counts["finding"]:
        _report(checked)


def _report(checked: DataFrame) -> None:
    """Print the findings on standard error."""
    found = rows_of_table(checked, "finding").limit(20)
    for row in found.select("group_id", "source", "line", "kind").collect():
        finding = f"{row.group_id}: {row.kind}, in {row.source}:{row.line}"
        sys.stderr.write(f"groupcheck: finding: {finding}\n")
    sys.stderr.flush()
