"""Logs of brokers are checked against the model: exactly the logs that it allows are accepted."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.cli import main
from groupcheck.model.classic.instances.instance import instances
from groupcheck.model.classic.profiles import PROFILES
from support.economy import slow_if
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.pipeline.logs.lines import Message, messages  # noqa: E402
from groupcheck.pipeline.logs.log_events import LogEvent  # noqa: E402
from groupcheck.pipeline.sources import by_age, folder_of, lines  # noqa: E402
from support.made_logs import BEGAN_MS, Printed, check, line, log, printed_on_a_walk  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS = Path(__file__).parent / "logs"
VERSIONS = ("0.10.2", "2.7", "4.1")
BUT_4_1 = slow_if(lambda version: version == "4.1", VERSIONS)  # its automaton is the largest
SEEDS = st.integers(0, 2**32)
PAGE = Path(__file__).parents[2] / "docs" / "internals-pipeline.md"


def real(version: str) -> list[list[bytes]]:
    """The log of a broker of that version, the older file first."""
    names = ("server.log.1", "server.log")
    return [(LOGS / version / name).read_bytes().splitlines() for name in names]


def made(random: Random, version: str, steps: int = 150) -> list[Printed]:
    """The log of a random walk through an instance of a version."""
    space = random.choice(list(instances(PROFILES[version], 2)))
    return list(printed_on_a_walk(random, version, space, steps))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_the_logs_of_real_brokers_are_read_and_accepted(version: str) -> None:
    found = check(*real(version))
    assert not found.quarantined
    assert {verdict for verdict, _ in found.verdicts().values()} == {"accepted"}
    assert {"orders", "payments"} <= found.verdicts().keys()
    assert {r["profile"] for r in found.tables["verdict"]} == {version}


@pytest.mark.parametrize("version", slow_if(lambda version: version in {"2.7", "4.1"}, VERSIONS))
@settings(max_examples=12)
@given(seed=SEEDS)
def test_the_log_of_any_walk_through_the_model_is_accepted(version: str, seed: int) -> None:
    printed = made(Random(seed), version)
    found = check(log(version, printed))
    assert not found.quarantined
    assert all(verdict == ("accepted", None) for verdict in found.verdicts().values())


@pytest.mark.parametrize("version", BUT_4_1)
@settings(max_examples=4)
@given(seed=SEEDS)
def test_a_log_may_begin_in_any_state(version: str, seed: int) -> None:
    random = Random(seed)
    printed = made(random, version)
    found = check(log(version, printed[random.randint(0, len(printed)) :]))
    assert all(verdict == ("accepted", None) for verdict in found.verdicts().values())


def forward(lines: list[Printed], at: int) -> list[Printed]:
    """A generation is too high."""
    there = lines[at]
    return [*lines[:at], there._replace(generation=there.generation + 3), *lines[at + 1 :]]


def backward(lines: list[Printed], at: int) -> list[Printed]:
    """A generation is too low."""
    there = lines[at]
    return [*lines[:at], there._replace(generation=there.generation - 1), *lines[at + 1 :]]


def twice(lines: list[Printed], at: int) -> list[Printed]:
    """A group becomes stable twice."""
    return [*lines[: at + 1], *lines[at:]]


def unprepared(lines: list[Printed], at: int) -> list[Printed]:
    """A group becomes stable without a rebalance."""
    before = max(i for i in range(at) if lines[i].event.name == "preparing")
    return [each for i, each in enumerate(lines) if i != before]


@pytest.mark.parametrize("corrupt", [forward, backward, twice, unprepared])
@pytest.mark.parametrize("version", BUT_4_1)
@settings(max_examples=4)
@given(seed=SEEDS)
def test_a_wrong_line_is_a_finding_and_no_other(version: str, corrupt: object, seed: int) -> None:
    random = Random(seed)
    whole = list(printed_on_a_walk(random, version, "membership", 600))
    at = [
        i
        for i, each in enumerate(whole)
        if each.event.name == "stabilized"
        and each.generation > 3
        and whole[i - 1].event.name != "empty"
        and any(
            w.event.name == "stabilized" and w.generation == each.generation - 1 for w in whole[:i]
        )
    ]
    if not at:
        return
    place = random.choice(at)
    assert callable(corrupt)
    others = [log(version, made(random, version, 60), f"other-{i}") for i in range(2)]
    found = check(log(version, corrupt(whole, place), "wrong"), *others)
    verdicts = {name: verdict for name, (verdict, _) in found.verdicts().items()}
    assert verdicts.pop("wrong") == "rejected"
    assert set(verdicts.values()) <= {"accepted"}
    finding = found.tables["finding"][0]
    assert finding["line"] <= place + 2
    assert finding["allowed"]
    assert finding["because"] or finding["refused"]
    assert finding["recording"].count("\n") == finding["accepted"]


def test_a_finding_names_the_allowed_generation() -> None:
    texts = [
        text.replace(b"orders generation 3 ", b"orders generation 4 ") for text in real("2.7")[0]
    ]
    verdict, reason = check(texts).verdicts()["orders"]
    assert verdict == "rejected"
    assert "'stabilized' generation 4 is not allowed; allowed: generation 3" in str(reason)


def test_rebalances_have_their_reason_duration_and_outcome() -> None:
    rows = [r for r in check(*real("2.7")).tables["rebalance"] if r["group_id"] == "orders"]
    assert [r["generation"] for r in rows] == [1, 2, 3, 4, 5, 6]
    assert [r["outcome"] for r in rows] == ["Stable"] * 5 + ["Empty"]
    assert rows[4]["reason"] == "removing member ... on heartbeat expiration"
    assert rows[4]["duration_ms"] == 522
    states = {
        r["state"]: r for r in check(*real("2.7")).tables["state"] if r["group_id"] == "orders"
    }
    assert states["Stable"]["entered"] == 5


def test_the_time_zone_is_that_of_the_line_or_else_the_option() -> None:
    texts = real("2.7")[0]
    utc, berlin = (check(texts, time_zone=zone) for zone in ("UTC", "Europe/Berlin"))
    zoned = [text.replace(b",", b".", 1).replace(b"]", b"+0100]", 1) for text in texts]
    assert check(zoned).tables == berlin.tables
    began = [found.tables["rebalance"][0]["began_ms"] for found in (utc, berlin)]
    assert began[0] - began[1] == 3_600_000


def test_time_never_goes_back_when_daylight_saving_time_ends() -> None:
    times = ("02:30:00,000", "02:59:59,000", "02:00:01,000", "03:00:00,000")
    prefix = "[GroupCoordinator 1]: Assignment received from leader for group g for generation 1"
    texts = [
        f"[2025-10-26 {t}] INFO {prefix} (kafka.coordinator.group.GroupCoordinator)" for t in times
    ]
    one = check(texts, time_zone="Europe/Berlin")
    assert one.tables["state"][0]["ms"] == 5_400_000


def test_other_layouts_are_read() -> None:
    texts = real("2.7")[0]
    result = []
    for text in texts:
        time, _, rest = text.decode().partition("] INFO ")
        message, _, logger = rest.rpartition(" (")
        result.append(f"{time[1:]} [main] INFO {logger[:-1]} - {message}")
    assert [r | {"text": ""} for r in check(result).tables["rebalance"]] == [
        r | {"text": ""} for r in check(texts).tables["rebalance"]
    ]
    assert check(result).verdicts() == check(texts).verdicts()


def test_counts_add_up_with_stack_traces_and_invalid_bytes() -> None:
    texts = real("2.7")[0]
    trace = [
        b"java.lang.RuntimeException: no",
        b"\tat kafka.coordinator.group.GroupCoordinator.x(Y)",
    ]
    strange = [b"[2026-11-22 03:14:30,000] INFO \xff\xfe (kafka.server.KafkaServer)"]
    found = check([*texts[:20], *trace, *strange, *texts[20:]])
    (counts,) = found.files
    assert counts["read"] == len(texts) + 3 == counts["kept"] + counts["quarantined"]
    assert [r["reason"] for r in found.quarantined] == ["not text in UTF-8"]
    assert found.verdicts() == check(texts).verdicts()
    assert counts["other"] > check(texts).files[0]["other"]


GROUP_LINE = "[{}] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"


@pytest.mark.parametrize(
    ("when", "entry", "reason"),
    [
        ("2026-11-22 03:14:30,000", "Frobnicating group orders", "not a message of a group"),
        ("2926-11-22 03:14:30,000", "Shutting down.", "its time lies in the future"),
        ("1996-11-22 03:14:30,000", "Shutting down.", "its time lies before 2000"),
        ("2026-13-22 03:14:30,000", "Shutting down.", "an invalid time"),
        ("2026-11-22 03:14:30,000] LOUD [", "Shutting down.", "an unknown layout"),
    ],
)
def test_an_unreadable_line_of_a_coordinator_leaves_its_groups_undecided(
    when: str, entry: str, reason: str
) -> None:
    texts = [text.decode() for text in real("2.7")[0]]
    found = check([*texts[:30], GROUP_LINE.format(when, entry), *texts[30:]])
    assert [r["reason"][: len(reason)] for r in found.quarantined] == [reason]
    verdict, why = found.verdicts()["orders"]
    assert verdict == "undecided"
    assert "could not be read" in str(why)


def test_a_repeated_line_is_quarantined_and_a_repeated_file_changes_nothing() -> None:
    texts = real("2.7")[0]
    found = check([each for text in texts for each in (text, text)])
    assert {r["reason"] for r in found.quarantined} == {"the same line again"}
    assert {verdict for verdict, _ in found.verdicts().values()} == {"accepted"}
    assert {v for v, _ in check(texts, texts).verdicts().values()} == {"accepted"}


def test_logs_of_two_clusters_are_a_contradiction() -> None:
    mine = real("2.7")[0]
    other = [text.replace(b"qLdvgXvxRSmpYKPW9kOykQ", b"AAAAAAAAAAAAAAAAAAAAAA") for text in mine]
    later = [text.replace(b"[2026-11-22 03:", b"[2026-11-22 04:", 1) for text in other]
    found = check(mine, later)
    assert "logs of two clusters" in str(found.verdicts()["orders"])


def test_two_coordinators_of_a_group_at_once_are_a_contradiction() -> None:
    texts = [text.decode() for text in real("2.7")[0]]
    at = [i for i, text in enumerate(texts) if "group orders" in text]
    mine, other = list(texts), []
    for i in at[6:9]:
        other.append(texts[i].replace("GroupCoordinator 1]", "GroupCoordinator 2]"))
        mine.remove(texts[i])
    assert "at the same time" in str(check(mine, other).verdicts()["orders"])


def test_a_group_continues_on_the_broker_that_loads_it() -> None:
    texts = [text.decode() for text in real("2.7")[0]]
    assigned = [i for i, text in enumerate(texts) if "for group orders for generation 2" in text][
        -1
    ]
    first, rest = texts[: assigned + 1], texts[assigned + 1 :]
    moved = [text.replace("GroupCoordinator 1]", "GroupCoordinator 2]") for text in rest]
    when = texts[assigned][1:24]
    unload = GROUP_LINE.format(when, "Unloading group metadata for orders with generation 2")
    load = GROUP_LINE.format(when, "Loading group metadata for orders with generation 2")
    loaded = [load.replace("Coordinator 1]", "Coordinator 2]"), *moved]
    assert check([*first, unload], loaded).verdicts()["orders"] == ("accepted", None)
    wrong = [text.replace("old generation 2 ", "old generation 7 ") for text in loaded]
    assert check([*first, unload], wrong).verdicts()["orders"][0] == "rejected"


def test_a_clock_that_goes_back_leaves_a_group_undecided() -> None:
    texts = real("2.7")[0]
    back = [text.replace(b"03:14:4", b"02:14:4", 1) for text in texts]
    assert "s back" in str(check(back).verdicts()["orders"])


@pytest.mark.slow  # the automaton of 4.1
def test_a_group_of_the_new_protocol_is_not_checked() -> None:
    text = (
        "[2026-11-22 03:10:00,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets "
        "partition=0] [GroupId new] Member m joins the consumer group using the consumer "
        "protocol. (org.apache.kafka.coordinator.group.GroupMetadataManager)"
    )
    assert check([text]).verdicts()["new"] == (
        "undecided",
        "cut: it is not a group of the classic protocol",
    )


def test_rotated_files_are_read_by_age() -> None:
    names = ["a/server.log", "a/server.log.1", "a/server.log.2.gz", "a/server.log.2026-11-21-10"]
    assert by_age(names) == [
        "a/server.log.2.gz",
        "a/server.log.1",
        "a/server.log.2026-11-21-10",
        "a/server.log",
    ]
    assert folder_of(["file:///x/a/server.log", "file:///x/b/server.log"]) == "file:///x"
    assert folder_of(["file:///x/a.log"]) == "file:///x/a.log"


@pytest.mark.parametrize("profile", VERSIONS)
def test_the_page_has_each_message_about_a_group_with_its_line_of_kafkas_source(
    profile: str,
) -> None:
    section = (
        PAGE.read_text(encoding="utf-8").partition(f"\n#### {profile}\n")[2].partition("\n#")[0]
    )
    rows = [row for row in section.splitlines() if row.startswith("| ") and ":" in row]
    assert rows == [message_row(each) for each in messages(profile) if each.event]


def message_row(message: Message) -> str:
    """The row of a message in the page."""
    text = message.text.replace("`", "'").replace("|", "\\|")
    return f"| {message.event} | `{text}` | {message.source} |"


def test_the_commands_read_and_check_logs(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources, events, report = tmp_path / "broker", tmp_path / "events", tmp_path / "report"
    sources.mkdir()
    older, newer = real("0.10.2")
    with gzip.open(sources / "server.log.2026-11-22-03.gz", "wb") as file:
        file.write(b"\n".join(older) + b"\n")
    wrong = line("0.10.2", Printed(_stabilized(), 9), "orders", BEGAN_MS).split("] ", 1)[1]
    when = datetime(2026, 11, 22, 3, 12, tzinfo=UTC).strftime("%Y-%m-%d %H:%M:%S,000")
    (sources / "server.log").write_bytes(b"\n".join(newer) + f"\n[{when}] {wrong}\n".encode())
    assert main(["ingest", str(sources), "--out", str(events), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["read"] == result["kept"] == len(older) + len(newer) + 1
    assert main(["check", str(events), "--report", str(report)]) == 1
    assert "'stabilized' generation 9" in capsys.readouterr().out
    rows = spark.read.parquet(str(report / "verdicts")).collect()
    assert {(r.group_id, r.verdict) for r in rows} == {
        ("orders", "rejected"),
        ("payments", "accepted"),
    }
    assert {r.source for r in rows} == {sources.as_uri()}


def _stabilized() -> LogEvent:
    return next(
        p.event
        for p in printed_on_a_walk(Random(3), "0.10.2", "membership", 400)
        if p.event.name == "stabilized"
    )


@pytest.mark.slow
def test_an_invalid_time_zone_is_an_error_of_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(LOGS / "2.7"), "--time-zone", "Nowhere/Else"]) == 2
    assert "'Nowhere/Else' is not a time zone" in capsys.readouterr().err
    assert list(lines(str(LOGS / "2.7" / "server.log")))
