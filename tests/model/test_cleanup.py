"""What a cleanup removes, when, and how the versions differ in it."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.inputs import (
    GROUP_ID,
    SUBSCRIBED_PROTOCOLS,
    TOPIC,
    TOPIC_PROTOCOLS,
)
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import (
    Cleanup,
    FailAppends,
    HoldAppends,
    ReleaseAppends,
)
from groupcheck.model.step import Profile
from groupcheck.model.vocabulary import (
    ErrorCode,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from support.differences import differ
from support.play import Play

RETENTION_MS = 60_000
PARTITION = (TOPIC, 0)
SESSION_MS = 300_000  # longer than the retention

ALL = tuple(PROFILES.values())
OLD = tuple(PROFILES[name] for name in ("0.10.0", "0.10.2"))
NEW = tuple(PROFILES[name] for name in ("2.7", "4.1"))
WITH_EMPTY_GROUPS = tuple(PROFILES[name] for name in ("0.10.2", "2.7", "4.1"))
TRANSACTIONAL = [profile for profile in NEW if "TxnOffsetCommit" in profile.max_versions]


def named(profile: Profile) -> str:
    return profile.name


of_all = pytest.mark.parametrize("profile", ALL, ids=named)
of_old = pytest.mark.parametrize("profile", OLD, ids=named)
of_new = pytest.mark.parametrize("profile", NEW, ids=named)
with_empty_groups = pytest.mark.parametrize("profile", WITH_EMPTY_GROUPS, ids=named)
transactional = pytest.mark.parametrize("profile", TRANSACTIONAL, ids=named)


def begin(profile: Profile) -> Play:
    """A broker that retains offsets for a minute."""
    return Play(profile, offsets_retention_minutes=1)


def commit(play: Play, member_id: str = "", generation_id: int = -1) -> None:
    assert play.commit(member_id, generation_id, {PARTITION: 42}) is ErrorCode.NONE


def commit_for(play: Play, retention_ms: int) -> None:
    """A commit that says how long its offset is to be retained."""
    topics = (OffsetCommitRequestTopic(TOPIC, (OffsetCommitRequestPartition(0, 42),)),)
    body = OffsetCommitRequest(GROUP_ID, topics=topics, retention_time_ms=retention_ms)
    assert not isinstance(play.send(2, body).answer, ErrorCode)


def survives(play: Play) -> bool:
    """Whether the offset can be read after a cleanup."""
    play.do(Cleanup())
    return play.fetch(PARTITION)[PARTITION].committed_offset == 42


def consumer(play: Play, *, subscribed: bool) -> str:
    """A stable member that has subscribed to the topic, or to another."""
    protocols = TOPIC_PROTOCOLS if subscribed else SUBSCRIBED_PROTOCOLS
    member = play.stable_member(protocols=protocols, session_ms=SESSION_MS)
    return member.member_id


@of_new
def test_an_offset_expires_when_the_retention_since_its_commit_is_over(profile: Profile) -> None:
    play = begin(profile)
    commit(play)
    play.wait(RETENTION_MS - 1)
    assert survives(play)
    play.wait(1)
    assert not survives(play)


@of_old
def test_of_old_the_retention_has_to_be_past(profile: Profile) -> None:
    play = begin(profile)
    commit(play)
    play.wait(RETENTION_MS)
    assert survives(play)
    play.wait(1)
    assert not survives(play)


@of_all
def test_a_commit_may_say_how_long_its_offset_is_retained(profile: Profile) -> None:
    play = begin(profile)
    commit_for(play, 2 * RETENTION_MS)
    play.wait(2 * RETENTION_MS - 1)
    assert survives(play)
    play.wait(2)
    assert not survives(play)
    commit_for(play, 10)
    play.wait(11)
    assert not survives(play)


@of_all
def test_a_retention_below_zero_is_over_at_once(profile: Profile) -> None:
    play = begin(profile)
    commit_for(play, -7)
    assert not survives(play)


@pytest.mark.parametrize(("name", "kept"), [("0.10.0", False), ("0.10.2", True), ("2.7", True)])
def test_a_retention_of_more_seconds_than_an_int_can_count_is_none_in_0_10_0(
    name: str, *, kept: bool
) -> None:
    play = Play(PROFILES[name], offsets_retention_minutes=36_500 * 24 * 60)
    commit(play)
    play.wait(RETENTION_MS)
    assert survives(play) == kept


@of_old
def test_of_old_an_offset_expires_though_its_consumer_is_there(profile: Profile) -> None:
    play = begin(profile)
    commit(play, consumer(play, subscribed=True), 1)
    play.wait(RETENTION_MS + 1)
    assert not survives(play)


@of_new
@pytest.mark.parametrize("subscribed", [True, False])
def test_only_unsubscribed_offsets_of_a_stable_group_expire(
    profile: Profile, *, subscribed: bool
) -> None:
    play = begin(profile)
    commit(play, consumer(play, subscribed=subscribed), 1)
    play.wait(RETENTION_MS - 1)
    assert survives(play)
    play.wait(1)
    assert survives(play) == subscribed


@of_new
def test_where_subscriptions_cannot_be_read_or_are_no_consumers_nothing_expires(
    profile: Profile,
) -> None:
    for kind in ("consumer", "connect"):
        play = begin(profile)
        member = play.stable_member(protocol_type=kind, session_ms=SESSION_MS)
        commit(play, member.member_id, 1)
        play.wait(RETENTION_MS)
        assert survives(play)


@differ("offset expiry")
@pytest.mark.parametrize(("name", "kept"), [("2.7", False), ("4.1", True)])
def test_2_7_lets_offsets_expire_while_a_group_rebalances(name: str, *, kept: bool) -> None:
    play = begin(PROFILES[name])
    commit(play, consumer(play, subscribed=False), 1)
    play.wait(RETENTION_MS)
    play.join(session_ms=SESSION_MS, protocols=TOPIC_PROTOCOLS)
    assert play.state == "PreparingRebalance"
    assert survives(play) == kept


@of_new
def test_the_retention_begins_when_the_last_member_goes(profile: Profile) -> None:
    play = begin(profile)
    member_id = consumer(play, subscribed=True)
    commit(play, member_id, 1)
    play.wait(RETENTION_MS)
    play.leave(member_id)
    play.wait(RETENTION_MS - 1)
    assert survives(play)
    play.wait(1)
    assert not survives(play)


def test_0_10_2_lets_each_offset_of_an_empty_group_expire_by_itself() -> None:
    play = begin(PROFILES["0.10.2"])
    member_id = consumer(play, subscribed=True)
    commit(play, member_id, 1)
    play.wait(RETENTION_MS)
    play.leave(member_id)
    play.wait(1)
    assert not survives(play)


@with_empty_groups
def test_a_group_without_members_goes_with_its_last_offset(profile: Profile) -> None:
    play = begin(profile)
    commit(play)
    play.do(Cleanup())
    assert play.exists
    play.wait(RETENTION_MS + 1)
    play.do(Cleanup())
    assert not play.exists


@pytest.mark.parametrize(("name", "kept"), [("0.10.0", False), ("0.10.2", True), ("2.7", True)])
def test_pending_partition_does_not_expire_except_in_0_10_0(name: str, *, kept: bool) -> None:
    play = begin(PROFILES[name])
    commit(play)
    play.wait(RETENTION_MS + 1)
    play.do(HoldAppends())
    topics = (OffsetCommitRequestTopic(TOPIC, (OffsetCommitRequestPartition(0, 43),)),)
    play.send(8, OffsetCommitRequest(GROUP_ID, topics=topics))
    play.do(Cleanup())
    assert bool(play.group.offsets) == kept
    play.do(ReleaseAppends())
    assert play.fetch(PARTITION)[PARTITION].committed_offset == 43


@differ("tombstone of an empty group")
def test_only_in_4_1_is_a_group_that_was_never_recorded_removed_from_the_log() -> None:
    for name, failures in (("2.7", 1), ("4.1", 0)):
        play = begin(PROFILES[name])
        play.join(id_required=True)
        play.do(FailAppends(1, ErrorCode.REQUEST_TIMED_OUT))
        play.do(Cleanup())
        left = play.agreed(lambda world: world.coordinator.failing)
        assert (left.number if left else 0) == failures
