"""Corners of Kafka's rules that no model instance reaches."""

from __future__ import annotations

from groupcheck.model.instances.inputs import commit
from groupcheck.model.profiles import PROFILES
from groupcheck.model.vocabulary import ErrorCode, GroupState
from support.scenario import DELAY, Broker, join, partition_error

PROFILE = PROFILES["2.7"]


def _error(metadata: str) -> ErrorCode:
    return partition_error(Broker(PROFILE).do(commit(-1, "", metadata)))


def test_metadata_length_is_measured_in_utf_16_units() -> None:
    assert _error("𝄞" * 2048) is ErrorCode.NONE
    assert _error("𝄞" * 2048 + "x") is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert _error("é" * 4096) is ErrorCode.NONE
    assert _error("\ud800" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_a_negative_rebalance_timeout_counts_as_zero() -> None:
    hasty = join(rebalance_timeout_ms=-5)
    broker = Broker(PROFILE)
    broker.do(hasty, DELAY, hasty)
    # The first member had no time to rejoin, so the second is alone.
    assert broker.group.state is GroupState.COMPLETING_REBALANCE
    assert [member.member_id for member in broker.group.members] == ["#2"]
