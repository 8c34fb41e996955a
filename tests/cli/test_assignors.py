"""`groupcheck assignors verify`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from groupcheck.cli import main
from groupcheck.model.assignors.group import Assignment, Group
from groupcheck.properties.assignors.builtin import BuiltinAssignors
from groupcheck.properties.assignors.case_file import Case, write_case
from support.assignors import group

# It assigns everything that it may to the first member.
GREEDY = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "open":
        names = ["range", "mine"]
        print(json.dumps({"name": "greedy", "version": "1", "assignors": names}), flush=True)
        continue
    members = message["members"]
    assigned = {member["memberId"]: {} for member in members}
    first = members[0]
    assigned[first["memberId"]] = {
        name: list(range(len(racks)))
        for name, racks in message["topics"].items() if name in first["topics"]
    }
    print(json.dumps({"assignment": assigned}), flush=True)
"""


@pytest.fixture
def greedy(tmp_path: Path) -> str:
    program = tmp_path / "greedy.py"
    program.write_text(GREEDY)
    return f"exec:{sys.executable} {program}"


def test_a_library_that_keeps_the_promises_conforms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assignors", "verify", "builtin", "--assignor", "range", "--cases", "50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "checked    the promises of Kafka 4.1",
        "assignor   range: 50 groups, no finding",
        "",
        "verdict    no promise of Kafka is broken in what was tried",
    ]


def test_a_finding_has_the_promise_the_source_and_the_smallest_group(
    greedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["assignors", "verify", greedy, "--cases", "100", "--profile", "2.7"]) == 1
    out = capsys.readouterr().out
    assert "skipped    mine: Kafka has no such assignor" in out
    assert ": range breaks complete (liveness)" in out
    assert "blob/2.7.2/clients/src/main/java/org/apache/kafka/clients/consumer/KafkaConsumer" in out
    assert "t0-0 is assigned to no member" in out
    assert "    m0 subscribes to t0\n" in out


def test_the_group_of_a_finding_is_saved_and_can_be_given_again(
    greedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "saved"
    assert main(["assignors", "verify", greedy, "--cases", "100", "--save", str(folder)]) == 1
    (file, *_) = sorted(folder.iterdir())
    capsys.readouterr()
    assert main(["assignors", "verify", greedy, "--case", str(file), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert [f"finding_{each['id']}.json" for each in result["findings"]] == [file.name]
    assert main(["assignors", "verify", "builtin", "--case", str(file)]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown PORT 'nothing'; it is one of: builtin, kafka-python, aiokafka"),
        (["kafka-clients:1.0"], "VERSION is one of: 2.7, 3.9, 4.1"),
        (["builtin", "--assignor", "mine"], "builtin has no assignor 'mine'; it has range"),
        (["builtin", "--profile", "3.9"], "no promises of version '3.9'; there are those of 2.7"),
        (["builtin", "--case", "missing.json"], "cannot read missing.json: No such file"),
        (["exec:no-such-program"], "'no-such-program' did not open"),
        (["exec:'"], "cannot start"),
        (["exec: "], "cannot start a port: the command is empty"),
        (["builtin", "--case", "CASE", "--assignor", "range"], "leave out --assignor"),
        (["python:support.assignors:Unknown"], "has none of Kafka's assignors: range, roundrobin"),
        (["exec:cat"], "'cat' did not open: it did not name its assignors"),
        (["python:nowhere:Mine"], "cannot import 'nowhere'"),
        (["python:json:JSONDecoder"], "JSONDecoder has no open(), assign()"),
        (["builtin", "--cases", "0"], "is not a whole number"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = tmp_path / "case.json"
    write_case(case, Case("range", group("t0:1", m0="t0")))
    given = [str(case) if each == "CASE" else each for each in arguments]
    assert main(["assignors", "verify", *given]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_a_folder_that_cannot_be_written_keeps_nothing_back(
    greedy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    arguments = ["assignors", "verify", greedy, "--cases", "30", "--save", str(blocked / "in")]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert "verdict    diverges" in captured.out
    assert captured.err.startswith("groupcheck: cannot write to ")


def test_an_interrupted_run_reports_what_it_has_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def interrupted(_: object, _assignor: str, given: Group) -> Assignment:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise KeyboardInterrupt
        return {member.id: () for member in given.members}

    monkeypatch.setattr(BuiltinAssignors, "assign", interrupted)
    assert main(["assignors", "verify", "builtin", "--cases", "500"]) == 1
    out = capsys.readouterr().out
    assert "assignor   range: 20 groups, 1 finding, then stopped: interrupted\n" in out
    assert "range breaks complete (liveness)" in out
    assert "roundrobin" not in out
