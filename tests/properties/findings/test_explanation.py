"""Explanations: the rules by which what was seen would be right, and the laws it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import GROUP_ID
from groupcheck.model.spaces.instance import virtual_spaces
from groupcheck.model.state import Advance, Coordinator, HoldAppends
from groupcheck.model.step import Outcome, Profile, Rule
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    Protocol,
    Request,
    Response,
    ResponseBody,
    SyncGroupRequest,
    SyncGroupResponse,
)
from groupcheck.properties.findings.counterfactual import TABLES
from groupcheck.properties.findings.explanation import Explanation, explain
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.windows import Windows

PROFILE = PROFILES["2.7"]
OFFER = JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
JOIN = Request(1, 3, OFFER)
JOINED: tuple[Input, ...] = (JOIN, Advance(3_000))
ALIVE = HeartbeatRequest(GROUP_ID, 1, "#1")
SYNC = SyncGroupRequest(GROUP_ID, 1, "#1", assignments=(Assignment("#1", b"a"),))


def _seen(
    *steps: Input, answers: dict[int, ResponseBody], windows: Windows | None = None
) -> Finding:
    """What is found if the last step is answered so, and those before it as Kafka would."""
    oracle, exchanges = Oracle(PROFILE, {}, windows), []
    for step in steps[:-1]:
        lawful = oracle.predict(step)
        elapsed_ms = step.ms if isinstance(step, Advance) else 0
        seen = Observation(lawful[0].responses, elapsed_ms=elapsed_ms)
        exchanges.append(Exchange(step, seen))
        oracle.accept(step, lawful, seen)
    return _last(oracle, steps, exchanges, answers)


def _last(
    oracle: Oracle,
    steps: tuple[Input, ...],
    exchanges: list[Exchange],
    answers: dict[int, ResponseBody],
) -> Finding:
    lawful = oracle.predict(steps[-1])
    seen = Observation(tuple(Response(i, body) for i, body in answers.items()))
    with pytest.raises(DivergedError) as diverged:
        oracle.accept(steps[-1], lawful, seen)
    exchanges.append(Exchange(steps[-1], seen))
    sequence = Sequence("2.7", {}, steps)
    return Finding(sequence, tuple(exchanges), oracle.names, diverged.value.rejection)


def _told(explanation: Explanation) -> dict[str, str]:
    """Each rule by which it would be right, and what kept it back."""
    return {
        r.rule.name: f"{r.left_ms} ms left"
        if r.left_ms is not None
        else (r.first.name if r.first else "not so")
        for r in explanation.refusals
    }


def test_a_rule_is_named_by_which_it_would_be_right_and_the_one_that_comes_first() -> None:
    old = Request(2, 3, ALIVE._replace(generation_id=0))
    finding = _seen(*JOINED, old, answers={2: HeartbeatResponse(ErrorCode.NONE)})
    assert _told(explain(finding)) == {
        "heartbeat/alive": "heartbeat/other-generation",
        "heartbeat/loading": "not so",
    }


def test_a_rule_that_needs_a_member_is_named_where_there_is_none() -> None:
    nobody = Request(2, 3, ALIVE._replace(member_id="nobody"))
    finding = _seen(*JOINED, nobody, answers={2: HeartbeatResponse(ErrorCode.NONE)})
    assert _told(explain(finding))["heartbeat/alive"] == "heartbeat/unknown-member"
    leave = Request(2, 3, LeaveGroupRequest(GROUP_ID, (MemberIdentity("nobody"),)))
    left = LeaveGroupResponse(ErrorCode.NONE, (MemberResponse("nobody", None, ErrorCode.NONE),))
    finding = _seen(*JOINED, leave, answers={2: left})
    assert _told(explain(finding)) == {"leave/member": "leave/unknown-member"}


def test_a_rule_whose_guard_said_no_is_named_as_one_that_is_not_so() -> None:
    finding = _seen(
        *JOINED,
        Request(2, 3, ALIVE),
        answers={2: HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)},
    )
    assert _told(explain(finding)) == {"heartbeat/preparing": "not so"}


def test_silence_is_explained_by_the_rules_that_let_one_wait() -> None:
    other = Request(2, 3, OFFER._replace(protocols=(Protocol("other", b"o"),)))
    finding = _seen(*JOINED, other, answers={})
    assert _told(explain(finding))["join/new-member"] == "join/new-inconsistent"


def test_an_answer_that_came_too_early_is_explained_by_the_timer_that_has_time_left() -> None:
    early = JoinGroupResponse(ErrorCode.NONE, 1, "consumer", "range", "#1", "#1")
    admitted = early._replace(members=(JoinGroupResponseMember("#1", None, b"r"),))
    finding = _seen(JOIN, Advance(2_000), answers={1: admitted})
    assert _told(explain(finding)) == {"time/initial-delay-over": "1000 ms left"}


def test_an_answer_that_did_not_wait_for_the_log_is_explained_by_its_release() -> None:
    told = SyncGroupResponse(ErrorCode.NONE, "consumer", "range", b"a")
    finding = _seen(*JOINED, HoldAppends(), Request(2, 3, SYNC), answers={2: told})
    assert "log/release" in _told(explain(finding))


@pytest.mark.parametrize(
    ("given", "answers", "law"),
    [
        (
            Request(2, 3, ALIVE._replace(member_id="nobody")),
            {2: HeartbeatResponse(ErrorCode.NONE)},
            "heartbeats-count",
        ),
        (
            Request(2, 3, SYNC._replace(generation_id=0)),
            {2: SyncGroupResponse(ErrorCode.NONE)},
            "assigned-as-sent",
        ),
        (Request(2, 3, ALIVE), {2: HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)}, ""),
    ],
)
def test_a_law_is_named_only_if_what_was_seen_breaks_one(
    given: Request, answers: dict[int, ResponseBody], law: str
) -> None:
    broken = explain(_seen(*JOINED, given, answers=answers)).law
    assert (broken.name if broken else "") == law


def test_nothing_is_explained_of_a_port_that_failed_or_of_two_answers_to_one_request() -> None:
    failure = PortFailedError("port crashed", "it fell")
    failed = Finding(Sequence("2.7", {}, (JOIN,)), (), {}, failure=failure)
    assert explain(failed) == Explanation()
    oracle = Oracle(PROFILE, {})
    lawful = oracle.predict(JOIN)
    refused = Response(1, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    seen = Observation((refused, refused))
    with pytest.raises(DivergedError) as diverged:
        oracle.accept(JOIN, lawful, seen)
    twice = Finding(
        Sequence("2.7", {}, (JOIN,)), (Exchange(JOIN, seen),), {}, diverged.value.rejection
    )
    assert explain(twice).refusals == ()


def test_on_a_real_clock_rules_are_named_and_no_law_is() -> None:
    old = Request(2, 3, ALIVE._replace(generation_id=0))
    answers: dict[int, ResponseBody] = {2: HeartbeatResponse(ErrorCode.NONE)}
    explanation = explain(_seen(*JOINED, old, answers=answers, windows=Windows(1_000)))
    assert _told(explanation)["heartbeat/alive"] == "heartbeat/other-generation"
    assert explanation.law is None


def test_a_coordinator_that_lacks_a_rule_is_explained_by_the_rule_that_it_lacks() -> None:
    explained = set()
    for space in _spaces():
        for rule, table in _rows():
            for finding, other in _without(rule, table, space):
                assert _told(explain(finding))[other] == rule.name
                explained.add(rule.name)
    # The other rules say what the next would, or need what is not there without them.
    assert len(explained) == 30


def _spaces() -> list[Space]:
    return [explore(instance) for instance in virtual_spaces(PROFILE, 2).values()]


def _rows() -> Iterator[tuple[Rule, str]]:
    for table in (table for tables in TABLES.values() for table in tables):
        yield from ((rule, table) for rule in getattr(PROFILE, table))


def _without(rule: Rule, table: str, space: Space) -> Iterator[tuple[Finding, str]]:
    """A few findings on a coordinator that lacks the rule, and by which rule it answered."""
    rows = tuple(each for each in getattr(PROFILE, table) if each.name != rule.name)
    lacking: Profile = PROFILE._replace(**{table: rows})  # type: ignore[arg-type]
    found = 0
    for node, edges in zip(space.nodes, space.edges, strict=True):
        for edge in edges:
            if rule.name != edge.fired[0] or not isinstance(edge.given, Request):
                continue
            request = edge.given._replace(request_id=1_000)
            finding = _difference(node, request, lacking, space)
            if finding is not None:
                yield finding
                found += 1
            if found == 3:
                return


def _difference(
    state: Coordinator, request: Request, lacking: Profile, space: Space
) -> tuple[Finding, str] | None:
    outcome = _first(state, request, lacking, space)
    if outcome is None or any(r.request_id != request.request_id for r in outcome.responses):
        return None
    oracle = Oracle(PROFILE, space.instance.broker)
    oracle.states = [state]
    members = state.group.members if state.group else ()
    oracle._symbols.update({m.member_id: m.member_id for m in members})
    oracle.names.update(oracle._symbols)
    lawful, seen = oracle.predict(request), Observation(outcome.responses)
    try:
        oracle.accept(request, lawful, seen)
    except DivergedError as diverged:
        sequence = Sequence("2.7", space.instance.broker, (request,))
        exchanges = (Exchange(request, seen),)
        return Finding(sequence, exchanges, oracle.names, diverged.rejection), outcome.fired[0]
    except KeyError:  # it answers somebody whose request is not there
        return None
    return None


def _first(state: Coordinator, request: Request, lacking: Profile, space: Space) -> Outcome | None:
    with suppress(Exception):  # the rules that are left may need a member who is not there
        outcome = successors(state, request, lacking, space.instance.config)[0]
        return outcome if outcome.fired else None
    return None
