"""Explanations: the rules by which an answer would be correct, and the violated property."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID, NOBODY
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import (
    Advance,
    Coordinator,
    HoldAppends,
    Load,
    Loading,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors, tables_of
from groupcheck.model.engine.edits import DropGuard, DropRule
from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.vocabulary import (
    Assignment,
    ErrorCode,
    Protocol,
    Request,
    Response,
    ResponseBody,
)
from groupcheck.properties.findings.explanation import Explanation, explain
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.tolerances import Tolerances
from support import requests
from support.spaces import explored_once

PROFILE = PROFILES["2.7"]
OFFER = kafka.JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
JOIN = Request(1, 3, OFFER)
JOINED: tuple[Input, ...] = (JOIN, Advance(3_000))
ALIVE = requests.heartbeat("#1", 1)
SYNC = kafka.SyncGroupRequest(GROUP_ID, 1, "#1", assignments=(Assignment("#1", b"a"),))


def _seen(
    *steps: Input, answers: dict[int, ResponseBody], tolerances: Tolerances | None = None
) -> Finding:
    """The finding if the last step has these answers, and the others conform."""
    oracle, exchanges = Oracle(PROFILE, {}, tolerances), []
    for step in steps[:-1]:
        allowed = oracle.predict(step)
        elapsed_ms = step.ms if isinstance(step, Advance) else 0
        seen = Observation(allowed[0].responses, elapsed_ms=elapsed_ms)
        exchanges.append(Exchange(step, seen))
        oracle.accept(step, allowed, seen)
    return _last(oracle, steps, exchanges, answers)


def _last(
    oracle: Oracle,
    steps: tuple[Input, ...],
    exchanges: list[Exchange],
    answers: dict[int, ResponseBody],
) -> Finding:
    allowed = oracle.predict(steps[-1])
    seen = Observation(tuple(Response(i, body) for i, body in answers.items()))
    with pytest.raises(DivergedError) as diverged:
        oracle.accept(steps[-1], allowed, seen)
    exchanges.append(Exchange(steps[-1], seen))
    sequence = Sequence("2.7", {}, steps)
    return Finding(sequence, tuple(exchanges), oracle.names, diverged.value.rejection)


def _reasons(explanation: Explanation) -> dict[str, str]:
    """Each rule by which the answer would be correct, and why it was not applied."""
    return {
        r.rule.id: f"{r.timer_left_ms} ms left"
        if r.timer_left_ms is not None
        else (r.earlier_rule.id if r.earlier_rule else "guard false")
        for r in explanation.rules
    }


def test_an_explanation_names_the_rule_and_the_earlier_rule() -> None:
    old = Request(2, 3, ALIVE._replace(generation_id=0))
    finding = _seen(*JOINED, old, answers={2: kafka.HeartbeatResponse(ErrorCode.NONE)})
    assert _reasons(explain(finding)) == {
        "heartbeat/alive": "heartbeat/other-generation",
        "heartbeat/loading": "guard false",
    }


def test_an_explanation_names_a_rule_that_needs_a_missing_member() -> None:
    stranger = Request(2, 3, ALIVE._replace(member_id="nobody"))
    finding = _seen(*JOINED, stranger, answers={2: kafka.HeartbeatResponse(ErrorCode.NONE)})
    assert _reasons(explain(finding))["heartbeat/alive"] == "heartbeat/unknown-member"
    leave = Request(2, 3, requests.leave("nobody"))
    left = kafka.LeaveGroupResponse(
        ErrorCode.NONE, (kafka.MemberResponse("nobody", None, ErrorCode.NONE),)
    )
    finding = _seen(*JOINED, leave, answers={2: left})
    assert _reasons(explain(finding)) == {"leave/member": "leave/unknown-member"}


def test_an_explanation_names_a_rule_whose_guard_does_not_hold() -> None:
    finding = _seen(
        *JOINED,
        Request(2, 3, ALIVE),
        answers={2: kafka.HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS)},
    )
    assert _reasons(explain(finding)) == {"heartbeat/preparing": "guard false"}


def test_a_missing_answer_is_explained_by_the_rules_that_wait() -> None:
    other = Request(2, 3, OFFER._replace(protocols=(Protocol("other", b"o"),)))
    finding = _seen(*JOINED, other, answers={})
    assert _reasons(explain(finding))["join/new-member"] == "join/new-inconsistent"


def test_an_early_answer_is_explained_by_the_timer_that_has_time_left() -> None:
    early = kafka.JoinGroupResponse(ErrorCode.NONE, 1, "consumer", "range", "#1", "#1")
    admitted = early._replace(members=(kafka.JoinGroupResponseMember("#1", None, b"r"),))
    finding = _seen(JOIN, Advance(2_000), answers={1: admitted})
    assert _reasons(explain(finding)) == {"time/initial-delay-over": "1000 ms left"}


def test_an_answer_before_the_append_completes_is_explained_by_its_release() -> None:
    early = kafka.SyncGroupResponse(ErrorCode.NONE, "consumer", "range", b"a")
    finding = _seen(*JOINED, HoldAppends(), Request(2, 3, SYNC), answers={2: early})
    assert "log/release" in _reasons(explain(finding))


@pytest.mark.parametrize(
    ("given", "answers", "prop"),
    [
        (
            Request(2, 3, ALIVE._replace(member_id="nobody")),
            {2: kafka.HeartbeatResponse(ErrorCode.NONE)},
            "heartbeat-restarts-session",
        ),
        (
            Request(2, 3, SYNC._replace(generation_id=0)),
            {2: kafka.SyncGroupResponse(ErrorCode.NONE)},
            "assigned-as-sent",
        ),
        (Request(2, 3, ALIVE), {2: kafka.HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)}, ""),
    ],
)
def test_an_explanation_names_a_property_only_if_the_answer_violates_one(
    given: Request, answers: dict[int, ResponseBody], prop: str
) -> None:
    broken = explain(_seen(*JOINED, given, answers=answers)).violated
    assert (broken.name if broken else "") == prop


def test_a_failed_port_and_two_answers_to_one_request_have_no_explanation() -> None:
    failure = PortFailedError("port crashed", "it fell")
    failed = Finding(Sequence("2.7", {}, (JOIN,)), (), {}, failure=failure)
    assert explain(failed) == Explanation()
    oracle = Oracle(PROFILE, {})
    allowed = oracle.predict(JOIN)
    refused = Response(1, kafka.JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    seen = Observation((refused, refused))
    with pytest.raises(DivergedError) as diverged:
        oracle.accept(JOIN, allowed, seen)
    twice = Finding(
        Sequence("2.7", {}, (JOIN,)), (Exchange(JOIN, seen),), {}, diverged.value.rejection
    )
    assert explain(twice).rules == ()


def test_an_explanation_on_a_real_clock_names_no_property() -> None:
    old = Request(2, 3, ALIVE._replace(generation_id=0))
    answers: dict[int, ResponseBody] = {2: kafka.HeartbeatResponse(ErrorCode.NONE)}
    explanation = explain(_seen(*JOINED, old, answers=answers, tolerances=Tolerances(1_000)))
    assert _reasons(explanation)["heartbeat/alive"] == "heartbeat/other-generation"
    assert explanation.violated is None


def test_a_missing_rule_of_a_coordinator_is_the_explanation() -> None:
    explained = set()
    for space in _spaces():
        for rule in _rules():
            for finding, other in _without(rule, space):
                assert _reasons(explain(finding))[other] == rule
                explained.add(rule)
    # Without one of the others, the next rule answers the same, or the state does not exist.
    assert len(explained) == 30


def _spaces() -> list[StateSpace]:
    return [explored_once(instance) for instance in virtual_time_instances(PROFILE, 2).values()]


def _rules() -> Iterator[str]:
    """The rules that decide on requests."""
    for api in kafka.REQUESTS:
        for table in tables_of(api):
            yield from (rule.id for rule in PROFILE.version.tables[table])


# So that a request to which no other rule applies is answered, too.
LAST_RULES_HOLD_ALWAYS = [
    DropGuard(rule.id, guard.words)
    for api in kafka.REQUESTS
    for rule in PROFILE.version.tables[tables_of(api)[-1]][-1:]
    for guard in rule.guards
]


def _without(rule: str, space: StateSpace) -> Iterator[tuple[Finding, str]]:
    """Some findings of a coordinator that lacks the rule, and the rule that it applies."""
    lacking = PROFILE.edited(*LAST_RULES_HOLD_ALWAYS, DropRule(rule))
    found = 0
    for node, edges in zip(space.nodes, space.edges, strict=True):
        for edge in edges:
            if rule != edge.applied[0] or not isinstance(edge.given, Request):
                continue
            request = edge.given._replace(request_id=1_000)
            finding = _difference(node, request, lacking, space)
            if finding is not None:
                yield finding
                found += 1
            if found == 3:
                return


def _difference(
    state: Coordinator, request: Request, lacking: Profile, space: StateSpace
) -> tuple[Finding, str] | None:
    outcome = _first(state, request, lacking, space)
    if outcome is None or any(r.request_id != request.request_id for r in outcome.responses):
        return None
    oracle = Oracle(PROFILE, space.instance.broker)
    oracle.states = [state]
    members = state.group.members if state.group else ()
    oracle._symbols.update({m.member_id: m.member_id for m in members})
    oracle.names.update(oracle._symbols)
    allowed, seen = oracle.predict(request), Observation(outcome.responses)
    try:
        oracle.accept(request, allowed, seen)
    except DivergedError as diverged:
        sequence = Sequence("2.7", space.instance.broker, (request,))
        exchanges = (Exchange(request, seen),)
        return Finding(sequence, exchanges, oracle.names, diverged.rejection), outcome.applied[0]
    except KeyError:  # it answers a request that the oracle does not have
        return None
    return None


def _first(
    state: Coordinator, request: Request, lacking: Profile, space: StateSpace
) -> Outcome | None:
    with suppress(Exception):  # the other rules may need a member that does not exist
        outcome = successors(state, request, lacking, space.instance.config)[0]
        return outcome if outcome.applied else None
    return None


def test_an_answer_to_a_move_after_a_shutdown_is_a_finding_of_the_rule_that_it_breaks() -> None:
    unknown = kafka.HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    heartbeat = Request(1, 4, requests.heartbeat(NOBODY, 1))
    for move in (Unload(), Loading(), Load()):
        finding = _seen(heartbeat, Shutdown(), move, answers={1: unknown})
        assert finding.outcome is not None
        assert finding.outcome.applied == (finding.reason,) == ("failover/not-active",)
        assert finding.key == ("answered too early", "HeartbeatResponse", finding.reason)
