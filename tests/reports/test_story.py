"""Findings as stories: what a person reads, held word for word."""

from __future__ import annotations

from textwrap import dedent

import pytest

from groupcheck.model.instance import GROUP_ID
from groupcheck.model.state import Advance
from groupcheck.model.vocabulary import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    Protocol,
    Request,
)
from groupcheck.properties.finding import Finding
from groupcheck.properties.ports.port import PortFailedError
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.reports.story import story
from groupcheck.reports.words import duration, letters
from support.faulty import faulty_port

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
        Finding {finding.finding_id}: not as Apache Kafka 2.7.2: Heartbeat v4: no error instead of ILLEGAL_GENERATION (22)

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
    assert text.startswith(f"Finding {finding.finding_id}: port crashed: it exited with status 3\n")
    assert "The port failed: it exited with status 3." in text
    assert "  | oh no\n  | the end\n" in text


def test_members_have_letters_in_the_order_in_which_they_first_ask_to_join() -> None:
    steps = tuple(JOIN._replace(request_id=n) for n in (4, 9, 2))
    assert letters(steps) == {"#4": "A", "#9": "B", "#2": "C"}


def test_the_twenty_seventh_member_has_a_letter_too() -> None:
    steps = tuple(JOIN._replace(request_id=n) for n in range(27))
    assert letters(steps)["#26"] == "A1"


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0 s"), (1, "0.001 s"), (90_000, "1 min 30 s"), (300_000, "5 min"), (6_500, "6.5 s")],
)
def test_durations_are_written_as_people_say_them(ms: int, words: str) -> None:
    assert duration(ms) == words
