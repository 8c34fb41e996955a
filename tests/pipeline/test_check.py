"""`check`, in this process and on Spark, and `ingest`: each wrong response is a finding."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from groupcheck.cli import main
from groupcheck.properties.histories.checker import check_group, check_groups, load
from groupcheck.reports.record_file import as_text, read
from support.made_recordings import Made, Wanted, recordings
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from groupcheck.cli import spark as cli_spark  # noqa: E402
from groupcheck.cli.exit_status import CommandError  # noqa: E402
from groupcheck.pipeline import in_process, schemas  # noqa: E402
from groupcheck.pipeline.errors import summarised  # noqa: E402
from groupcheck.pipeline.inputs import ORDER  # noqa: E402
from groupcheck.pipeline.summary import MOST_GROUPS  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
GROUPS, VIOLATIONS = 24, 4
CHECKED = ("verdicts", "findings", "transitions", "rebalances", "states", "offsets")


class Run(NamedTuple):
    """Recordings, the tables of a check in this process, and what it printed."""

    made: Made
    sources: Path
    report: Path
    printed: dict[str, Any]

    @property
    def page(self) -> str:
        return (self.report.parent / "page.html").read_text(encoding="utf-8")

    def rows(self, name: str) -> list[SimpleNamespace]:
        return rows_of(self.report, name)

    def verdicts(self) -> dict[str, SimpleNamespace]:
        return {row.group_id: row for row in self.rows("verdicts")}


def rows_of(folder: Path, name: str) -> list[SimpleNamespace]:
    """The rows of a table in a folder."""
    return [SimpleNamespace(**row) for row in pq.read_table(folder / name).to_pylist()]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Recordings with a wrong response in four groups, checked by the command."""
    directory = tmp_path_factory.mktemp("run")
    sources, report = directory / "sources", directory / "report"
    sources.mkdir()
    made = recordings(sources, Wanted(GROUPS, 60, files=2, violations=VIOLATIONS, seed=1, kinds=12))
    with (sources / "recording-1.jsonl").open("ab") as file:
        file.write(b'{"type":"adv')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out := io.TextIOWrapper(io.BytesIO(), "utf-8"))
        asked = ["--report", str(report), "--html", str(directory / "page.html"), "--json"]
        asked += ["--save", str(directory / "saved.json")]
        assert main(["check", str(sources), *asked]) == 1
        out.seek(0)
        printed = json.loads(out.read())
    return Run(made, sources, report, printed)


def test_the_page_has_the_timeline_of_each_group_with_every_rebalance(run: Run) -> None:
    """The groups are few enough that none is omitted."""
    rebalances = Counter(row.group_id for row in run.rows("rebalances"))
    assert 0 < len(rebalances) <= MOST_GROUPS
    lanes = re.findall(r"<summary><strong>(.*?)</strong>: (\d+) rebalances in", run.page)
    assert {name: int(number) for name, number in lanes} == rebalances
    drawn = re.findall(r'class="generation">(\d+)<|<g><title>at ', run.page)
    assert drawn.count("") == sum(rebalances.values())


def test_the_page_has_the_rejected_groups_and_needs_no_network(run: Run) -> None:
    for group_id in run.made.violations:
        assert f"group &#39;{group_id}&#39; at file://" in run.page
    assert re.findall(r'(?:src|href)="(?!data:|#)', run.page) == []


