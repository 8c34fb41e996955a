"""The offsets topic of a live cluster, by Spark's own source, checked against the model."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from random import Random
from subprocess import run
from threading import Event as Interrupted
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer

from groupcheck.cli import main
from groupcheck.properties.brokers.catalogue import definitions
from groupcheck.properties.brokers.definition import start
from support.made_segments import partition, write
from support.needs import needs_broker, needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

import pyspark  # noqa: E402
from pyarrow import RecordBatch, parquet  # noqa: E402

from groupcheck.pipeline.check_on_spark import check_events  # noqa: E402
from groupcheck.pipeline.ingest_on_spark import of_topic  # noqa: E402
from groupcheck.pipeline.offsets_topic.group_records import decode  # noqa: E402
from groupcheck.pipeline.offsets_topic.segments import Record, batches  # noqa: E402
from groupcheck.pipeline.offsets_topic.topic import COLUMNS  # noqa: E402
from groupcheck.pipeline.schemas import EVENTS, VERDICTS, rows_of_table  # noqa: E402
from groupcheck.pipeline.streaming.workers import BatchSettings, Bucket, arrived_records  # noqa: E402
from groupcheck.properties.histories.events import Event  # noqa: E402
from support.spark_kafka import jars  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

SEGMENT = f"{0:020}.log"
SOURCE = "kafka://127.0.0.1:9092/__consumer_offsets"
OF_KAFKA = "partition int, offset long, timestamp long, key binary, value binary"


def _records(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        for batch in batches(file, path.stat().st_size):
            if not batch.control:  # consumers do not receive control batches
                yield from batch.records


def _generation(record: Record) -> int:
    """The generation of a group's record; -1 for other records."""
    value = decode(record.key, record.value)["value"]
    return int(value["data"].get("generation", -1)) if value else -1


def _verdicts(spark: SparkSession, partitions: list[list[Record]]) -> dict[str, Any]:
    rows = [(number, *record) for number, of in enumerate(partitions) for record in of]
    Random(1).shuffle(rows)
    records = spark.createDataFrame(rows, OF_KAFKA).repartition(3)
    events = rows_of_table(of_topic(records, SOURCE), "event")
    verdicts = rows_of_table(check_events(events), "verdict").collect()
    return {row.group_id: row for row in verdicts}


def test_a_topic_that_the_model_allows_is_accepted(spark: SparkSession, tmp_path: Path) -> None:
    """A consumer cannot distinguish transactional commits, and receives no markers."""
    made = partition("2.7", 20, 60)
    write(tmp_path / SEGMENT, "2.7", made)
    records = list(_records(tmp_path / SEGMENT))
    verdicts = _verdicts(spark, [records])
    assert {each["verdict"] for each in verdicts.values()} == {"accepted"}
    assert {each["source"] for each in verdicts.values()} == {f"{SOURCE}-0"}
    assert len(verdicts) > 10


