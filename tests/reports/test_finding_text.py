"""Findings as text."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Configure, Coordinator, FailAppends
from groupcheck.model.classic.step import Outcome
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, Request, Response, ResponseBody
from groupcheck.properties.compare import UNREVEALED
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import Difference, Rejection
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.finding_text import text_of
from groupcheck.reports.finding_title import title
from groupcheck.reports.formatting import duration, passing
from groupcheck.reports.messages import answer_text, letters, step_text
from support.golden import assert_golden
from support.small_findings import JOIN, finding_of, member_list_for_a_follower


def test_a_finding_has_its_steps_the_observed_and_expected_answer_and_the_reasons() -> None:
    stale = Request(2, 4, kafka.HeartbeatRequest(GROUP_ID, 0, "#1"))
    fault = "a heartbeat from an old generation is accepted"
    assert_golden("finding.txt", text_of(finding_of(fault, Advance(3_000), stale)))


def test_a_wrong_internal_state_is_printed_with_the_allowed_one() -> None:
    leave = Request(2, 4, kafka.LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1"),)))
    fault = "the generation is not raised when the last member leaves"
    text = text_of(finding_of(fault, Advance(3_000), leave))
    assert "inner state: generationId 1 instead of 2" in text
    assert "  inner state: generationId 1\n" in text
    assert "  inner state: generationId 2\n" in text
    assert PROFILES["2.7"].rules["rebalance/complete-empty"].words in text


def test_a_failure_of_the_port_is_printed_with_its_last_output() -> None:
    failure = PortFailedError("port crashed", "it exited with status 3", "oh no\nthe end")
    finding = Finding(Sequence("2.7", {}, (JOIN,)), (), {}, failure=failure)
    text = text_of(finding)
    first = "port crashed: it exited with status 3 (JoinGroup v3 without a member id)"
    assert text.startswith(f"Finding {finding.finding_id}: {first}\n")
    assert "The port failed: it exited with status 3." in text
    assert "  | oh no\n  | the end\n" in text


@pytest.mark.parametrize("during", ["open", "close"])
def test_a_failure_while_opening_or_closing_is_named_as_one(during: str) -> None:
    def fail(*_arguments: object) -> NoReturn:
        kind = "port crashed"
        raise PortFailedError(kind, "it fell")

    port = BuiltinPort()
    setattr(port, during, fail)
    finding = finding_of(port)
    when = "while opening the test" if during == "open" else "while closing the test"
    assert title(finding) == f"port crashed: it fell ({when})"
    assert f"\nThe port failed {when}: it fell.\n" in text_of(finding)
    assert finding.key == ("port", "port crashed", during)


def test_broker_settings_are_printed_where_they_differ_from_the_defaults() -> None:
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
    assert text_of(finding).splitlines()[2] == line
    plain = finding._replace(sequence=finding.sequence._replace(broker={}))
    assert "Broker settings" not in text_of(plain)


def test_a_title_names_the_answered_request_and_the_step_that_led_to_the_answer() -> None:
    assert title(member_list_for_a_follower()) == (
        "differs from Apache Kafka 2.7.2: 6 s pass in PreparingRebalance, answer to JoinGroup v3"
        " without a member id: a member list for a follower"
    )


def test_null_is_printed_as_null_and_fields_have_the_names_of_the_protocol() -> None:
    allowed = kafka.JoinGroupResponse(ErrorCode.NONE, 1, "consumer", "range", "#1", "#1")
    seen = allowed._replace(protocol_type=None, protocol_name="", leader=UNREVEALED)
    finding = _differing(JOIN, allowed, seen)
    assert title(finding).endswith(
        "protocolType null instead of 'consumer', protocolName '' instead of 'range',"
        " leader an unknown id instead of A"
    )


def test_skip_assignment_is_printed() -> None:
    allowed = kafka.JoinGroupResponse(
        ErrorCode.NONE, 1, leader="#1", member_id="#1", skip_assignment=True
    )
    assert answer_text(allowed, {"#1": "A"}).endswith(", skip assignment")
    finding = _differing(
        JOIN._replace(api_version=9), allowed, allowed._replace(skip_assignment=False)
    )
    assert title(finding).endswith("skipAssignment False instead of True")


def test_answers_that_differ_in_nested_fields_are_printed_in_full() -> None:
    request = Request(1, 5, kafka.DescribeGroupsRequest((GROUP_ID,)))
    group = kafka.DescribedGroup(ErrorCode.NONE, GROUP_ID, "Empty")
    allowed = kafka.DescribeGroupsResponse((group,))
    seen = kafka.DescribeGroupsResponse((group._replace(group_state="Dead"),))
    contrast = title(_differing(request, allowed, seen)).partition(": no error, ")[2]
    assert contrast == (
        "Dead, protocol ''/'', members: none instead of"
        " no error, Empty, protocol ''/'', members: none"
    )


def test_answers_that_differ_in_a_topic_without_partitions_are_printed_differently() -> None:
    request = Request(
        1, 1, kafka.OffsetFetchRequest(GROUP_ID, (kafka.OffsetFetchRequestTopic("topic", ()),))
    )
    seen = kafka.OffsetFetchResponse(topics=(kafka.OffsetFetchResponseTopic("topic", ()),))
    words = title(_differing(request, kafka.OffsetFetchResponse(), seen))
    assert words.endswith(": no error, topic without partitions instead of no error")


def _differing(request: Request, allowed: ResponseBody, seen: ResponseBody) -> Finding:
    """A finding of one step that is answered with `seen`."""
    outcome = Outcome(Coordinator(), (Response(1, allowed),), ("time/pass",), ("time/pass",))
    rejection = Rejection((outcome,), (Difference("another answer", 1, allowed, seen),))
    exchange = Exchange(request, Observation((Response(1, seen),)))
    return Finding(Sequence("2.7", {}, (request,)), (exchange,), {}, rejection)


def test_members_of_the_internal_state_have_every_field_under_its_name_in_the_protocol() -> None:
    class Forgetful(BuiltinPort):
        def advance(self, ms: int, expected: Collection[int]) -> Observation:
            seen = super().advance(ms, expected)
            groups = seen.groups or ()
            members = tuple(m._replace(session_timeout_ms=1) for m in groups[0].members or ())
            return seen._replace(groups=(groups[0]._replace(members=members),))

    finding = finding_of(Forgetful(), Advance(3_000))
    rest = "rebalanceTimeoutMs 1 min 30 s, awaitingJoin no, awaitingSync no, assignment b''"
    assert f"members memberId A, sessionTimeoutMs 1 ms, {rest}\n" in text_of(finding)
    assert f"members memberId A, sessionTimeoutMs 10 s, {rest}\n" in text_of(finding)


def test_an_early_answer_is_printed_with_the_reason_to_wait() -> None:
    class Hasty(BuiltinPort):
        def advance(self, ms: int, expected: Collection[int]) -> Observation:
            return super().advance(ms + 1, expected)

    finding = finding_of(Hasty(), Advance(2_999))
    text = text_of(finding)
    assert "because time passes and no timer expires [" in text
    assert ": answered; Kafka would still be waiting\n" in text


def test_a_missing_answer_is_printed_with_the_rule_that_gives_it() -> None:
    class Silent(BuiltinPort):
        def advance(self, ms: int, expected: Collection[int]) -> Observation:
            return super().advance(ms, expected)._replace(responses=(), groups=None)

    finding = finding_of(Silent(), Advance(3_000))
    assert "because the join phase ends and a new generation begins [" in text_of(finding)
    assert "time passes" not in text_of(finding)


def test_members_have_letters_in_the_order_of_their_first_join() -> None:
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
        (608_400_000, "7 d 1 h"),
        (6_500, "6.5 s"),
        (-60_000, "-1 min"),
    ],
)
def test_durations_have_their_units_from_days_to_milliseconds(ms: int, words: str) -> None:
    assert duration(ms) == words


@pytest.mark.parametrize(("ms", "words"), [(1_000, "1 s passes"), (61_000, "1 min 1 s pass")])
def test_one_unit_of_time_passes_and_several_pass(ms: int, words: str) -> None:
    assert passing(ms) == words


def test_failing_appends_are_printed_with_their_number_and_error() -> None:
    said = step_text(FailAppends(2, ErrorCode.REQUEST_TIMED_OUT), {})
    assert said == "the next 2 appends will fail with REQUEST_TIMED_OUT (7)"


def test_another_broker_is_printed_with_its_maximum_size() -> None:
    said = step_text(Configure(2), {})
    assert said == "the broker that loads the partition next has group.max.size=2"
