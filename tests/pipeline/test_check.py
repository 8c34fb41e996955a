"""`ingest` and `check` on Spark: each wrong response is a finding, and nothing else is."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from groupcheck.cli import main
from groupcheck.properties.histories.checker import check_group, check_groups, load
from groupcheck.reports.record_file import as_text, read
from support.made_recordings import Made, Wanted, recordings
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from pyspark.testing import assertDataFrameEqual, assertSchemaEqual  # noqa: E402

from groupcheck.cli import spark as cli_spark  # noqa: E402
from groupcheck.pipeline import schemas  # noqa: E402
from groupcheck.pipeline.check import MOST_GROUPS  # noqa: E402
from groupcheck.pipeline.errors import plainly  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    # Some versions' pyspark.testing imports pandas-on-Spark, which is not used here.
    pytest.mark.filterwarnings("ignore:'PYARROW_IGNORE_TIMEZONE':UserWarning"),
]

GROUPS, VIOLATIONS = 24, 4


class Run(NamedTuple):
    """Recordings, the folders of ingest and check, and what was printed."""

    made: Made
    sources: Path
    events: Path
    report: Path
    printed: dict[str, Any]
    spark: SparkSession

    @property
    def page(self) -> str:
        return (self.report.parent / "page.html").read_text(encoding="utf-8")

    def table(self, name: str, of: str = "report") -> DataFrame:
        where = self.report if of == "report" else self.events
        return self.spark.read.parquet(str(where / name))


@pytest.fixture(scope="session")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Recordings with a wrong response in four groups, ingested and checked by the commands."""
    directory = tmp_path_factory.mktemp("run")
    sources, events, report = (directory / name for name in ("sources", "events", "report"))
    sources.mkdir()
    made = recordings(sources, Wanted(GROUPS, 60, files=2, violations=VIOLATIONS, seed=1, kinds=12))
    with (sources / "recording-1.jsonl").open("ab") as file:
        file.write(b'{"type":"adv')
    assert main(["ingest", str(sources), "--out", str(events)]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out := io.TextIOWrapper(io.BytesIO(), "utf-8"))
        asked = ["--report", str(report), "--html", str(directory / "page.html"), "--json"]
        asked += ["--save", str(directory / "saved.json")]
        assert main(["check", str(events), *asked]) == 1
        out.seek(0)
        printed = json.loads(out.read())
    return Run(made, sources, events, report, printed, spark)


def test_the_page_has_the_timeline_of_each_group_with_every_rebalance(run: Run) -> None:
    """They are few enough that none is left out."""
    of = run.table("rebalances").groupBy("group_id").count().collect()
    rebalances = {row[0]: row[1] for row in of}
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
        assert getattr(saved.check, name) == run.printed[name]
    assert [
        re.sub(r"[\d,]+ repeated events .*\n", "", f.text.partition("\n")[2])
        for f in saved.findings
    ] == [finding["text"] for finding in run.printed["findings"]]
    assert all(finding.trace and finding.diagram for finding in saved.findings)
    assert main(["report", str(path), "--html", str(tmp_path / "again.html")]) == 1
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == run.page
    assert capsys.readouterr().out.endswith(f"verdict    {saved.verdict}\n")
    before = str(tmp_path / "before.json")
    early = msgspec.structs.replace(saved, findings=saved.findings[1:])
    Path(before).write_text(as_text(early), encoding="utf-8")
    assert main(["report", str(path), "--baseline", before]) == 1
    assert f"new        1 finding: {saved.findings[0].id}\n" in capsys.readouterr().out
    assert main(["report", str(path), "--baseline", str(path)]) == 0


@pytest.mark.smoke
def test_each_wrong_event_is_a_finding_and_no_other(run: Run) -> None:
    found = {
        row.group_id: (row.source.removeprefix("file://"), row.line)
        for row in run.table("findings").collect()
    }
    assert found == run.made.violations
    assert len(found) == VIOLATIONS
    verdicts = run.table("verdicts").groupBy("verdict").count().collect()
    # What was being answered when the recording was torn is not known of one group.
    counts = {row["verdict"]: row["count"] for row in verdicts}
    assert counts == {"accepted": GROUPS - VIOLATIONS - 1, "rejected": VIOLATIONS, "undecided": 1}


