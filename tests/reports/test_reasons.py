"""Why a finding is one: the lines of a story and the values of result.json, held as they are."""

from __future__ import annotations

from textwrap import dedent

from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.state import Advance
from groupcheck.model.step import Rule
from groupcheck.model.vocabulary import (
    HeartbeatRequest,
    JoinGroupRequest,
    Protocol,
    Request,
)
from groupcheck.properties.findings.counterfactual import Refusal
from groupcheck.properties.findings.explanation import Explanation
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.laws.law import Law
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from groupcheck.reports import reasons
from support.faults import faulty_port

JOIN = Request(
    1, 3, JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
)
MEMBER_LIST = (
    "only the leader is told the members of the generation: all of them at the end of the join"
    " phase, and when it is to skip its assignment (KIP-814), as the group is and stays Stable"
)


def _finding(fault: str, *steps: Request | Advance) -> Finding:
    finding = replay(Sequence("2.7", {}, (JOIN, *steps)), faulty_port(fault))
    assert finding is not None
    return finding


def test_the_law_that_is_broken_is_told_with_its_source() -> None:
    finding = _finding(
        "a follower is given the member list", JOIN._replace(request_id=2), Advance(6_000)
    )
    assert reasons.reasons(finding) == [
        "It breaks the law member-list:",
        f"  {MEMBER_LIST} [GroupCoordinator.scala:1228]",
    ]
    assert reasons.as_json(finding) == {
        "would_be_right": [],
        "law": {
            "name": "member-list",
            "says": MEMBER_LIST,
            "source": "GroupCoordinator.scala:1228",
        },
    }


def test_the_rules_are_told_as_values_too() -> None:
    finding = _finding(
        "a heartbeat from an old generation is accepted",
        Advance(3_000),
        Request(2, 4, HeartbeatRequest(GROUP_ID, 0, "#1")),
    )
    first, second = reasons.as_json(finding)["would_be_right"]
    assert first == {
        "rule": "heartbeat/alive",
        "says": "the member is alive in the current generation",
        "source": "GroupCoordinator.scala:643",
        "so": True,
        "but_first": {
            "rule": "heartbeat/other-generation",
            "says": "the generation is not the group's",
            "source": "GroupCoordinator.scala:636",
        },
        "timer_left_ms": None,
    }
    assert second["rule"] == "heartbeat/loading"
    assert second["but_first"] is None
    assert not second["so"]


def test_there_are_words_for_every_reason_and_no_more_than_a_few(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    one, other = Rule("a/one", "it is one", "One.scala:1"), Rule("a/other", "it is other", "KIP-1")
    refusals = (
        Refusal(one, other, so=True),
        Refusal(one, other),
        Refusal(one),
        Refusal(other, left_ms=61_000),
        *[Refusal(other)] * 3,
    )
    law = Law("a-law", "it holds", "One.scala:7")
    monkeypatch.setattr(reasons, "explain", lambda _finding: Explanation(refusals, law))
    finding = _finding(
        "a follower is given the member list", JOIN._replace(request_id=2), Advance(6_000)
    )
    finding = finding._replace(sequence=finding.sequence._replace(profile="4.1"))
    assert "\n".join(reasons.reasons(finding)) == dedent("""\
        What came back is what Apache Kafka 4.1 does when
          it is one [One.scala:1]
            but first it is other [KIP-1]
          it is one [One.scala:1]
            but first it is other [KIP-1], nor is it so
          it is one [One.scala:1]
            which is not so
          it is other [KIP-1]
            but that timer has 1 min 1 s left
          it is other [KIP-1]
            which is not so
          or by 2 other rules
        It breaks the law a-law:
          it holds [One.scala:7 at 2.7.2]""")
