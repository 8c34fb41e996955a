"""Corners of Kafka's rules that no explored space goes to."""

from __future__ import annotations

from typing import cast

from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import GROUP_ID, PROTOCOLS, commit
from groupcheck.model.state import Advance, Coordinator
from groupcheck.model.transition import Input, successors
from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupRequest,
    OffsetCommitResponse,
    Request,
    Response,
)

PROFILE = PROFILES["2.7"]


def _after(*inputs: Input) -> tuple[Coordinator, tuple[Response, ...]]:
    state = Coordinator()
    responses: tuple[Response, ...] = ()
    for given in inputs:
        (outcome,) = successors(state, given, PROFILE, PROFILE.config)
        state, responses = outcome.coordinator, outcome.responses
    return state, responses


def _error(metadata: str) -> ErrorCode:
    _, (response,) = _after(Request(1, 8, commit(-1, "", metadata)))
    body = cast("OffsetCommitResponse", response.body)
    return body.topics[0].partitions[0].error_code


def test_metadata_is_measured_in_utf_16_units_as_java_does() -> None:
    assert _error("𝄞" * 2048) is ErrorCode.NONE
    assert _error("𝄞" * 2048 + "x") is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert _error("é" * 4096) is ErrorCode.NONE
    assert _error("\ud800" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_a_rebalance_timeout_below_zero_counts_as_zero() -> None:
    join = JoinGroupRequest(GROUP_ID, 10_000, -5, "", protocols=PROTOCOLS)
    state, _ = _after(Request(1, 3, join), Advance(3_000), Request(2, 3, join))
    assert state.group is not None
    # The first member had no time at all to join again, so the second is alone.
    assert state.group.state is GroupState.COMPLETING_REBALANCE
    assert [member.member_id for member in state.group.members] == ["#2"]
