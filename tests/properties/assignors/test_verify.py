"""Assignors that were made wrong are found, with the smallest group that shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from groupcheck.model.assignors.group import Assignment, Group, Partition
from groupcheck.properties.assignors.case_file import (
    Case,
    read_case,
    write_case,
)
from groupcheck.properties.assignors.port import AssignorFailedError, ProgramPort
from groupcheck.properties.assignors.python import PythonAssignors
from groupcheck.properties.assignors.verify import Settings, verify, verify_case
from groupcheck.properties.finding_file import MalformedFileError
from groupcheck.properties.ports.port import PortUnavailableError
from support.assignors import Changed, group

SETTINGS = Settings("4.1", 150)


def _without_the_last(_: Group, assigned: Assignment) -> Assignment:
    return {member: partitions[:3] for member, partitions in assigned.items()}


def _to_the_first_too(given: Group, assigned: Assignment) -> Assignment:
    first = given.members[0]
    extra = (p for p in sorted(given.assignable) if p.topic in first.topics)
    return {**assigned, first.id: tuple(dict.fromkeys((*assigned[first.id], *extra)))}


def _swapped(given: Group, assigned: Assignment) -> Assignment:
    if len({member.topics for member in given.members}) > 1:
        return assigned
    first, last = min(assigned), max(assigned)
    return {**assigned, first: assigned[last], last: assigned[first]}


def _of_a_topic_that_is_gone(given: Group, assigned: Assignment) -> Assignment:
    existing = {topic.name for topic in given.topics}
    gone = {
        m.id: tuple(Partition(t, 0) for t in m.topics if t not in existing) for m in given.members
    }
    return {member: assigned[member] + gone[member] for member in assigned}


FAULTS: list[tuple[str, Callable[[Group, Assignment], Assignment], str, str]] = [
    ("range", _without_the_last, "complete", "t0:4 | m0 t0"),
    ("roundrobin", _to_the_first_too, "one-owner", "t0:1 | m1 t0 | m0 t0"),
    ("sticky", _swapped, "fewest-moves", "t0:1 | m0 t0 | m1 t0"),
    ("cooperative-sticky", _of_a_topic_that_is_gone, "exists", "| m0 t0"),
]


def _text(given: Group) -> str:
    topics = " ".join(f"{topic.name}:{len(topic.racks)}" for topic in given.topics)
    members = (" ".join((m.id, *m.topics, *map(str, m.owned))) for m in given.members)
    return " | ".join([topics, *members])


@pytest.mark.parametrize(("assignor", "change", "promise", "smallest"), FAULTS)
def test_a_fault_is_found_with_the_smallest_group(
    assignor: str, change: Callable[[Group, Assignment], Assignment], promise: str, smallest: str
) -> None:
    result = verify(Changed(change), assignor, SETTINGS)
    found = {each.broken.promise.id: each for each in result.findings}
    assert promise in found
    assert _text(found[promise].trial.group).strip() == smallest


def test_the_same_seed_draws_the_same_groups() -> None:
    port = Changed(_to_the_first_too)
    first, again = (verify(port, "range", SETTINGS) for _ in range(2))
    assert first == again


def test_another_known_behaviour_is_named_as_the_cause() -> None:
    def by_member_id(given: Group, _: Assignment) -> Assignment:
        plain = tuple(member._replace(instance_id=None) for member in given.members)
        return Changed(lambda _, each: each).assign("roundrobin", given._replace(members=plain))

    (finding,) = verify(Changed(by_member_id), "roundrobin", SETTINGS).findings
    assert finding.cause == "it ignores group.instance.id"
    assert len(finding.trial.group.members) == 2


ECHO = """
import json, sys
names = {"name": "a port", "version": "1", "assignors": ["range"]}
for line in sys.stdin:
    message = json.loads(line)
    opens = message["type"] == "open"
    print(json.dumps(names) if opens else %s, flush=True)