def test_a_record_that_violates_the_model_is_found_in_a_topic(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The last record of a group is followed by one of an earlier generation."""
    write(tmp_path / SEGMENT, "2.7", partition("2.7", 20, 60))
    records = list(_records(tmp_path / SEGMENT))
    by_group = groupby(
        sorted((r for r in records if _generation(r) > 0), key=lambda r: (r.key, _generation(r))),
        key=lambda r: r.key,
    )
    oldest, *_, newest = max(map(list, (of for _, of in by_group)), key=len)
    assert _generation(oldest) < _generation(newest)
    after = [
        each._replace(offset=records[-1].offset + number)
        for number, each in enumerate((newest, oldest), 1)
    ]
    verdicts = _verdicts(spark, [[*records, *after], []])
    rejected = [each for each in verdicts.values() if each["verdict"] == "rejected"]
    assert [each["line"] for each in rejected] == [after[-1].offset]


def test_a_streamed_topic_is_checked_like_one_that_is_read_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In batches of any size, one of which is repeated, as after a killed run."""
    write(tmp_path / SEGMENT, "2.7", partition("2.7", 12, 40))
    records = list(_records(tmp_path / SEGMENT))
    expected = {name: tuple(row) for name, row in _verdicts(spark, [records]).items()}
    parts = [records[:1], records[1:20], records[1:20], records[20:90], records[90:]]
    verdicts: dict[str, Any] = {}
    for batch, part in zip((0, 1, 1, 2, 3), parts, strict=True):
        result = _followed(BatchSettings(f"{tmp_path}/state", batch, batch, 3, None, "2.7"), part)
        assert result == {}
    verdicts = _followed(BatchSettings(f"{tmp_path}/state", 4, 100, 3, None, "2.7"), [])
    assert verdicts == expected


def _followed(how: BatchSettings, records: list[Record]) -> dict[str, Any]:
    """The verdicts of a batch, all groups in one bucket."""
    columns = zip(*((0, *record) for record in records), strict=True)
    names = [each.rpartition(" ")[2] for each in COLUMNS]
    batches = [RecordBatch.from_pydict(dict(zip(names, columns, strict=True)))] if records else []
    events = [
        Event._make(row["event"][name] for name in EVENTS.names)
        for batch in arrived_records(how, SOURCE, batches)
        for row in batch.to_pylist()
        if row["event"] is not None
    ]
    bucket = Bucket(how, 0)
    rows: list[Any] = []
    for _, of_history in groupby(sorted(events), key=attrgetter("history")):
        rows += bucket.take(list(of_history))
    rows += bucket.idle()
    bucket.write()
    verdicts = (row for name, row in rows if name == "verdict")
    return {row["group_id"]: tuple(row[f] for f in VERDICTS.names) for row in verdicts}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("kafka://127.0.0.1", "kafka://127.0.0.1 is not kafka://HOST:PORT[,HOST:PORT...]"),
        ("kafka://127.0.0.1:x/t", "kafka://127.0.0.1:x/t is not kafka://HOST:PORT"),
        ("kafka://127.0.0.1:9?sasl.jaas.config=s", "/__consumer_offsets: no broker can be reached"),
    ],
)
def test_a_missing_topic_is_reported_in_one_line(
    source: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", source]) == 2
    result = capsys.readouterr().err
    assert complaint in result
    assert "sasl" not in result
    assert result.count("\n") == 1


@pytest.mark.usefixtures("spark")
def test_a_missing_kafka_source_package_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert main(["check", f"kafka://127.0.0.1:{listening.getsockname()[1]}"]) == 2
    result = capsys.readouterr().err
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    assert f"add it with --conf spark.jars.packages={package}\n" in result
    assert result.count("\n") == 1


@needs_broker("kafka:4.1")
def test_the_topic_of_a_broker_is_read_from_the_broker(tmp_path: Path) -> None:
    definition = definitions()["kafka:4.1"]
    definition.prepare(lambda _: None)
    broker = start(definition, dict(definition.settings), Interrupted())
    try:
        address = f"{broker.address[0]}:{broker.address[1]}"
        _consume(address, ["one", "two"])
        source = "--conf", f"spark.jars={jars()}"
        done = _groupcheck("check", f"kafka://{address}", *source, "--json")
        folders = "--checkpoint", f"{tmp_path}/checkpoint", "--report", f"{tmp_path}/report"
        follow = "check", f"kafka://{address}", *source, "--follow", "--every", "0", *folders
        first = _groupcheck(*follow)
        _consume(address, ["three"])
        second = _groupcheck(*follow, "--idle", "0")
    finally:
        broker.stop()
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["check"]
    assert result["accepted"] == result["groups"] >= 2
    assert result["read"]["read"] == result["read"]["kept"] >= 10
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "0 verdicts" in first.stdout
    verdicts = parquet.read_table(tmp_path / "report" / "verdicts").to_pylist()
    accepted = {each["group_id"] for each in verdicts if each["verdict"] == "accepted"}
    assert accepted >= {"one", "two", "three"}
    assert len({each["group_id"] for each in verdicts}) == len(verdicts)


def _consume(address: str, groups: list[str]) -> None:
    producer = Producer({"bootstrap.servers": address})
    producer.produce("t", b"value")
    assert producer.flush(60) == 0
    for group in groups:
        settings = {"group.id": group, "auto.offset.reset": "earliest"}
        consumer = Consumer({"bootstrap.servers": address, "enable.auto.commit": False, **settings})
        consumer.subscribe(["t"])
        assert consumer.poll(60) is not None
        consumer.commit(asynchronous=False)
        consumer.close()


def _groupcheck(*arguments: str) -> Any:
    command = [sys.executable, "-m", "groupcheck", *arguments]
    return run(command, capture_output=True, text=True, check=False, timeout=600)
