"""Clients record a server, which may be killed: accepted, unless a response is wrong."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree, rmtree

import pytest

from groupcheck.cli import main
from support.noting import Notes, crash_line, noted, noted_while_killed, now_ms
from support.overlapping import Line, first_line, spoiled, write
from support.requests import commit_of, fetch_of
from support.served_process import served
from support.serving import Served

DELAY_MS = 100
both_versions = pytest.mark.parametrize("profile", ["2.7", "4.1"])
PARTITION = ("t", 0)
FETCH = fetch_of(PARTITION, group_id="g")


def options(profile: str) -> tuple[str, ...]:
    return ("--profile", profile, "--topic", "t:1")


def header(profile: str) -> Line:
    line = first_line(profile, 0)
    line["config"]["group.min.session.timeout.ms"] = 100
    return line


@both_versions
@pytest.mark.parametrize("kept", [False, True], ids=["in-memory", "in-a-directory"])
def test_the_history_of_a_server_is_accepted_and_a_changed_one_is_rejected(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, kept: bool
) -> None:
    config = (f"group.initial.rebalance.delay.ms={DELAY_MS}",)
    data_dir = tmp_path / "data" if kept else None
    with Served(("t", 1), config=config, profile=profile, data_dir=data_dir) as server:
        lines = noted(server.port, first_line(profile, DELAY_MS), clients=4, for_s=0.5)
    path = write(lines, tmp_path / "history.jsonl")
    status = main(["history", str(path)])
    assert status == 0, capsys.readouterr().out
    answered = [line["id"] for line in lines if line["type"] == "response"]
    assert len(answered) > 100
    assert f"{sum(line['type'] == 'request' for line in lines):,} operations of 1 group" in (
        capsys.readouterr().out
    )
    wrong = write(spoiled(lines, answered[len(answered) // 2]), tmp_path / "wrong.jsonl")
    assert main(["history", str(wrong)]) == 1
    assert "In group 'noted' no order of the operations is allowed" in capsys.readouterr().out


@both_versions
def test_the_history_of_a_killed_server_is_accepted_if_it_has_the_crash(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir, given = tmp_path / "data", options(profile)
    lines = noted_while_killed(data_dir, header(profile), *given, clients=3, for_s=0.3, kills=1)
    path = write(lines, tmp_path / "history.jsonl")
    assert main(["history", str(path)]) == 0, capsys.readouterr().out
    assert sum(line["type"] == "response" for line in lines) > 50


def killed_after_two_commits(data_dir: Path, profile: str, *, forgets: bool) -> list[Line]:
    """The history of one client, on a server that is killed; it may forget the later commit."""
    with served(data_dir, *options(profile)) as server:
        notes = Notes(server.port, "one")
        notes.ask(2, commit_of({PARTITION: 5}, group_id="g"))
        copytree(data_dir, data_dir.with_name("before"))
        notes.ask(2, commit_of({PARTITION: 6}, group_id="g"))
        killed_ms = now_ms()
        server.kill()
        notes.close()
    if forgets:
        rmtree(data_dir)
        data_dir.with_name("before").rename(data_dir)
    with served(data_dir, *options(profile)) as server:
        crash = crash_line(killed_ms)
        again = Notes(server.port, "one")
        again.ask(1, FETCH)
        again.close()
    return [header(profile), *notes.lines, crash, *again.lines]


@both_versions
def test_a_lost_acknowledged_commit_is_reported_with_the_longest_allowed_order(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = killed_after_two_commits(tmp_path / "data", profile, forgets=True)
    assert main(["history", str(write(lines, tmp_path / "forgotten"))]) == 1
    result = capsys.readouterr().out
    assert "The longest allowed order has 3 of 4 operations:" in result
    assert "the coordinator crashes and restarts from the log" in result
    assert "Required next, but not allowed:" in result
    next_in_order, _, expected = result.partition("Expected from Apache Kafka")
    assert "t/0: 5 (" in next_in_order.partition("Required next")[2]
    assert "t/0: 6 (" in expected


def test_the_history_of_a_server_that_keeps_its_state_is_accepted(tmp_path: Path) -> None:
    lines = killed_after_two_commits(tmp_path / "data", "2.7", forgets=False)
    assert main(["history", str(write(lines, tmp_path / "kept"))]) == 0
