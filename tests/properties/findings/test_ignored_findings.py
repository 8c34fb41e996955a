"""Ignored findings: later findings are found, distinguished from the ignored one, and replayed."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import pytest

from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import MalformedTraceError, dump, parse
from groupcheck.properties.verify import Verification
from groupcheck.reports.diagram import diagram
from groupcheck.reports.files import finding_files
from groupcheck.reports.record import Event
from groupcheck.reports.text import REPORTED_SEPARATELY, story
from groupcheck.reports.verification_record import finding_record
from support.faults import faulty_port
from support.spaces import together

TELLS_FOLLOWERS = "a follower is given the member list"
FOLLOWER = ("another answer", "JoinGroupResponse", "rebalance/complete", "members", "NONE")
WRONG_ASSIGNMENT = ("another answer", "SyncGroupResponse", "sync/stable", "assignment", "NONE")


def _telling_others(port: BuiltinPort) -> BuiltinPort:
    """The port, but in a Stable group of two a follower gets another assignment."""
    send = port.request

    def ask(request: Request, expected: Collection[int]) -> Observation:
        seen = send(request, expected)
        group = seen.groups[0] if seen.groups else None
        if request.api != "SyncGroup" or group is None or len(group.members or ()) < 2:
            return seen
        follower = getattr(request.body, "member_id", "") != group.leader
        wrong = follower and group.state == "Stable"
        return seen._replace(
            responses=tuple(
                r._replace(body=r.body._replace(assignment=b"wrong"))  # type: ignore[call-arg]
                if wrong and r.body[0] == 0
                else r
                for r in seen.responses
            )
        )

    port.request = ask  # type: ignore[method-assign]
    return port


def _two_faults() -> BuiltinPort:
    return _telling_others(faulty_port(TELLS_FOLLOWERS))


@cache
def _verified() -> Result:
    """A coordinator with two faults; every trace to the second shows the first."""
    source = PortSource("two faults", _two_faults)
    given = together(
        virtual_time_instances(PROFILES["2.7"], 2)
    )  # other instances have traces around it
    return Verification(source, Settings(examples=0), given=given).run()


def _behind() -> Finding:
    return next(f for f in _verified().findings if f.key == WRONG_ASSIGNMENT)


def test_a_fault_behind_another_one_is_found() -> None:
    result = _verified()
    assert {FOLLOWER, WRONG_ASSIGNMENT} <= {finding.key for finding in result.findings}
    assert result.covered_transitions > 0.95 * result.transitions
    assert _behind().sequence.past == (FOLLOWER,)
    assert len(_behind().sequence.steps) == 5
    first = next(f for f in result.findings if f.key == FOLLOWER)
    assert first.sequence.past == ()


def test_a_trace_ignores_the_first_finding_and_ends_in_the_second_until_that_is_fixed() -> None:
    trace = parse(dump(_behind().sequence), "trace")
    assert trace == _behind().sequence
    again = replay(trace, _two_faults())
    assert again is not None
    assert again.finding_id == _behind().finding_id
    only = replay(
        trace, _telling_others(BuiltinPort())
    )  # where the first is fixed, nothing is ignored
    assert only is not None
    assert only.key == WRONG_ASSIGNMENT
    assert only.sequence.past == ()
    assert replay(trace, faulty_port(TELLS_FOLLOWERS)) is None
    first = replay(trace._replace(past=()), _two_faults())
    assert first is not None
    assert first.key == FOLLOWER


def test_an_ignored_finding_is_printed_at_its_step() -> None:
    assert story(_behind()).count(REPORTED_SEPARATELY) == 1
    assert diagram(_behind()).events.count(Event("note", REPORTED_SEPARATELY)) == 1
    assert len(finding_files(finding_record(_behind(), "builtin"))) == 6


@pytest.mark.parametrize("past", ["7", '["no-list"]', "[[7]]", "null"])
def test_a_trace_with_malformed_ignored_findings_is_rejected(past: str) -> None:
    head = '{"type":"open","trace":1,"profile":"2.7","config":{},"past":' + past + "}\n"
    with pytest.raises(MalformedTraceError, match="past must be a list of lists of strings"):
        parse(head, "trace")
