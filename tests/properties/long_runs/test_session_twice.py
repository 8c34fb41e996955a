"""Kafka 0.10 may start two timers for one session; which findings that explains."""

from __future__ import annotations

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import Advance
from groupcheck.model.vocabulary import (
    ErrorCode,
    Protocol,
    Request,
    RequestBody,
    Response,
    ResponseBody,
)
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.tolerances import Tolerances
from support.requests import heartbeat, sync
from support.session_twice import explains

OFFER = (Protocol("range", b""),)
AGAIN = kafka.SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)


def join(session_ms: int) -> kafka.JoinGroupRequest:
    return kafka.JoinGroupRequest(GROUP_ID, session_ms, 20_000, protocols=OFFER)


def joined(member_id: str, generation_id: int) -> kafka.JoinGroupResponse:
    listed = (kafka.JoinGroupResponseMember(member_id, None, b""),)
    error = ErrorCode.NONE
    return kafka.JoinGroupResponse(
        error, generation_id, None, "range", member_id, member_id, listed
    )


def asked(number: int, body: RequestBody, *answers: ResponseBody, elapsed_ms: int = 5) -> Exchange:
    version = 1 if isinstance(body, kafka.JoinGroupRequest) else 0
    responses = tuple(Response(number, answer) for answer in answers)
    return Exchange(Request(number, version, body), Observation(responses, elapsed_ms=elapsed_ms))


def finding(waited_ms: int, *between: Exchange) -> Finding:
    exchanges = (
        asked(1, join(1_500), joined("a", 1)),
        asked(2, sync("#1", 1), kafka.SyncGroupResponse(ErrorCode.NONE, assignment=b"part")),
        *between,
        asked(4, join(10_000)),
        Exchange(
            Advance(waited_ms), Observation((Response(4, joined("b", 2)),), elapsed_ms=waited_ms)
        ),
        asked(6, sync("#4", 2), AGAIN),
    )
    steps = tuple(exchange.given for exchange in exchanges)
    broker = {"group.min.session.timeout.ms": 100}
    return Finding(Sequence("0.10.2", broker, steps), exchanges, {"a": "#1", "b": "#4"})


def test_second_timer_of_an_expired_session_explains_an_unneeded_rebalance() -> None:
    assert explains(finding(1_600), Tolerances())


def test_second_timer_explains_nothing_when_no_session_has_expired() -> None:
    assert not explains(finding(300), Tolerances())


@pytest.mark.parametrize("answer", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID])
def test_second_timer_explains_no_other_answers(answer: ErrorCode) -> None:
    beat = asked(3, heartbeat("#1"), kafka.HeartbeatResponse(answer))
    assert explains(finding(1_600, beat), Tolerances()) == (answer is ErrorCode.NONE)