"""
ANSWERS = [
    ("'not json'", "a line that is not JSON"),
    ("'[]'", "an answer that is not an object"),
    ("'{}'", "an answer without an assignment: {}"),
    ("""'{"error": "no such assignor"}'""", "no such assignor"),
    ("""'{"assignment": {"m0": "!"}}'""", "an assignment that cannot be decoded"),
    ("""'{"assignment": {"m0": "AAA="}}'""", "an assignment that cannot be decoded"),
    ("""'{"assignment": {"m0": {"t0": [null]}}}'""", "an assignment that is not one"),
    ("sys.exit(3)", "the program exited with status 3"),
    ("__import__('time').sleep(60)", "no answer within 0.5 s"),
]


def _program(answer: str, *, limit_s: float = 5.0) -> ProgramPort:
    return ProgramPort([sys.executable, "-c", ECHO % answer], limit_s=limit_s)


@pytest.mark.parametrize(("answer", "reason"), ANSWERS)
def test_an_answer_without_an_assignment_is_one_line_and_the_port_can_be_asked_again(
    answer: str, reason: str
) -> None:
    port = _program(answer, limit_s=0.5 if "sleep" in answer else 5.0)
    port.open()
    for _ in range(2):
        with pytest.raises(AssignorFailedError) as failed:
            port.assign("range", group("t0:1", m0="t0"))
        assert str(failed.value).startswith(reason)
        assert "\n" not in str(failed.value)
    port.shutdown()


class Mine:
    """What an author writes."""

    def open(self) -> object:
        return {"name": "mine", "version": "1", "assignors": ["range"]}

    def assign(self, message: dict[str, Any]) -> object:
        assignors = {"hangs": lambda: sleep(60), "exits": sys.exit, "none": lambda: None}
        found = assignors.get(message["assignor"], lambda: {"assignment": {"m0": {"t0": [0]}}})
        return found()


MINE = [
    ("hangs", "assign() did not return within 0.2 s"),
    ("exits", "SystemExit"),
    ("none", "an answer that is not an object: None"),
]


@pytest.mark.parametrize(("assignor", "reason"), MINE)
def test_a_python_object_that_gives_no_assignment_is_one_line(assignor: str, reason: str) -> None:
    port = PythonAssignors(Mine, limit_s=0.2)
    assert port.open().name == "mine"
    with pytest.raises(AssignorFailedError) as failed:
        port.assign(assignor, group("t0:1", m0="t0"))
    assert str(failed.value) == reason
    assert port.assign("range", group("t0:1", m0="t0")) == {"m0": (Partition("t0", 0),)}


def test_a_program_may_answer_in_plain_fields() -> None:
    port = _program("""'{"assignment": {"m0": {"t0": [0]}}}'""")
    assert port.open().assignors == ("range",)
    assert port.assign("range", group("t0:1", m0="t0")) == {"m0": (Partition("t0", 0),)}
    port.shutdown()


def test_a_port_that_hangs_is_asked_only_a_few_times() -> None:
    port = _program("__import__('time').sleep(60)", limit_s=0.2)
    port.open()
    result = verify(port, "range", SETTINGS)
    port.shutdown()
    assert (result.tried, result.stopped) == (5, "the port hung 5 times")
    assert [each.broken.promise.id for each in result.findings] == ["answers"]


@pytest.mark.parametrize(
    "argv", [["no-such-program"], ["a\0b"], [sys.executable, "-c", "print('{}')"]]
)
def test_a_program_that_does_not_open_is_unavailable(argv: list[str]) -> None:
    with pytest.raises(PortUnavailableError):
        ProgramPort(argv).open()


@pytest.mark.slow
def test_a_case_is_read_as_it_was_written_and_has_the_same_finding(tmp_path: Path) -> None:
    port = Changed(_swapped)
    (finding, *_) = verify(port, "sticky", SETTINGS).findings
    case = Case(finding.assignor, finding.trial.group, finding.cause)
    write_case(tmp_path / "case.json", case)
    assert read_case(tmp_path / "case.json") == case
    (again,) = verify_case(port, "4.1", case).findings
    assert again.broken == finding.broken


MEMBER = """{"assignor": "range", "topics": {}, "members": [
{"memberId": "m", "topics": [], %s}]}"""
TWICE = """{"assignor": "range", "topics": {}, "members": [
{"memberId": "m", "topics": []}, {"memberId": "m", "topics": []}]}"""


@pytest.mark.parametrize(
    "text",
    [
        TWICE,
        "",
        "[]",
        "{",
        '{"assignor": "range", "topics": {}}',
        '{"assignor": "range", "topics": {}, "members": []}',
        '{"assignor": "range", "topics": {"t0": 3}, "members": [{"memberId": "m", "topics": []}]}',
        '{"assignor": "range", "topics": {}, "members": [{"memberId": "m", "topics": 1}]}',
        MEMBER % '"generationId": 1099511627776',
        MEMBER % '"ownedPartitions": {"t": [-1]}',
        MEMBER % f'"groupInstanceId": "{"i" * 40_000}"',
    ],
)
def test_a_file_without_a_case_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "case.json"
    file.write_text(text)
    with pytest.raises(MalformedFileError) as refused:
        read_case(file)
    assert "\n" not in str(refused.value)
