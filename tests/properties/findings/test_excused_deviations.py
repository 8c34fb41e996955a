"""Excused deviations: findings behind one are found, and their traces are replayed."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

import pytest

from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import MalformedTraceError, dump, parse
from groupcheck.properties.verify import Verification
from groupcheck.reports.changes import changes
from groupcheck.reports.explored_graphs import Graphs, Known
from groupcheck.reports.finding_text import text_of
from groupcheck.reports.html import as_html
from groupcheck.reports.verification_record import result_record
from support.faults import faulty_port
from support.fuzzed_runs import rendered
from support.spaces import together

TELLS_FOLLOWERS = "a follower is given the member list"
MEMBERS = "`rebalance/complete` answered members=anything"
ASSIGNMENT = "`sync/stable` answered assignment=anything"


def _telling_others(port: BuiltinPort) -> BuiltinPort:
    """The port, except that a follower of a Stable group of two gets another assignment."""
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
def _verification() -> Verification:
    """A coordinator with two faults, verified; every trace to the second shows the first."""
    source = PortSource("two faults", _two_faults)
    given = together({"metadata": virtual_time_instances(PROFILES["2.7"], 2)["metadata"]})
    verification = Verification(source, Settings(examples=0, walks=50), given=given)
    verification.run()
    return verification


def _verified() -> Result:
    return _verification().result


def _of(cause: str) -> Finding:
    return next(f for f in _verified().findings if str(f.cause) == cause)


@pytest.mark.slow
def test_each_rule_that_answers_otherwise_is_one_finding_and_everything_behind_is_tried() -> None:
    result = _verified()
    assert {str(finding.cause) for finding in result.findings} == {
        MEMBERS,
        ASSIGNMENT,
        "`join/repeated-completing` answered members=anything",
        "`join/repeated-stable` answered members=anything",
    }
    assert result.covered_transitions == result.transitions
    assert list(map(str, _of(ASSIGNMENT).sequence.deviations)) == [MEMBERS]
    assert len(_of(ASSIGNMENT).sequence.steps) == 5
    assert _of(MEMBERS).sequence.deviations == ()


def test_a_trace_that_excuses_a_deviation_ends_in_the_second_one_until_that_is_fixed() -> None:
    trace = parse(dump(_of(ASSIGNMENT).sequence), "trace")
    assert trace == _of(ASSIGNMENT).sequence
    for port in (_two_faults(), _telling_others(BuiltinPort())):
        again = replay(trace, port)
        assert again is not None
        assert len(again.sequence.steps) == 5
        assert again.key == _of(ASSIGNMENT)._replace(cause=None).key
    assert replay(trace, faulty_port(TELLS_FOLLOWERS)) is None
    first = replay(trace._replace(deviations=()), _two_faults())
    assert first is not None
    assert first.key == _of(MEMBERS)._replace(cause=None).key


def test_the_text_of_a_finding_names_its_cause_and_the_other_deviations() -> None:
    text = text_of(_of(ASSIGNMENT))
    assert f"behaves as if {ASSIGNMENT}" in text
    assert f"In these steps the port also behaves as if\n  {MEMBERS}\n" in text
    assert "In these steps" not in text_of(_of(MEMBERS))


def test_a_result_with_answers_that_may_be_anything_is_rendered_in_every_format() -> None:
    rendered(_verified())
    saved = result_record(_verified())
    known = tuple(map(Known, saved.instances, _verification().graphs))
    page = as_html(saved, changes(saved, None), Graphs(known, ()))
    assert f"behaves as if {MEMBERS}" in page


@pytest.mark.parametrize(
    ("deviations", "why"),
    [
        ("7", "deviations: expected a list of edits, got 7"),
        ('["no-edit"]', "deviations: expected an edit"),
        ('[{"edit":"drop-rule","rule":"no/rule"}]', "deviations: 2.7 has no rule no/rule"),
        (
            '[{"edit":"drop-rule","rule":"sync/stable"},{"edit":"drop-rule","rule":"sync/stable"}]',
            "deviations: 2.7 has no rule sync/stable",
        ),
        ("null", "deviations: expected a list of edits, got None"),
    ],
)
def test_a_trace_with_malformed_deviations_is_rejected(deviations: str, why: str) -> None:
    head = f'{{"type":"open","trace":1,"profile":"2.7","config":{{}},"deviations":{deviations}}}\n'
    with pytest.raises(MalformedTraceError, match=re.escape(why)):
        parse(head, "trace")
