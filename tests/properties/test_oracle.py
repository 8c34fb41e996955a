"""The oracle accepts every choice that Kafka leaves open, and rejects everything else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import ErrorCode, Protocol, Request, Response, ResponseBody
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.tolerances import Tolerances
from support.requests import heartbeat, join, leave

PROTOCOLS = (Protocol("range", b"r"),)
DELAY_MS = 3_000


def _join(request_id: int, member_id: str = "") -> Request:
    body = join(member_id, session_ms=30_000, rebalance_ms=60_000, protocols=PROTOCOLS)
    return Request(request_id, 7, body)


def _heartbeat(request_id: int, generation_id: int, member_id: str) -> Request:
    return Request(request_id, 4, heartbeat(member_id, generation_id))


def _leave(request_id: int, member_id: str) -> Request:
    return Request(request_id, 4, leave(member_id))


class Script:
    """Feeds an oracle; answers not given are those of the model's first outcome."""

    def __init__(self, late_ms: int = 0) -> None:
        self.oracle = Oracle(PROFILES["2.7"], {}, Tolerances(late_ms) if late_ms else None)

    def do(self, given: Input, *answers: Response, elapsed_ms: int = 0) -> None:
        allowed = self.oracle.predict(given)
        self.oracle.accept(given, allowed, Observation(answers, elapsed_ms=elapsed_ms))

    def follow(self, given: Input) -> None:
        allowed = self.oracle.predict(given)
        real = tuple(Response(r.request_id, _real(r.body)) for r in allowed[0].responses)
        self.oracle.accept(given, allowed, Observation(real))

    def three_members(self) -> None:
        for first in (1, 3, 5):
            self.follow(_join(first))
            self.follow(_join(first + 1, f"#{first}"))
        self.follow(Advance(DELAY_MS))
        self.follow(Advance(DELAY_MS))


def _real(body: ResponseBody) -> ResponseBody:
    if not isinstance(body, kafka.JoinGroupResponse):
        return body
    members = tuple(m._replace(member_id=m.member_id.replace("#", "real-")) for m in body.members)
    return body._replace(
        leader=body.leader.replace("#", "real-"),
        member_id=body.member_id.replace("#", "real-"),
        members=members[::-1],
    )


def _ok(request_id: int) -> Response:
    return Response(request_id, kafka.HeartbeatResponse(ErrorCode.NONE))


def test_any_member_order_and_any_member_ids_are_accepted() -> None:
    script = Script()
    script.three_members()
    (state,) = script.oracle.states
    assert state.group is not None
    assert state.group.generation_id == 1
    assert set(script.oracle.names.values()) == {"#1", "#3", "#5"}


def test_any_member_can_be_leader_after_the_leader_left_until_a_response_reveals_it() -> None:
    script = Script()
    script.three_members()
    script.follow(_leave(7, "#1"))
    assert {s.group and s.group.leader for s in script.oracle.states} == {"#3", "#5"}


def test_response_that_differs_in_one_field_is_rejected_with_the_allowed_one() -> None:
    script = Script()
    script.three_members()
    with pytest.raises(DivergedError) as diverged:
        script.do(_heartbeat(7, 0, "#1"), _ok(7))
    (difference,) = diverged.value.rejection.differences
    assert difference.kind == "another answer"
    assert difference.allowed == kafka.HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)
    assert difference.seen == kafka.HeartbeatResponse(ErrorCode.NONE)
    assert diverged.value.rejection.outcomes[0].applied == ("heartbeat/other-generation",)


def test_missing_response_is_rejected() -> None:
    script = Script()
    with pytest.raises(DivergedError) as diverged:
        script.do(_heartbeat(1, 0, "m"))
    assert diverged.value.rejection.differences[0].kind == "no answer"


def test_response_to_a_request_that_has_to_wait_is_rejected() -> None:
    script = Script()
    script.follow(_join(1))
    answer = Response(2, kafka.JoinGroupResponse(ErrorCode.NONE, 1))
    with pytest.raises(DivergedError) as diverged:
        script.do(_join(2, "#1"), answer)
    assert diverged.value.rejection.differences[0].kind == "answered too early"


def test_two_responses_to_one_request_are_rejected() -> None:
    script = Script()
    refused = Response(1, kafka.HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    with pytest.raises(DivergedError) as diverged:
        script.do(_heartbeat(1, 0, "m"), refused, refused)
    assert diverged.value.rejection.differences[0].kind == "answered twice"


def test_new_member_with_a_known_id_is_rejected() -> None:
    script = Script()
    same = kafka.JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id="twin")
    script.do(_join(1), Response(1, same))
    with pytest.raises(DivergedError):
        script.do(_join(2), Response(2, same))


def test_member_id_required_without_an_id_is_rejected() -> None:
    with pytest.raises(DivergedError):
        Script().do(_join(1), Response(1, kafka.JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED)))


def _admitted(request_id: int) -> Response:
    listed = (kafka.JoinGroupResponseMember("real-1", None, b"r"),)
    body = kafka.JoinGroupResponse(
        ErrorCode.NONE, 1, "consumer", "range", "real-1", "real-1", listed
    )
    return Response(request_id, body)


