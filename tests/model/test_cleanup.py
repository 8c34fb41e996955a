"""What a cleanup removes, and when, in each version."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import (
    GROUP_ID,
    SUBSCRIBED_PROTOCOLS,
    TOPIC,
    TOPIC_PROTOCOLS,
)
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Cleanup, FailAppends, HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from support.marked_tests import differ
from support.offsets import readable
from support.play import Play

RETENTION_MS = 60_000
PARTITION = (TOPIC, 0)
SESSION_MS = 300_000  # longer than the retention

OLD, NEW = ("0.10.0", "0.10.2"), ("2.7", "4.1")
of_all = pytest.mark.parametrize("profile", PROFILES)
of_new = pytest.mark.parametrize("profile", NEW)


def begin(profile: str) -> Play:
    """A broker that retains offsets for a minute."""
    return Play(PROFILES[profile], offsets_retention_minutes=1)


def commit(play: Play, member_id: str = "", generation_id: int = -1) -> None:
    assert play.commit(member_id, generation_id, {PARTITION: 42}) is ErrorCode.NONE


def request(offset: int, retention_ms: int = -1) -> OffsetCommitRequest:
    topics = (OffsetCommitRequestTopic(TOPIC, (OffsetCommitRequestPartition(0, offset),)),)
    return OffsetCommitRequest(GROUP_ID, topics=topics, retention_time_ms=retention_ms)


def refuse(play: Play) -> None:
    """A commit of the partition with metadata that is too long."""
    partition = OffsetCommitRequestPartition(0, 43, committed_metadata="x" * 5_000)
    topics = (OffsetCommitRequestTopic(TOPIC, (partition,)),)
    answer = play.send(2, OffsetCommitRequest(GROUP_ID, topics=topics)).answer
    assert answer.topics[0].partitions[0].error_code is ErrorCode.OFFSET_METADATA_TOO_LARGE


def commit_for(play: Play, retention_ms: int) -> None:
    """A commit with the retention of its offset."""
    assert not isinstance(play.send(2, request(42, retention_ms)).answer, ErrorCode)


def survives(play: Play) -> bool:
    """Whether the offset can be read after a cleanup."""
    play.do(Cleanup())
    return readable(play, PARTITION) == 42


def survives_until(play: Play, ms: int) -> None:
    """The offset survives a cleanup before that time, and none at that time."""
    play.wait(ms - 1)
    assert survives(play)
    play.wait(1)
    assert not survives(play)


def consumer(play: Play, *, subscribed: bool = True) -> str:
    """A stable member that has subscribed to the topic, or to another, and commits."""
    protocols = TOPIC_PROTOCOLS if subscribed else SUBSCRIBED_PROTOCOLS
    member_id = play.stable_member(protocols=protocols, session_ms=SESSION_MS).member_id
    commit(play, member_id, 1)
    return member_id


@of_all
def test_an_offset_expires_at_the_end_of_its_retention_and_before_2_7_after_it(
    profile: str,
) -> None:
    play = begin(profile)
    commit(play)
    survives_until(play, RETENTION_MS + (profile in OLD))


@of_all
def test_a_commit_sets_the_retention_of_its_offset(profile: str) -> None:
    play = begin(profile)
    commit_for(play, 2 * RETENTION_MS)
    survives_until(play, 2 * RETENTION_MS + (profile in OLD))
    commit_for(play, 10)
    play.wait(11)
    assert not survives(play)
    commit_for(play, -7)
    assert not survives(play)


@differ("metadata too long")
@of_all
def test_a_refused_commit_keeps_its_partition_and_the_group_from_expiring_only_in_0_10_2(
    profile: str,
) -> None:
    play = begin(profile)
    commit(play)
    refuse(play)
    play.wait(2 * RETENTION_MS)
    assert survives(play) == (profile == "0.10.2")
    play = begin(profile)
    refuse(play)
    play.do(Cleanup())
    assert play.exists == (profile in OLD)  # in 0.10.0 no cleanup looks at groups


def test_an_offset_expires_after_a_refused_commit_once_a_later_one_is_stored() -> None:
    play = begin("0.10.2")
    play.do(HoldAppends())
    held = play.send(2, request(42))
    refuse(play)
    play.do(ReleaseAppends())
    assert held.answered
    play.wait(2 * RETENTION_MS)
    assert survives(play)
    commit(play)
    survives_until(play, RETENTION_MS + 1)


@pytest.mark.parametrize(("profile", "kept"), [("0.10.0", False), ("0.10.2", True), ("2.7", True)])
def test_a_retention_of_more_seconds_than_an_int_can_count_is_none_in_0_10_0(
    profile: str, *, kept: bool
) -> None:
    play = Play(PROFILES[profile], offsets_retention_minutes=36_500 * 24 * 60)
    commit(play)
    play.wait(RETENTION_MS)
    assert survives(play) == kept


@of_all
@pytest.mark.parametrize("subscribed", [True, False])
def test_only_unsubscribed_offsets_of_a_stable_group_expire_from_2_7_on(
    profile: str, *, subscribed: bool
) -> None:
    play = begin(profile)
    consumer(play, subscribed=subscribed)
    play.wait(RETENTION_MS - 1)
    assert survives(play)
    play.wait(1 + (profile in OLD))
    assert survives(play) == (subscribed and profile in NEW)


@of_new
@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_offsets_do_not_expire_while_the_subscriptions_are_unknown(
    profile: str, protocol_type: str
) -> None:
    play = begin(profile)
    member = play.stable_member(protocol_type=protocol_type, session_ms=SESSION_MS)
    commit(play, member.member_id, 1)
    play.wait(RETENTION_MS)
    assert survives(play)


@differ("offset expiry")
@pytest.mark.parametrize(("profile", "kept"), [("2.7", False), ("4.1", True)])
def test_offsets_expire_during_a_rebalance_only_in_2_7(profile: str, *, kept: bool) -> None:
    play = begin(profile)
    consumer(play, subscribed=False)
    play.wait(RETENTION_MS)
    play.join(session_ms=SESSION_MS, protocols=TOPIC_PROTOCOLS)
    assert play.state == "PreparingRebalance"
    assert survives(play) == kept


@pytest.mark.parametrize(("profile", "starts"), [("0.10.2", False), ("2.7", True), ("4.1", True)])
def test_the_retention_starts_when_the_last_member_leaves_from_2_7_on(
    profile: str, *, starts: bool
) -> None:
    play = begin(profile)
    member_id = consumer(play)
    play.wait(RETENTION_MS)
    play.leave(member_id)
    if starts:
        survives_until(play, RETENTION_MS)
    else:
        survives_until(play, 1)


@pytest.mark.parametrize("profile", ["0.10.2", *NEW])
def test_a_group_without_members_is_removed_with_its_last_offset(profile: str) -> None:
    play = begin(profile)
    commit(play)
    play.do(Cleanup())
    assert play.exists
    play.wait(RETENTION_MS + 1)
    play.do(Cleanup())
    assert not play.exists


@pytest.mark.parametrize(("profile", "kept"), [("0.10.0", False), ("0.10.2", True), ("2.7", True)])
def test_an_offset_expires_while_a_commit_of_its_partition_is_held_only_in_0_10_0(
    profile: str, *, kept: bool
) -> None:
    play = begin(profile)
    commit(play)
    play.wait(RETENTION_MS + 1)
    play.do(HoldAppends())
    play.send(8, request(43))
    play.do(Cleanup())
    assert bool(play.group.offsets) == kept
    play.do(ReleaseAppends())
    assert readable(play, PARTITION) == 43


@differ("tombstone of an empty group")
@pytest.mark.parametrize(("profile", "failures"), [("2.7", 1), ("4.1", 0)])
def test_a_group_that_was_never_recorded_is_removed_from_the_log_only_in_4_1(
    profile: str, failures: int
) -> None:
    play = begin(profile)
    play.join(id_required=True)
    play.do(FailAppends(1, ErrorCode.REQUEST_TIMED_OUT))
    play.do(Cleanup())
    left = play.agreed(lambda world: world.coordinator.failing)
    assert (left.number if left else 0) == failures