def test_the_saved_result_is_the_printed_one_and_makes_the_same_page(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.report.parent / "saved.json"
    saved = read(path)
    assert saved.command == "check"
    assert saved.check
    for name in ("groups", "accepted", "undecided", "events_checked", "transitions_covered"):
        assert getattr(saved.check, name) == run.printed["check"][name]
    assert json.loads(as_text(saved)) == run.printed
    assert all(finding.trace and finding.steps for finding in saved.findings)
    assert main(["report", str(path), "--html", str(tmp_path / "again.html")]) == 1
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == run.page
    assert capsys.readouterr().out.endswith(f"verdict    {saved.verdict}\n")
    before = str(tmp_path / "before.json")
    early = msgspec.structs.replace(saved, findings=saved.findings[1:])
    Path(before).write_text(as_text(early), encoding="utf-8")
    assert main(["report", str(path), "--baseline", before]) == 1
    assert f"new        1 finding: {saved.findings[0].id}\n" in capsys.readouterr().out
    assert main(["report", str(path), "--baseline", str(path)]) == 0


def test_each_wrong_event_is_a_finding_and_no_other(run: Run) -> None:
    found = {
        row.group_id: (row.source.removeprefix("file://"), row.line) for row in run.rows("findings")
    }
    assert found == run.made.violations
    assert len(found) == VIOLATIONS
    counts = Counter(row.verdict for row in run.rows("verdicts"))
    # One group is undecided: the recording ends in the middle of a response.
    assert counts == {"accepted": GROUPS - VIOLATIONS - 1, "rejected": VIOLATIONS, "undecided": 1}


@pytest.fixture
def ingested(run: Run, tmp_path: Path) -> Path:
    """The folder of ingest for the recordings."""
    folder = tmp_path / "ingested"
    assert main(["ingest", str(run.sources), "--out", str(folder)]) == 0
    return folder


def rewrite(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write the events of a folder again."""
    for path in (folder / "events").glob("*.parquet"):
        pq.write_table(change(pq.read_table(path)), path)


@pytest.mark.parametrize("type_", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_another_program_may_write_the_events_with_its_types_of_text(
    type_: pa.DataType, run: Run, ingested: Path, tmp_path: Path
) -> None:
    def with_type(events: pa.Table) -> pa.Table:
        schema = [f.with_type(type_) if f.type == pa.string() else f for f in events.schema]
        return events.cast(pa.schema(schema))

    rewrite(ingested, with_type)
    assert main(["check", str(ingested), "--report", str(tmp_path / "report")]) == 1
    found = {(row.group_id, row.line) for row in rows_of(tmp_path / "report", "findings")}
    assert found == {(group, line) for group, (_, line) in run.made.violations.items()}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda events: events.drop_columns(["at_ms"]), "at_ms"),
        (lambda events: with_times(events, pa.nulls(len(events), pa.int64())), "at_ms.* null"),
        (lambda events: with_times(events, pa.array(["noon"] * len(events))), "'noon'"),
    ],
)
def test_events_without_a_column_or_with_wrong_values_are_one_line(
    change: Callable[[pa.Table], pa.Table],
    reason: str,
    ingested: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rewrite(ingested, change)
    assert main(["check", str(ingested)]) == 2
    assert re.fullmatch(
        rf"groupcheck: cannot read file://.*: .*{reason}.*\n", capsys.readouterr().err
    )


def with_times(events: pa.Table, times: pa.Array) -> pa.Table:
    """Events with another column `at_ms`."""
    return events.set_column(events.schema.get_field_index("at_ms"), "at_ms", times)


def test_the_verdicts_are_those_of_replay(run: Run) -> None:
    verdicts = run.verdicts()
    for path in sorted(run.sources.glob("*.jsonl")):
        for recorded in load(path):
            checker = check_group(recorded)
            assert checker is not None
            finding = checker.finding
            row = verdicts[recorded.group_id]
            if row.verdict != "undecided":  # torn
                assert (row.verdict == "rejected") == (finding is not None)
                assert row.reason == (finding.reason if finding else None)
                assert row.steps == checker.steps
                assert finding is not None or row.steps == recorded.steps


def test_a_finding_has_the_prefix_the_event_the_allowed_responses_and_the_rule(run: Run) -> None:
    for row in run.rows("findings"):
        assert json.loads(row.seen)["errorCode"] in {16, 23, 82}
        assert [json.loads(each)["errorCode"] for each in row.allowed] == [0]
        assert [each["rule"] for each in row.because] == ["heartbeat/alive"]
        assert row.because[0]["source"].startswith("GroupCoordinator.scala:")
        assert row.kind == "another answer"
        verdict = run.verdicts()[row.group_id]
        assert 0 < row.accepted == verdict.accepted < verdict.events


def test_replay_has_the_same_finding_for_the_recording_of_a_finding(
    run: Run, tmp_path: Path
) -> None:
    for row in run.rows("findings"):
        path = tmp_path / "recording.jsonl"
        path.write_text(row.recording, encoding="utf-8")
        finding = check_groups(load(path)).finding
        assert finding is not None
        assert finding.reason == "heartbeat/alive"
        assert main(["replay", str(path)]) == 1
        path.write_text(row.trace, encoding="utf-8")
        assert main(["replay", str(path), "builtin"]) == 0  # the built-in coordinator conforms


def test_the_printed_numbers_are_those_of_the_tables(run: Run) -> None:
    printed, findings = run.printed["check"], run.printed["findings"]
    assert (printed["groups"], printed["rejected"]) == (GROUPS, VIOLATIONS)
    assert printed["events"] == sum(row.events for row in run.rows("verdicts"))
    assert {each["group_id"] for each in findings} == run.made.violations.keys()
    assert all(each["kafka"] == "Apache Kafka 2.7.2" and each["expected"] for each in findings)
    assert run.printed["runs"][0]["settings"]["engine"] == "python"
    rows = run.rows("transitions")
    assert printed["transitions_covered"] == sum(row.times > 0 for row in rows)
    assert printed["transitions_explored"] == sum(row.explored for row in rows)
    both = sum(row.times > 0 and row.explored for row in rows)
    assert printed["explored_and_covered"] == both > 0


def test_unreadable_lines_are_in_quarantine(run: Run) -> None:
    read = run.printed["check"]["read"]
    assert read["read"] == read["kept"] + read["quarantined"] == run.made.lines + 1
    (row,) = run.rows("quarantine")
    assert (row.reason, row.text) == ("not a JSON object", '{"type":"adv')


def test_the_tables_have_the_documented_schemas(run: Run) -> None:
    for name in CHECKED:
        assert pq.read_schema(run.report / name / "part-0.parquet") == getattr(
            schemas, name.upper()
        )


# The default tests have the first and the last: another source and another engine.
WAYS = list(product(("sources", "events"), ("python", "spark")))


@pytest.mark.smoke
@pytest.mark.parametrize(
    "ways", [WAYS[:: len(WAYS) - 1], pytest.param(WAYS, marks=pytest.mark.slow)]
)
def test_spark_and_this_process_write_the_same_tables(
    ways: list[tuple[str, str]], spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    """From sources of each kind, read directly and from the tables of `ingest`."""
    sources, events = tmp_path / "sources", tmp_path / "events"
    shutil.copytree(run.sources, sources)
    shutil.copytree(HERE / "logs" / "2.7", sources / "logs")
    shutil.copytree(HERE / "offsets_topic" / "kafka-2.7", sources / "segments")
    assert main(["ingest", str(sources), "--out", str(events)]) == 0
    tables: list[dict[str, Any]] = []
    for source, engine in ways:
        report = tmp_path / f"report-{len(tables)}"
        saved = tmp_path / f"{report.name}.json"
        asked = ["--report", str(report), "--save", str(saved), "--overwrite"]
        asked += ["--master", "local[2]"] if engine == "spark" else []
        assert main(["check", str(tmp_path / source), *asked]) == 1
        result = read(saved)
        assert result.runs[0].settings["engine"] == engine
        found = {name: sorted(map(repr, rows_of(report, name))) for name in CHECKED}
        counts = msgspec.structs.replace(result.check, read=None) if result.check else None
        tables.append({**found, "findings of the result": result.findings, "check": counts})
    for other in tables[1:]:
        for name, rows in tables[0].items():
            assert other[name] == rows, name
    assert [row.text for row in rows_of(events, "quarantine")] == ['{"type":"adv']
    files = rows_of(events, "files")
    marked = json.loads((events / "_groupcheck.json").read_text(encoding="utf-8"))["counts"]
    for name in ("read", "kept", "quarantined", "sessions", "events"):
        assert sum(getattr(file, name) for file in files) == marked[name]
    assert len(rows_of(events, "events")) == marked["events"]
    for name in ("events", "quarantine", "files"):
        written = spark.read.parquet(str(events / name)).schema
        expected = schemas.for_spark(getattr(schemas, name.upper()))
        assert [(f.name, f.dataType) for f in written] == [(f.name, f.dataType) for f in expected]


def test_the_first_job_of_spark_checks_each_file_in_a_task(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    events, context = tmp_path / "events", spark.sparkContext
    on_spark = ["--master", "local[2]"]
    assert main(["ingest", str(run.sources), "--out", str(events), *on_spark]) == 0
    files = len([*(events / "events").glob("part-*")])
    context.setJobGroup(events.name, "check")
    assert main(["check", str(events), "--report", str(tmp_path / "report"), *on_spark]) == 1
    jobs = sorted(context.statusTracker().getJobIdsForGroup(events.name))
    first = context.statusTracker().getJobInfo(jobs[0])
    assert first is not None
    stages = [context.statusTracker().getStageInfo(stage) for stage in first.stageIds]
    assert files > 1
    assert max(stage.numTasks for stage in stages if stage is not None) == files


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("apart", [True, False])
def test_ingest_writes_the_same_tables_on_spark(apart: bool, run: Run, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter
    """Also if groups are in several files."""
    sources = tmp_path / "sources"
    shutil.copytree(run.sources, sources)
    if not apart:
        shutil.copytree(HERE / "logs" / "2.7", sources / "logs")
        shutil.copy(sources / "recording-0.jsonl", sources / "again.jsonl")
    outs = [tmp_path / "python", tmp_path / "spark"]
    for out, options in zip(outs, ([], ["--master", "local[2]"]), strict=True):
        assert main(["ingest", str(sources), "--out", str(out), *options]) == 0
    for name in ("events", "quarantine", "files"):
        python, spark = ([repr(row) for row in rows_of(out, name)] for out in outs)
        assert sorted(python) == sorted(spark), name
    read = [pq.read_table(path) for path in (outs[1] / "events").glob("*.parquet")]
    groups = [set(each["group_id"].to_pylist()) for each in read]
    assert sum(map(len, groups)) == len(set().union(*groups))
    for each in read:
        keys = list(zip(*(each[name].to_pylist() for name in ORDER), strict=True))
        assert keys == sorted(keys)
    assert {path.name for path in outs[1].iterdir()} == {path.name for path in outs[0].iterdir()}


STARTED = "Spark would be started"


@pytest.fixture
def of_sizes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources below and above a limit of 20,000 bytes; Spark would be an error."""

    def no_spark(*_: object, **__: object) -> None:
        raise CommandError(STARTED)

    monkeypatch.setattr(cli_spark, "spark_session", no_spark)
    monkeypatch.setattr(in_process, "MOST_BYTES", 20_000)
    lines = (run.sources / "recording-0.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "recording.jsonl").write_bytes(b"".join(lines[:40]))
    with gzip.open(tmp_path / "small.gz", "wb") as file:
        file.writelines(lines[:40])
    (tmp_path / "large.jsonl").write_bytes(b" " * 20_001)
    (tmp_path / "large.gz").write_bytes(b" " * 2_001)
    return tmp_path


@pytest.mark.parametrize("source", ["small", "small.gz"])
def test_small_sources_are_checked_in_this_process(
    source: str, of_sizes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(of_sizes / source)]) == 0
    assert capsys.readouterr().out.startswith("checked    in this process, without Spark\n")


@pytest.mark.parametrize("source", ["small", "small.gz"])
def test_small_sources_are_ingested_in_this_process(
    source: str, of_sizes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", str(of_sizes / source), "--out", str(of_sizes / "out")]) == 0
    assert "40 kept, 0 quarantined" in capsys.readouterr().out
    assert pq.read_schema(of_sizes / "out" / "events" / "part-0.parquet") == schemas.EVENTS


@pytest.mark.parametrize("command", ["check", "ingest --out out"])
@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("small", "--master local[1]"),
        ("small", "--conf spark.ui.enabled=false"),
        ("large.jsonl", ""),
        ("large.gz", ""),
    ],
)
def test_large_sources_and_options_of_spark_start_spark(
    command: str, source: str, options: str, of_sizes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *more = command.split()
    assert main([name, str(of_sizes / source), *more, *options.split()]) == 2
    assert capsys.readouterr().err == f"groupcheck: {STARTED}\n"


@pytest.mark.usefixtures("of_sizes")
def test_a_topic_and_spark_submit_start_spark(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "kafka://127.0.0.1:1"]) == 2
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert main(["check", str(run.sources)]) == 2
    assert capsys.readouterr().err == 2 * f"groupcheck: {STARTED}\n"


def check_without(package: str, source: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys; sys.modules[{package!r}] = None; from groupcheck.cli import main; "
        f"sys.exit(main(['check', {source!r}]))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)


def test_check_without_its_extra_prints_the_packages_to_install() -> None:
    done = check_without("pyarrow", "recordings")
    assert done.stderr == (
        "groupcheck: this needs the package pyarrow: pip install 'groupcheck[spark]'\n"
    )
    assert done.returncode == 2


@pytest.mark.slow
def test_small_sources_are_checked_without_the_package_of_spark(run: Run) -> None:
    done = check_without("pyspark", str(run.sources))
    assert done.stdout.count("\nrejected   ") == VIOLATIONS
    assert done.returncode == 1


def test_events_that_cannot_be_read_are_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "part-0.parquet").write_bytes(b"PAR1")
    (tmp_path / "_groupcheck.json").write_text('{"format": 1, "kind": "events"}')
    assert main(["check", str(tmp_path)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"groupcheck: cannot read file://{tmp_path}/events/part-0.parquet: ")
    assert printed.count("\n") == 1


def test_the_time_in_states_adds_up_to_the_whole_time(run: Run) -> None:
    spent: Counter[str] = Counter()
    for row in run.rows("states"):
        spent[row.group_id] += row.ms
    accepted = [row for row in run.rows("verdicts") if row.verdict == "accepted"]
    assert accepted
    for row in accepted:
        assert spent[row.group_id] == row.at_ms
    for row in (row for row in run.rows("rebalances") if row.ended_ms is not None):
        assert row.began_ms <= (row.joined_ms or row.began_ms) <= row.ended_ms
        assert row.duration_ms == row.ended_ms - row.began_ms


@pytest.mark.usefixtures("spark")
def test_an_existing_output_folder_is_an_error_without_overwrite(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").touch()
    command = ["ingest", str(run.sources), "--out", str(out)]
    assert main(command) == 2
    assert capsys.readouterr().err.endswith("exists already; --overwrite replaces it\n")
    assert main([*command, "--overwrite"]) == 2
    assert capsys.readouterr().err.endswith(
        "is not overwritten, because groupcheck has not written it\n"
    )
    (out / "mine").unlink()
    assert main([*command, "--overwrite"]) == 0
    assert main([*command, "--overwrite"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    printed = capsys.readouterr().out
    assert (
        f"read       {run.made.lines + 1:,} lines of 2 files: {run.made.lines:,} kept, 1 "
        in printed
    )


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("empty.jsonl", b"", "nothing could be read of the one file: the input is empty"),
        ("noise.jsonl", b"\xff\xfe\n", "noise.jsonl:1: not text in UTF-8"),
        ("torn.jsonl.gz", b"\x1f\x8b\x08\x00", "torn.jsonl.gz:1: cannot be read from here on"),
        ("bad.parquet", b"PAR1", "bad.parquet:1: cannot be read from here on"),
        ("notes.md", b"# notes", "it has no recordings or logs"),
    ],
)
def test_unreadable_sources_are_an_error_of_one_line_and_leave_no_folder(
    name: str, data: bytes, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / name).write_bytes(data)
    assert main(["ingest", str(tmp_path / "sources"), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert printed.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["sources"]


def test_a_terminal_shows_the_progress_of_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(cli_spark, "EVERY_S", 0.01)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with cli_spark._progress(spark):
        spark.range(1_000, numPartitions=4).repartition(4).count()
    assert " tasks" in terminal.getvalue()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("x\nCaused by: java.io.IOException: No space left on device\n\tat y", "the disk is full"),
        (
            "java.lang.OutOfMemoryError: Java heap space",
            "Spark ran out of memory; --conf spark.driver.memory=4g gives it more (2g)",
        ),
        (
            "An error\norg.a.SparkException: Job aborted\n\tat b\nCaused by: c.DError: why\n\tat e",
            "Spark failed: c.DError: why",
        ),
        ("", "Spark failed: no reason"),
    ],
)
def test_an_error_of_spark_is_one_line(message: str, line: str) -> None:
    assert summarised(message) == line


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--profile", "9"], "unknown profile '9'; known: "),
        (["--conf", "master=x"], "--conf 'master=x' is not spark.NAME=VALUE"),
        ([], "cannot read none: No such file or directory"),
    ],
)
def test_invalid_options_are_an_error_of_one_line(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "none", *options]) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert printed.count("\n") == 1