def _waiting_for_the_delay(script: Script) -> None:
    script.follow(_join(1))
    script.do(_join(2, "#1"), elapsed_ms=10)


@pytest.mark.parametrize("elapsed_ms", [DELAY_MS, DELAY_MS + 400])
def test_timer_on_a_real_clock_can_fire_on_time_or_slightly_late(elapsed_ms: int) -> None:
    for answers in ((), (_admitted(2),)):
        script = Script(late_ms=500)
        _waiting_for_the_delay(script)
        script.do(Advance(elapsed_ms), *answers, elapsed_ms=elapsed_ms)


@pytest.mark.parametrize(
    ("elapsed_ms", "answers"),
    [(DELAY_MS - 500, lambda: (_admitted(2),)), (DELAY_MS + 600, tuple)],
    ids=["early", "too late"],
)
def test_timer_on_a_real_clock_that_is_early_or_too_late_is_rejected(
    elapsed_ms: int, answers: Callable[[], tuple[Response, ...]]
) -> None:
    script = Script(late_ms=500)
    _waiting_for_the_delay(script)
    with pytest.raises(DivergedError):
        script.do(Advance(elapsed_ms), *answers(), elapsed_ms=elapsed_ms)


def _beaten(request_id: int, error: ErrorCode) -> Response:
    return Response(request_id, kafka.HeartbeatResponse(error))


def _almost_over(script: Script, left_ms: int = 100) -> None:
    _waiting_for_the_delay(script)
    script.do(Advance(0), elapsed_ms=DELAY_MS - 10 - left_ms)


@pytest.mark.parametrize("elapsed_ms", [60, 200, 450, 2_000])
@pytest.mark.parametrize(
    "error",
    [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION],
    ids=["after the request", "before the request"],
)
def test_timer_due_around_a_request_can_fire_before_or_after_it(
    error: ErrorCode, elapsed_ms: int
) -> None:
    script = Script(late_ms=500)
    _almost_over(script)
    script.do(_heartbeat(3, 0, "#1"), _admitted(2), _beaten(3, error), elapsed_ms=elapsed_ms)
    assert {s.group and s.group.generation_id for s in script.oracle.states} == {1}


def test_overdue_timer_can_fire_before_a_request_that_took_no_time() -> None:
    script = Script(late_ms=500)
    _almost_over(script)
    script.do(Advance(0), elapsed_ms=200)
    script.do(_heartbeat(3, 0, "#1"), _admitted(2), _beaten(3, ErrorCode.ILLEGAL_GENERATION))


@pytest.mark.parametrize(
    ("left_ms", "answers"),
    [
        (100, (_admitted(2), _beaten(3, ErrorCode.NONE))),
        (100, (_beaten(3, ErrorCode.ILLEGAL_GENERATION),)),
        (400, (_admitted(2), _beaten(3, ErrorCode.ILLEGAL_GENERATION))),
    ],
    ids=["as after neither", "as after a timer that did not fire", "as after one not due yet"],
)
def test_response_that_is_wrong_before_and_after_the_timer_is_rejected(
    left_ms: int, answers: tuple[Response, ...]
) -> None:
    script = Script(late_ms=500)
    _almost_over(script, left_ms)
    with pytest.raises(DivergedError):
        script.do(_heartbeat(3, 0, "#1"), *answers, elapsed_ms=200)


NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [(NONE, NONE, True), (UNKNOWN, NONE, True), (UNKNOWN, UNKNOWN, True), (NONE, UNKNOWN, False)],
)
def test_none_the_first_or_both_of_two_timers_due_around_a_request_can_fire_before_it(
    first: ErrorCode, second: ErrorCode, *, allowed: bool
) -> None:
    script = Script(late_ms=500)
    _almost_over(script)
    script.do(
        _join(3), Response(3, kafka.JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member_id="b"))
    )
    script.do(Advance(0), _admitted(2), elapsed_ms=100)
    script.do(Advance(0), elapsed_ms=29_850)  # the id of 3 ends in 50 ms, the session of 1 in 150
    request = Request(4, 4, leave("#3", "#1"))
    left = (kafka.MemberResponse("b", None, first), kafka.MemberResponse("real-1", None, second))
    answer = Response(4, kafka.LeaveGroupResponse(ErrorCode.NONE, left))
    if allowed:
        script.do(request, answer, elapsed_ms=300)
        return
    with pytest.raises(DivergedError):
        script.do(request, answer, elapsed_ms=300)


@pytest.mark.parametrize(("after_ms", "allowed"), [(2_950, True), (3_450, False)])
def test_timer_set_by_a_slow_request_can_start_at_any_time_during_the_request(
    after_ms: int, *, allowed: bool
) -> None:
    script = Script(late_ms=500)
    script.follow(_join(1))
    script.do(_join(2, "#1"), elapsed_ms=600)
    if allowed:
        script.do(Advance(0), elapsed_ms=after_ms)
        return
    with pytest.raises(DivergedError):
        script.do(Advance(0), elapsed_ms=after_ms)
