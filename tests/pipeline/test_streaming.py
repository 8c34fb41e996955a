"""A stream of events is checked as it arrives: no event is lost, none is counted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from groupcheck.cli import main
from support.made_recordings import Wanted, recordings
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from groupcheck.pipeline.kernels import replay  # noqa: E402
from groupcheck.pipeline.readers import rows_of, rows_of_recording  # noqa: E402
from groupcheck.pipeline.schemas import EVENTS, columns_of  # noqa: E402
from groupcheck.pipeline.sources import lines  # noqa: E402
from groupcheck.pipeline.streaming.stream import WRITTEN  # noqa: E402
from groupcheck.pipeline.streaming.workers import BatchSettings, arrived, follow  # noqa: E402

Rows = dict[str, list[str]]
VIOLATIONS = 3
LONG_S = 300  # how long a test waits for Spark on a busy machine


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """Events in the order of time, with a wrong response in some groups."""
    directory = tmp_path_factory.mktemp("recordings")
    recordings(directory, Wanted(12, 80, files=1, violations=VIOLATIONS, seed=8, kinds=6))
    (path,) = directory.glob("*.jsonl")
    rows = [row for name, row in rows_of_recording(str(path), lines(str(path))) if name == "event"]
    return pa.table(columns_of(rows, EVENTS), EVENTS)


def _parts(events: pa.Table, parts: int) -> Iterator[pa.Table]:
    cuts = [events.num_rows * part // parts for part in range(parts + 1)]
    return (events.slice(start, end - start) for start, end in pairwise(cuts))


def _in_order(events: pa.Table) -> pa.Table:
    keys = ("group_id", "source", "session", "seq")
    return events.sort_by([(key, "ascending") for key in keys])


def _rows(batches: Iterator[pa.RecordBatch]) -> Rows:
    found: Rows = {}
    for batch in batches:
        for row in batch.to_pylist():
            ((name, result),) = ((name, each) for name, each in row.items() if each is not None)
            if name != "summary":
                found.setdefault(name, []).append(json.dumps(result, sort_keys=True))
    return found


def _followed(state: Path, number: int, events: pa.Table, **how: Any) -> Rows:
    asked = BatchSettings(str(state), number, 1_000.0 * number, 3_600, None, "2.7")._replace(**how)
    bucket = pa.array([0] * (events.num_rows + 1), pa.int32())
    no_group = pa.table(
        {name: pa.nulls(1, events.schema.field(name).type) for name in EVENTS.names}
    )
    rows = pa.concat_tables([no_group, _in_order(events).cast(no_group.schema)])
    table = rows.add_column(0, "bucket", bucket)
    return _rows(follow(asked, table.to_batches(max_chunksize=50)))


def _together(*parts: Rows) -> dict[str, list[str]]:
    names = {name for part in parts for name in part}
    return {
        name: sorted(_whole(row) for part in parts for row in part.get(name, [])) for name in names
    }


def _whole(row: str) -> str:
    """The row without the parts of a finding's recording that a check of the whole input omits."""
    result = json.loads(row)
    return json.dumps(
        {k: v for k, v in result.items() if k not in {"recording", "omitted", "trace"}}
    )


def _transitions(rows: Rows) -> dict[str, Counter[str]]:
    """The transitions, summed: each batch has its own counts."""
    found: dict[str, Counter[str]] = {}
    for text in rows.pop("transition", []):
        row = json.loads(text)
        counts = Counter({name: row.pop(name) for name in ("times", "histories")})
        found.setdefault(json.dumps(row, sort_keys=True), Counter()).update(counts)
    return found


def test_batches_have_the_rows_of_one_check_even_if_each_is_repeated(
    events: pa.Table, tmp_path: Path
) -> None:
    result = []
    for number, part in enumerate(_parts(events, 5)):
        first = _followed(tmp_path, number, part)
        again = _followed(tmp_path, number, part)  # killed before Spark recorded the batch as done
        assert first == again
        result.append(again)
    result.append(_followed(tmp_path, 5, events.slice(0, 0), idle_s=0))
    together = _together(*result)
    expected = _together(_rows(replay(_in_order(events).to_batches())))
    assert len(expected["finding"]) == VIOLATIONS
    assert _transitions(together) == _transitions(expected)
    assert together == expected
    assert any("finding" in part for part in result[:-1])  # at once, not at the end
    assert len(list((tmp_path / "0000").iterdir())) <= 2


def test_a_dropped_history_continues_mid_stream(events: pa.Table, tmp_path: Path) -> None:
    parts = list(_parts(events, 2))
    first = _followed(tmp_path, 0, parts[0], idle_s=0)
    assert len(first["verdict"]) == len(set(parts[0]["group_id"].to_pylist()))
    second = _followed(tmp_path, 1, parts[1], idle_s=0)
    reasons = {json.loads(row)["reason"] for row in second["verdict"]}
    assert any("before" in str(reason) for reason in reasons)
    assert {json.loads(row)["verdict"] for row in second["verdict"]} <= {"undecided", "accepted"}


def test_an_event_that_comes_again_is_in_quarantine(events: pa.Table, tmp_path: Path) -> None:
    some = events.slice(0, 30)
    _followed(tmp_path, 0, some)
    result = _followed(tmp_path, 1, some)
    assert len(result.pop("quarantined")) == 30
    assert not result


