"""The offsets and groups that a cleanup removes, and when, in each version."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.inputs import SUBSCRIBED_PROTOCOLS, TOPIC, TOPIC_PROTOCOLS
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Cleanup, Crash, FailAppends, HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import ErrorCode
from support.marked_tests import differ
from support.requests import commit_of
from support.scenario import Broker

RETENTION_MS = 60_000
PARTITION = (TOPIC, 0)
SESSION_MS = 300_000  # longer than the retention

OLD, NEW = ("0.10.0", "0.10.2"), ("2.7", "4.1")
LONG_MINUTES = 36_500 * 24 * 60  # more seconds than an int can count
of_all = pytest.mark.parametrize("profile", PROFILES)
of_dated = pytest.mark.parametrize("profile", [*OLD, "2.7"])  # 4.1 has no OffsetCommit version 1
of_new = pytest.mark.parametrize("profile", NEW)


def begin(profile: str) -> Broker:
    """A broker that retains offsets for a minute."""
    return Broker(EVERY_PROFILE[profile], offsets_retention_minutes=1)


def commit(broker: Broker, member_id: str = "", generation_id: int = -1) -> None:
    assert broker.commit(member_id, generation_id, {PARTITION: 42}) is ErrorCode.NONE


def refuse(broker: Broker) -> None:
    """A commit of the partition with metadata that is too long."""
    error = broker.commit(offsets={PARTITION: (43, -1, "x" * 5_000)})
    assert error is ErrorCode.OFFSET_METADATA_TOO_LARGE


def commit_for(broker: Broker, retention_ms: int) -> None:
    """A commit with the retention of its offset."""
    broker.send(commit_of({PARTITION: 42}, retention_time_ms=retention_ms), 2)


def commit_before(
    broker: Broker, age_ms: int, member_id: str = "", generation_id: int = -1
) -> None:
    """A commit that says that it was made so long ago."""
    offsets = {PARTITION: (42, -1, "", age_ms)}
    broker.send(commit_of(offsets, member_id, generation_id), 1)


def survives(broker: Broker) -> bool:
    """Whether the offset can be read after a cleanup."""
    broker.do(Cleanup())
    return broker.readable(PARTITION) == 42


def survives_until(broker: Broker, ms: int) -> None:
    """The offset survives a cleanup before that time, and none at that time."""
    broker.wait(ms - 1)
    assert survives(broker)
    broker.wait(1)
    assert not survives(broker)


def consumer(broker: Broker, *, subscribed: bool = True) -> str:
    """A stable member that has subscribed to the topic, or to another, and commits."""
    protocols = TOPIC_PROTOCOLS if subscribed else SUBSCRIBED_PROTOCOLS
    member_id = broker.stable_member(protocols=protocols, session_ms=SESSION_MS).member_id
    commit(broker, member_id, 1)
    return member_id


@of_all
def test_an_offset_expires_at_the_end_of_its_retention_and_before_2_7_after_it(
    profile: str,
) -> None:
    broker = begin(profile)
    commit(broker)
    survives_until(broker, RETENTION_MS + (profile in OLD))


@of_all
def test_a_commit_sets_the_retention_of_its_offset(profile: str) -> None:
    broker = begin(profile)
    commit_for(broker, 2 * RETENTION_MS)
    survives_until(broker, 2 * RETENTION_MS + (profile in OLD))
    commit_for(broker, 10)
    broker.wait(11)
    assert not survives(broker)
    commit_for(broker, -7)
    assert not survives(broker)


@of_dated
@pytest.mark.parametrize("age_ms", [20_000, RETENTION_MS - 1, -20_000])
def test_the_retention_starts_at_the_time_that_the_commit_says(profile: str, age_ms: int) -> None:
    broker = begin(profile)
    commit_before(broker, age_ms)
    survives_until(broker, RETENTION_MS - age_ms + (profile in OLD))


@of_dated
def test_an_offset_expires_at_once_if_it_was_committed_a_retention_ago(profile: str) -> None:
    broker = begin(profile)
    commit_before(broker, RETENTION_MS)
    if profile in OLD:
        survives_until(broker, 1)
    else:
        assert not survives(broker)
    commit_before(broker, 2**42)  # at a negative time
    assert not survives(broker)


@of_dated
def test_the_time_of_the_last_commit_of_a_partition_counts(profile: str) -> None:
    broker = begin(profile)
    commit_before(broker, 20_000)
    commit(broker)
    survives_until(broker, RETENTION_MS + (profile in OLD))
    broker.send(commit_of([(PARTITION, (41, -1, "", 30_000)), (PARTITION, (42, -1, "", 9))]), 1)
    survives_until(broker, RETENTION_MS - 9 + (profile in OLD))


@of_dated
def test_the_time_of_a_commit_counts_while_the_group_has_members(profile: str) -> None:
    broker = begin(profile)
    member_id = consumer(broker, subscribed=False)
    commit_before(broker, 20_000, member_id, 1)
    survives_until(broker, RETENTION_MS - 20_000 + (profile in OLD))


@of_dated
def test_the_time_of_a_commit_does_not_count_in_2_7_once_the_last_member_has_left(
    profile: str,
) -> None:
    broker = begin(profile)
    member_id = consumer(broker)
    commit_before(broker, 2 * RETENTION_MS, member_id, 1)
    broker.leave(member_id)
    if profile in OLD:
        assert not survives(broker)
    else:
        survives_until(broker, RETENTION_MS)


@of_dated
def test_the_time_of_a_commit_is_in_the_log(profile: str) -> None:
    broker = begin(profile)
    commit_before(broker, 20_000)
    broker.do(Crash())
    survives_until(broker, RETENTION_MS - 20_000 + (profile in OLD))


@differ("metadata too long")
@of_all
def test_a_refused_commit_keeps_its_partition_and_the_group_from_expiring_only_in_0_10_2(
    profile: str,
) -> None:
    broker = begin(profile)
    commit(broker)
    refuse(broker)
    broker.wait(2 * RETENTION_MS)
    assert survives(broker) == (profile == "0.10.2")
    broker = begin(profile)
    refuse(broker)
    broker.do(Cleanup())
    assert broker.exists == (profile in OLD)  # in 0.10.0 no cleanup looks at groups


def test_an_offset_expires_after_a_refused_commit_once_a_later_one_is_stored() -> None:
    broker = begin("0.10.2")
    broker.do(HoldAppends())
    held = broker.send(commit_of({PARTITION: 42}), 2)
    refuse(broker)
    broker.do(ReleaseAppends())
    assert held.answered
    broker.wait(2 * RETENTION_MS)
    assert survives(broker)
    commit(broker)
    survives_until(broker, RETENTION_MS + 1)


@pytest.mark.parametrize(("profile", "kept"), [("0.10.0", False), ("0.10.2", True), ("2.7", True)])
def test_a_retention_of_more_seconds_than_an_int_can_count_is_none_in_0_10_0(
    profile: str, *, kept: bool
) -> None:
    broker = Broker(PROFILES[profile], offsets_retention_minutes=LONG_MINUTES)
    commit(broker)
    broker.wait(RETENTION_MS)
    assert survives(broker) == kept


def test_a_negative_retention_of_0_10_0_is_added_to_the_time_that_a_commit_says() -> None:
    broker = Broker(PROFILES["0.10.0"], offsets_retention_minutes=LONG_MINUTES)
    retention_s = LONG_MINUTES * 60 - 2**32
    commit_before(broker, retention_s * 1_000 - 10)
    survives_until(broker, 11)


@of_all
@pytest.mark.parametrize("subscribed", [True, False])
def test_only_unsubscribed_offsets_of_a_stable_group_expire_from_2_7_on(
    profile: str, *, subscribed: bool
) -> None:
    broker = begin(profile)
    consumer(broker, subscribed=subscribed)
    broker.wait(RETENTION_MS - 1)
    assert survives(broker)
    broker.wait(1 + (profile in OLD))
    assert survives(broker) == (subscribed and profile in NEW)


@of_new
@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_offsets_do_not_expire_while_the_subscriptions_are_unknown(
    profile: str, protocol_type: str
) -> None:
    broker = begin(profile)
    member = broker.stable_member(protocol_type=protocol_type, session_ms=SESSION_MS)
    commit(broker, member.member_id, 1)
    broker.wait(RETENTION_MS)
    assert survives(broker)


@differ("offset expiry")
@pytest.mark.parametrize(
    ("profile", "kept"),
    [("2.5", False), ("2.7", False), ("2.8", True), ("3.2", True), ("3.9", True), ("4.1", True)],
)
def test_offsets_expire_during_a_rebalance_only_until_2_7(profile: str, *, kept: bool) -> None:
    broker = begin(profile)
    consumer(broker, subscribed=False)
    broker.wait(RETENTION_MS)
    broker.join(session_ms=SESSION_MS, protocols=TOPIC_PROTOCOLS)
    assert broker.state == "PreparingRebalance"
    assert survives(broker) == kept


@pytest.mark.parametrize(("profile", "starts"), [("0.10.2", False), ("2.7", True), ("4.1", True)])
def test_the_retention_starts_when_the_last_member_leaves_from_2_7_on(
    profile: str, *, starts: bool
) -> None:
    broker = begin(profile)
    member_id = consumer(broker)
    broker.wait(RETENTION_MS)
    broker.leave(member_id)
    if starts:
        survives_until(broker, RETENTION_MS)
    else:
        survives_until(broker, 1)


@pytest.mark.parametrize("profile", ["0.10.2", *NEW])
def test_a_group_without_members_is_removed_with_its_last_offset(profile: str) -> None:
    broker = begin(profile)
    commit(broker)
    broker.do(Cleanup())
    assert broker.exists
    broker.wait(RETENTION_MS + 1)
    broker.do(Cleanup())
    assert not broker.exists


@pytest.mark.parametrize(("profile", "kept"), [("0.10.0", False), ("0.10.2", True), ("2.7", True)])
def test_an_offset_expires_while_a_commit_of_its_partition_is_held_only_in_0_10_0(
    profile: str, *, kept: bool
) -> None:
    broker = begin(profile)
    commit(broker)
    broker.wait(RETENTION_MS + 1)
    broker.do(HoldAppends())
    broker.send(commit_of({PARTITION: 43}), 8)
    broker.do(Cleanup())
    assert bool(broker.group.offsets) == kept
    broker.do(ReleaseAppends())
    assert broker.readable(PARTITION) == 43


@differ("tombstone of an empty group")
@pytest.mark.parametrize(("profile", "failures"), [("2.7", 1), ("4.1", 0)])
def test_a_group_that_was_never_recorded_is_removed_from_the_log_only_in_4_1(
    profile: str, failures: int
) -> None:
    broker = begin(profile)
    broker.join(id_required=True)
    broker.do(FailAppends(1, ErrorCode.REQUEST_TIMED_OUT))
    broker.do(Cleanup())
    left = broker.agreed(lambda branch: branch.coordinator.failing)
    assert (left.number if left else 0) == failures