def test_the_verdicts_are_those_of_replay(run: Run) -> None:
    torn = {r.group_id for r in run.table("verdicts").where("verdict = 'undecided'").collect()}
    for path in sorted(run.sources.glob("*.jsonl")):
        for recorded in load(path):
            checker = check_group(recorded)
            assert checker is not None
            finding = checker.finding
            where = f"group_id = '{recorded.group_id}'"
            (row,) = run.table("verdicts").where(where).collect()
            if recorded.group_id not in torn:
                assert (row.verdict == "rejected") == (finding is not None)
                assert row.reason == (finding.reason if finding else None)
                assert row.steps == checker.steps
                assert finding is not None or row.steps == recorded.steps


def test_a_finding_has_the_prefix_the_event_the_allowed_responses_and_the_rule(run: Run) -> None:
    for row in run.table("findings").collect():
        assert json.loads(row.seen)["errorCode"] in {16, 23, 82}
        assert [json.loads(each)["errorCode"] for each in row.allowed] == [0]
        assert [each.rule for each in row.because] == ["heartbeat/alive"]
        assert row.because[0].source.startswith("GroupCoordinator.scala:")
        assert row.kind == "another answer"
        (verdict,) = run.table("verdicts").where(f"group_id = '{row.group_id}'").collect()
        assert 0 < row.accepted == verdict.accepted < verdict.events


def test_replay_has_the_same_finding_for_the_recording_of_a_finding(
    run: Run, tmp_path: Path
) -> None:
    for row in run.table("findings").collect():
        path = tmp_path / "recording.jsonl"
        path.write_text(row.recording, encoding="utf-8")
        finding = check_groups(load(path)).finding
        assert finding is not None
        assert finding.reason == "heartbeat/alive"
        assert main(["replay", str(path)]) == 1
        path.write_text(row.trace, encoding="utf-8")
        assert main(["replay", str(path), "builtin"]) == 0  # which is not at fault


def test_the_printed_numbers_are_those_of_the_tables(run: Run) -> None:
    printed = run.printed
    assert (printed["groups"], printed["rejected"]) == (GROUPS, VIOLATIONS)
    assert printed["events"] == sum(row.events for row in run.table("verdicts").collect())
    assert {each["group_id"] for each in printed["findings"]} == run.made.violations.keys()
    assert all("Expected from Apache Kafka 2.7.2:" in each["text"] for each in printed["findings"])
    transitions = run.table("transitions")
    assert printed["transitions_covered"] == transitions.where("times > 0").count()
    assert printed["transitions_explored"] == transitions.where("explored").count()
    assert (
        printed["explored_and_covered"] == transitions.where("explored and times > 0").count() > 0
    )


def test_counts_add_up_and_unreadable_lines_are_in_quarantine(run: Run) -> None:
    marker = json.loads((run.events / "_groupcheck.json").read_text(encoding="utf-8"))
    counts = marker["counts"]
    assert counts["read"] == counts["kept"] + counts["quarantined"] == run.made.lines + 1
    (row,) = run.table("quarantine", "events").collect()
    assert (row.line, row.reason, row.text) == (row.line, "not a JSON object", '{"type":"adv')
    files = run.table("files", "events")
    assert sum(row.read for row in files.collect()) == counts["read"]
    assert run.table("events", "events").count() == counts["events"]


def test_the_tables_have_the_documented_schemas(run: Run) -> None:
    for name in ("verdicts", "findings", "transitions", "rebalances", "states", "offsets"):
        expected = getattr(schemas, name.upper())
        assertSchemaEqual(run.table(name).schema, expected, ignoreNullable=True)
    for name in ("events", "quarantine", "files"):
        expected = getattr(schemas, name.upper())
        assertSchemaEqual(run.table(name, "events").schema, expected, ignoreNullable=True)


def test_sources_and_the_folder_of_ingest_have_the_same_result(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert main(["check", str(run.sources), "--report", str(report)]) == 1
    for name in ("verdicts", "rebalances", "states", "offsets", "transitions"):
        assertDataFrameEqual(run.spark.read.parquet(str(report / name)), run.table(name))


def test_the_time_in_states_adds_up_to_the_whole_time(run: Run) -> None:
    states = run.table("states").groupBy("group_id").agg({"ms": "sum"}).collect()
    spent = {row[0]: row[1] for row in states}
    for row in run.table("verdicts").where("verdict = 'accepted'").collect():
        assert spent[row.group_id] == row.at_ms
    for row in run.table("rebalances").where("ended_ms is not null").collect():
        assert row.began_ms <= (row.joined_ms or row.began_ms) <= row.ended_ms
        assert row.duration_ms == row.ended_ms - row.began_ms


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
    name: str,
    data: bytes,
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
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
    ("said", "line"),
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
def test_an_error_of_spark_is_one_line(said: str, line: str) -> None:
    assert plainly(said) == line


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
