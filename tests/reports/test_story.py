"""Findings as stories: what a person reads, held word for word."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import dedent
from typing import NoReturn

import pytest

from groupcheck.model.rules.timers import PASS
from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.state import (
    Advance,
    Cleanup,
    Coordinator,
    Crash,
    FailAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.step import Outcome
from groupcheck.model.vocabulary import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    Protocol,
    Request,
    Response,
    ResponseBody,
)
from groupcheck.properties.compare import UNTOLD
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import Difference, Rejection
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.story import story, title
from groupcheck.reports.words import answer_in_words, duration, letters, passing, step_in_words
from support.faults import faulty_port

JOIN = Request(
    1, 3, JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
)


def _finding(fault: str, *steps: Request | Advance) -> Finding:
    finding = replay(Sequence("2.7", {}, (JOIN, Advance(3_000), *steps)), faulty_port(fault))
    assert finding is not None
    return finding


def test_a_wrong_answer_is_told_with_the_right_one_its_reason_and_its_source() -> None:
    finding = _finding(
        "a heartbeat from an old generation is accepted",
        Request(2, 4, HeartbeatRequest(GROUP_ID, 0, "#1")),
    )
    assert story(finding) == dedent(f"""\
        Finding {finding.finding_id}: not as Apache Kafka 2.7.2: Heartbeat v4 in CompletingRebalance: no error instead of ILLEGAL_GENERATION (22)

          1. A sends JoinGroup v3 without a member id, offering range b'r' (session timeout 10 s, rebalance timeout 1 min 30 s)
               .. no answer yet
          2. 3 s pass
               <- (to step 1) no error, generation 1, member id A, leader A, protocol consumer/range, members A b'r'
          3. A sends Heartbeat v4 for generation 0
               <- no error

        What came back:
          to step 3: no error
        What Apache Kafka 2.7.2 does here:
          to step 3: ILLEGAL_GENERATION (22)
            because the generation is not the group's [GroupCoordinator.scala:636]
        What came back is what Apache Kafka 2.7.2 does when
          the member is alive in the current generation [GroupCoordinator.scala:643]
            but first the generation is not the group's [GroupCoordinator.scala:636]
          the group is being loaded [GroupCoordinator.scala:615]
            which is not so
        """)  # noqa: E501 - it is read as it is


def test_a_wrong_inner_state_is_told_with_the_right_one() -> None:
    finding = _finding(
        "the generation is not raised when the last member leaves",
        Request(2, 4, LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1"),))),
    )
    text = story(finding)
    assert "generationId of the inner state is 1 instead of 2" in text
    assert "  inner state: generationId is 1\n" in text
    assert "  inner state: generationId is 2\n" in text
    assert "the join phase ends with nobody left: the group is empty" in text


def test_a_port_that_failed_is_told_with_its_last_words() -> None:
    failure = PortFailedError("port crashed", "it exited with status 3", "oh no\nthe end")
    finding = Finding(Sequence("2.7", {}, (JOIN,)), (), {}, failure=failure)
    text = story(finding)
    first = "port crashed: it exited with status 3 (JoinGroup v3 without a member id)"
    assert text.startswith(f"Finding {finding.finding_id}: {first}\n")
    assert "The port failed: it exited with status 3." in text
    assert "  | oh no\n  | the end\n" in text


@pytest.mark.parametrize("during", ["open", "close"])
def test_a_failure_at_open_or_close_is_told_as_one(during: str) -> None:
    def fail(*_arguments: object) -> NoReturn:
        kind = "port crashed"
        raise PortFailedError(kind, "it fell")

    port = BuiltinPort()
    setattr(port, during, fail)
    finding = replay(Sequence("2.7", {}, (JOIN,)), port)
    assert finding is not None
    when = "when the test was opened" if during == "open" else "when the test was closed"
    assert title(finding) == f"port crashed: it fell ({when})"
    assert f"\nThe port failed {when}: it fell.\n" in story(finding)
    assert finding.key == ("port", "port crashed", during)


def test_the_broker_s_settings_are_told_where_they_are_not_the_version_s_own() -> None:
    broker = {
        "group.initial.rebalance.delay.ms": 5_000,
        "group.max.session.timeout.ms": 1_800_000,
        "offset.metadata.max.bytes": 10,
    }
    failure = PortFailedError("port crashed", "it fell")
    finding = Finding(Sequence("2.7", broker, (JOIN,)), (), {}, failure=failure)
    line = (
        "Broker settings: group.initial.rebalance.delay.ms = 5000, offset.metadata.max.bytes = 10"
    )
    assert story(finding).splitlines()[2] == line
    plain = finding._replace(sequence=finding.sequence._replace(broker={}))
    assert "Broker settings" not in story(plain)


def test_a_title_says_which_request_was_answered_and_what_it_was_answered_upon() -> None:
    steps = (JOIN, JOIN._replace(request_id=2), Advance(6_000))
    finding = replay(Sequence("2.7", {}, steps), faulty_port("a follower is given the member list"))
    assert finding is not None
    assert title(finding) == (
        "not as Apache Kafka 2.7.2: 6 s pass in PreparingRebalance, answer to JoinGroup v3 without"
        " a member id: a member list for a follower"
    )


def test_null_is_said_as_null_and_fields_have_the_protocol_s_names() -> None:
    lawful = JoinGroupResponse(ErrorCode.NONE, 1, "consumer", "range", "#1", "#1")
    seen = lawful._replace(protocol_type=None, protocol_name="", leader=UNTOLD)
    finding = _judged(JOIN, lawful, seen)
    assert title(finding).endswith(
        "protocolType null instead of 'consumer', protocolName '' instead of 'range',"
        " leader an unknown id instead of A"
    )


def test_a_leader_that_is_to_skip_its_assignment_is_told_so_in_words() -> None:
    lawful = JoinGroupResponse(ErrorCode.NONE, 1, leader="#1", member_id="#1", skip_assignment=True)
    assert answer_in_words(lawful, {"#1": "A"}).endswith(", to skip its assignment")
    finding = _judged(JOIN._replace(api_version=9), lawful, lawful._replace(skip_assignment=False))
    assert title(finding).endswith("skipAssignment False instead of True")


def test_answers_that_differ_in_nested_fields_are_told_in_words() -> None:
    request = Request(1, 5, DescribeGroupsRequest((GROUP_ID,)))
    group = DescribedGroup(ErrorCode.NONE, GROUP_ID, "Empty")
    lawful = DescribeGroupsResponse((group,))
    seen = DescribeGroupsResponse((group._replace(group_state="Dead"),))
    contrast = title(_judged(request, lawful, seen)).partition(": no error, ")[2]
    assert contrast == (
        "Dead, protocol ''/'', members: none instead of"
        " no error, Empty, protocol ''/'', members: none"
    )


def _judged(request: Request, lawful: ResponseBody, seen: ResponseBody) -> Finding:
    """A finding of one step that is answered with `seen`."""
    outcome = Outcome(Coordinator(), (Response(1, lawful),), (PASS.name,), (PASS.name,))
    rejection = Rejection((outcome,), (Difference("another answer", 1, lawful, seen),))
    exchange = Exchange(request, Observation((Response(1, seen),)))
    return Finding(Sequence("2.7", {}, (request,)), (exchange,), {}, rejection)


def test_members_of_the_inner_state_are_told_with_every_field_under_the_protocol_s_name() -> None:
    class Forgetful(BuiltinPort):
        def advance(self, ms: int, expected: Collection[int]) -> Observation:
            seen = super().advance(ms, expected)
            groups = seen.groups or ()
            members = tuple(m._replace(session_timeout_ms=1) for m in groups[0].members or ())
            return seen._replace(groups=(groups[0]._replace(members=members),))

    finding = replay(Sequence("2.7", {}, (JOIN, Advance(3_000))), Forgetful())
    assert finding is not None
    rest = "rebalanceTimeoutMs 90000, awaitingJoin false, awaitingSync false, assignment b''"
    assert f"members is A (sessionTimeoutMs 1, {rest})\n" in story(finding)
    assert f"members is A (sessionTimeoutMs 10000, {rest})\n" in story(finding)


def test_what_comes_too_early_is_told_with_why_nothing_should_have_come() -> None:
    class Hasty(BuiltinPort):
        def advance(self, ms: int, expected: Collection[int]) -> Observation:
            return super().advance(ms + 1, expected)

    finding = replay(Sequence("2.7", {}, (JOIN, Advance(2_999))), Hasty())
    assert finding is not None
    assert "because time passes and no timer ends [" in story(finding)


def test_what_does_not_come_with_time_is_told_with_the_rule_that_gives_it() -> None:
    class Silent(BuiltinPort):
        def advance(self, ms: int, expected: Collection[int]) -> Observation:
            return super().advance(ms, expected)._replace(responses=(), groups=None)

    finding = replay(Sequence("2.7", {}, (JOIN, Advance(3_000))), Silent())
    assert finding is not None
    assert "because the join phase ends and a new generation begins [" in story(finding)
    assert "time passes" not in story(finding)


def test_members_have_letters_in_the_order_in_which_they_first_ask_to_join() -> None:
    steps = tuple(JOIN._replace(request_id=n) for n in (4, 9, 2))
    assert letters(steps) == {"#4": "A", "#9": "B", "#2": "C"}


def test_the_twenty_seventh_member_has_a_letter_too() -> None:
    steps = tuple(JOIN._replace(request_id=n) for n in range(27))
    assert letters(steps)["#26"] == "A1"


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 s"),
        (1, "1 ms"),
        (60_001, "1 min 1 ms"),
        (90_000, "1 min 30 s"),
        (300_000, "5 min"),
        (6_500, "6.5 s"),
        (-60_000, "-1 min"),
    ],
)
def test_durations_are_written_as_people_say_them(ms: int, words: str) -> None:
    assert duration(ms) == words


@pytest.mark.parametrize(("ms", "words"), [(1_000, "1 s passes"), (61_000, "1 min 1 s pass")])
def test_one_unit_of_time_passes_and_several_pass(ms: int, words: str) -> None:
    assert passing(ms) == words


def test_what_happens_to_the_coordinator_is_told_in_words() -> None:
    told = [
        step_in_words(step, {})
        for step in (
            FailAppends(2, ErrorCode.REQUEST_TIMED_OUT),
            Crash(),
            Unload(),
            Cleanup(),
            Shutdown(),
        )
    ]
    assert told == [
        "the next 2 appends will fail with REQUEST_TIMED_OUT (7)",
        "the coordinator crashes, and comes back with what is in the log",
        "the coordinator loses the group's partition",
        "the coordinator removes the offsets that have expired",
        "the coordinator is shut down",
    ]