def test_recordings_and_parquet_of_events_are_read(events: pa.Table, tmp_path: Path) -> None:
    pq.write_table(events, tmp_path / "part.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    paths = [f"file:{tmp_path}/{name}" for name in ("part.parquet", "bad.parquet")]
    result = _rows(arrived([pa.RecordBatch.from_pydict({"path": paths})]))
    assert len(result["event"]) == events.num_rows
    assert len(result["quarantined"]) == 1
    (recording,) = {row["source"] for row in events.to_pylist()}
    again = _rows(arrived([pa.RecordBatch.from_pydict({"path": [f"file:{recording}"]})]))
    assert len(again["event"]) == events.num_rows


@pytest.mark.usefixtures("spark")
@pytest.mark.slow
def test_a_killed_run_continues_without_lost_or_repeated_rows(
    events: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = _command(tmp_path)
    first, second = _parts(events, 2)
    pq.write_table(first, tmp_path / "in" / "first.parquet")
    with _following(command) as process:  # killed after the state is written, before the tables
        _until_there_is(tmp_path / "checkpoint", "waiting/*/*.pickle", process)
    pq.write_table(second, tmp_path / "in" / "second.parquet")
    assert main([*command, "--every", "0"]) == 1  # there are findings
    _assert_complete(command, tmp_path / "report", events)
    assert capsys.readouterr().out.startswith("followed   ")
    assert main([*command, "--profile", "4.1"]) == 2
    assert "is the checkpoint of another job" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
@pytest.mark.slow
def test_an_interrupted_run_ends_with_a_line_and_the_next_continues(
    events: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, checkpoint = _command(tmp_path), tmp_path / "checkpoint"
    first, second = _parts(events, 2)
    pq.write_table(first, tmp_path / "in" / "first.parquet")
    with _following(command) as process:
        _until_there_is(checkpoint, "waiting/*/*.pickle", process)  # in the middle of a batch
        process.terminate()
        _ends_in_a_line(process, {0, 1})
    with _following(command) as process:
        _until_there_is(checkpoint, "spark/commits/0", process)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
        _ends_in_a_line(process, {1})  # there are findings
    pq.write_table(second, tmp_path / "in" / "second.parquet")
    assert main([*command, "--every", "0"]) in {0, 1}
    _assert_complete(command, tmp_path / "report", events)
    capsys.readouterr()


def _command(folder: Path) -> list[str]:
    """The command that follows the files in a folder."""
    (folder / "in").mkdir()
    command = ["check", str(folder / "in"), "--follow"]
    return [*command, "--checkpoint", str(folder / "checkpoint"), "--report", f"{folder}/report"]


def _assert_complete(command: list[str], report: Path, events: pa.Table) -> None:
    """End all histories; the report has the rows of one check."""
    time.sleep(1)
    assert main([*command, "--every", "0", "--idle", "0"]) in {0, 1}
    together = _together(_written(report))
    expected = _together(_rows(replay(_in_order(events).to_batches())))
    assert _transitions(together) == _transitions(expected)
    assert together == expected


def _ends_in_a_line(process: subprocess.Popen[str], status: set[int]) -> None:
    out, err = process.communicate(timeout=LONG_S)
    assert process.returncode in status, (out, err)
    assert out.startswith("followed   ")
    assert out.endswith("it can be resumed\n")
    assert out.count("\n") == 1
    assert all(line.startswith("groupcheck: finding: ") for line in err.splitlines())


@contextmanager
def _following(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Follow in a separate process, which is cleaned up afterwards."""
    quick = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    process = subprocess.Popen(
        [sys.executable, "-m", "groupcheck", *command, "--master", "local[2]", "--conf", quick],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _until_there_is(folder: Path, what: str, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + LONG_S
    while not list(folder.glob(what)):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize(
    "name",
    [
        "logs/2.7/server.log",
        "offsets_topic/kafka-2.7/__consumer_offsets-2/00000000000000000000.log",
        "offsets_topic/kafka-2.7/OffsetsMessageFormatter.txt",
    ],
)
def test_logs_and_segments_are_quarantined(name: str) -> None:
    path = Path(__file__).parent / name
    events_of_file = [row for kind, row in rows_of(f"file://{path}") if kind == "event"]
    result = _rows(arrived([pa.RecordBatch.from_pydict({"path": [f"file:{path}"]})]))
    assert events_of_file
    assert "event" not in result
    reasons = [json.loads(row)["reason"] for row in result["quarantined"]]
    refused = "not a recording: only check without --follow checks it"
    assert reasons.count(refused) == len(events_of_file)


def _written(report: Path) -> Rows:
    """The rows of all tables that the kernels return."""
    found: Rows = {}
    for column, name in WRITTEN.items():
        for part in sorted(report.glob(f"{name}/batch=*")):
            rows = pq.read_table(part, partitioning=None).to_pylist()
            result = (json.dumps(row, sort_keys=True) for row in rows)
            found.setdefault(column, []).extend(result)
    return found


@pytest.mark.parametrize(
    "arguments",
    [[], ["--checkpoint", "c"], ["--report", "r"], ["b", "--checkpoint", "c", "--report", "r"]],
)
def test_missing_options_are_an_error_of_one_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "a", *arguments, "--follow"]) == 2
    needs = "one folder or topic as SOURCE, --checkpoint DIR and --report DIR"
    assert capsys.readouterr().err == f"groupcheck: --follow needs {needs}\n"
