"""Kafka's promises on sequences of a consumer; the specification is compared elsewhere."""

from __future__ import annotations

import random

import pytest

from groupcheck.implementation.client.membership import Membership
from groupcheck.model import client as kafka
from groupcheck.model.client import ClientEvent, ClientInput

NONE = kafka.NONE
VERSIONS = pytest.mark.parametrize("version", ["2.7", "4.1"])
OWNED = (0, 1)
LOST = "onPartitionsLost: partitions [0, 1]"


def answer(consumer: Membership, name: str, error: str = NONE, **fields: object) -> list[str]:
    return [str(event) for event in consumer.do(ClientInput(name, error, **fields))]  # type: ignore[arg-type]


def happens(consumer: Membership, name: str) -> list[str]:
    return [str(event) for event in consumer.do(ClientInput(name))]


def joined(
    version: str,
    *,
    cooperative: bool = False,
    static: bool = False,
    auto_commit: bool = False,
) -> Membership:
    """A consumer with two partitions, in generation 1."""
    consumer = Membership(version, cooperative=cooperative, static=static, auto_commit=auto_commit)
    assert happens(consumer, kafka.SUBSCRIBE) == ["FindCoordinator"]
    answer(consumer, "FindCoordinator")
    answer(consumer, "JoinGroup", "MEMBER_ID_REQUIRED", member_id="m")
    answer(consumer, "JoinGroup", member_id="m", generation=1, leader=True)
    done = answer(consumer, "SyncGroup", partitions=OWNED)
    assert done == ["onPartitionsAssigned: partitions [0, 1]"]
    assert (consumer.owned, consumer.state) == (OWNED, "STABLE")
    return consumer


def rebalances(consumer: Membership) -> list[str]:
    """A heartbeat is answered with REBALANCE_IN_PROGRESS."""
    happens(consumer, kafka.HEARTBEAT_INTERVAL)
    return answer(consumer, "Heartbeat", "REBALANCE_IN_PROGRESS")


@VERSIONS
def test_an_eager_consumer_revokes_all_before_it_joins_again(version: str) -> None:
    assert rebalances(joined(version)) == [
        "onPartitionsRevoked: partitions [0, 1]",
        "JoinGroup: member id 'm'",
    ]


@VERSIONS
def test_a_cooperative_consumer_keeps_its_partitions_until_it_has_a_new_assignment(
    version: str,
) -> None:
    consumer = joined(version, cooperative=True)
    assert rebalances(consumer) == ["JoinGroup: member id 'm', partitions [0, 1]"]
    answer(consumer, "JoinGroup", member_id="m", generation=2)
    assert answer(consumer, "SyncGroup", partitions=(1, 2)) == [
        "onPartitionsRevoked: partitions [0]",
        "onPartitionsAssigned: partitions [2]",
        "JoinGroup: member id 'm', partitions [1, 2]",
    ]


@VERSIONS
@pytest.mark.parametrize("call", [kafka.CLOSE, kafka.UNSUBSCRIBE])
def test_only_a_dynamic_member_sends_leave_group(version: str, call: str) -> None:
    revoked = "onPartitionsRevoked: partitions [0, 1]"
    assert happens(joined(version), call) == [revoked, "LeaveGroup: member id 'm'"]
    assert happens(joined(version, static=True), call) == [revoked]


@pytest.mark.parametrize(("version", "kept"), [("2.7", ""), ("4.1", "m")])
def test_an_illegal_generation_keeps_the_member_id_since_4_1(version: str, kept: str) -> None:
    consumer = joined(version)
    happens(consumer, kafka.HEARTBEAT_INTERVAL)
    assert answer(consumer, "Heartbeat", "ILLEGAL_GENERATION") == [
        "onPartitionsLost: partitions [0, 1]",
        f"JoinGroup: member id '{kept}'",
    ]


@VERSIONS
def test_a_member_that_does_not_poll_leaves_and_has_lost_its_partitions_when_it_polls(
    version: str,
) -> None:
    consumer = joined(version)
    assert happens(consumer, kafka.POLL_INTERVAL) == ["LeaveGroup: member id 'm'"]
    assert consumer.owned == OWNED
    assert happens(consumer, kafka.POLL) == [
        "onPartitionsLost: partitions [0, 1]",
        "JoinGroup: member id ''",
    ]


@VERSIONS
def test_a_fenced_asynchronous_commit_is_thrown_and_calls_no_callback(version: str) -> None:
    consumer = joined(version, static=True)
    happens(consumer, kafka.COMMIT)
    fenced = answer(consumer, "OffsetCommit", "FENCED_INSTANCE_ID")
    assert fenced == ["poll raises an error: fatal"]
    with pytest.raises(ValueError, match="fatal error"):
        happens(consumer, kafka.COMMIT)


@VERSIONS
def test_a_synchronous_commit_is_sent_again_to_the_next_coordinator(version: str) -> None:
    consumer = joined(version)
    sent = "OffsetCommit: member id 'm', generation 1"
    assert happens(consumer, kafka.COMMIT) == [sent]
    assert happens(consumer, kafka.COMMIT_SYNC) == [sent]
    assert happens(consumer, kafka.DISCONNECT) == ["the commit fails: retriable", "FindCoordinator"]
    assert answer(consumer, "FindCoordinator") == [sent]
    assert answer(consumer, "OffsetCommit") == ["the commit succeeds"]


@VERSIONS
def test_a_synchronous_commit_fails_if_a_heartbeat_has_ended_the_membership(version: str) -> None:
    consumer = joined(version)
    happens(consumer, kafka.HEARTBEAT_INTERVAL)
    happens(consumer, kafka.COMMIT_SYNC)
    assert answer(consumer, "Heartbeat", "UNKNOWN_MEMBER_ID") == []
    assert answer(consumer, "OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS") == [
        "the commit fails: no longer a member",
        "onPartitionsLost: partitions [0, 1]",
        "JoinGroup: member id ''",
    ]


def test_a_synchronous_commit_of_nothing_waits_for_the_asynchronous_ones_since_4_1() -> None:
    succeeded = "the commit succeeds"
    for version, at_once, later in (
        ("2.7", [succeeded], [succeeded]),
        ("4.1", [], [succeeded, succeeded]),
    ):
        consumer = joined(version)
        happens(consumer, kafka.HEARTBEAT_INTERVAL)
        happens(consumer, kafka.COMMIT)
        answer(consumer, "Heartbeat", "REBALANCE_IN_PROGRESS")
        assert happens(consumer, kafka.COMMIT_SYNC) == at_once
        assert answer(consumer, "OffsetCommit") == later


COMMITS = ["OffsetCommit: member id 'm', generation 1"]
REVOKES = ["onPartitionsRevoked: partitions [0, 1]"]


@VERSIONS
def test_an_automatic_commit_is_repeated_only_after_a_retriable_error(version: str) -> None:
    consumer = joined(version, auto_commit=True)
    assert happens(consumer, kafka.AUTO_COMMIT_INTERVAL) == COMMITS
    assert answer(consumer, "OffsetCommit", "UNKNOWN_TOPIC_OR_PARTITION") == COMMITS
    assert answer(consumer, "OffsetCommit", "NOT_COORDINATOR") == ["FindCoordinator"]
    assert answer(consumer, "FindCoordinator") == COMMITS
    assert answer(consumer, "OffsetCommit", "TOPIC_AUTHORIZATION_FAILED") == []
    assert happens(joined(version), kafka.AUTO_COMMIT_INTERVAL) == []


@VERSIONS
def test_a_consumer_commits_before_it_gives_its_partitions_away(version: str) -> None:
    consumer = joined(version, auto_commit=True)
    assert rebalances(consumer) == COMMITS
    assert answer(consumer, "OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS") == COMMITS
    assert answer(consumer, "OffsetCommit") == [*REVOKES, "JoinGroup: member id 'm'"]


@pytest.mark.parametrize(("version", "callback"), [("2.7", REVOKES), ("4.1", [LOST])])
def test_2_7_decides_before_its_commit_whether_its_partitions_are_lost(
    version: str, callback: list[str]
) -> None:
    consumer = joined(version, auto_commit=True)
    rebalances(consumer)
    done = answer(consumer, "OffsetCommit", "UNKNOWN_MEMBER_ID")
    assert done == [*callback, "JoinGroup: member id ''"]


def test_a_cooperative_consumer_2_7_loses_its_partitions_after_it_has_joined_with_them() -> None:
    consumer = joined("2.7", cooperative=True, auto_commit=True)
    rebalances(consumer)
    done = answer(consumer, "OffsetCommit", "UNKNOWN_MEMBER_ID")
    assert done == ["JoinGroup: member id '', partitions [0, 1]", LOST]


@VERSIONS
def test_a_consumer_commits_before_it_is_closed(version: str) -> None:
    consumer = joined(version, auto_commit=True)
    assert happens(consumer, kafka.CLOSE) == COMMITS
    assert happens(consumer, kafka.DISCONNECT) == ["FindCoordinator"]
    assert answer(consumer, "FindCoordinator") == COMMITS
    assert answer(consumer, "OffsetCommit", "OFFSET_METADATA_TOO_LARGE") == [
        *REVOKES,
        "LeaveGroup: member id 'm'",
    ]


@VERSIONS
def test_a_fenced_automatic_commit_is_thrown_by_the_next_poll(version: str) -> None:
    consumer = joined(version, static=True, auto_commit=True)
    happens(consumer, kafka.AUTO_COMMIT_INTERVAL)
    done = answer(consumer, "OffsetCommit", "FENCED_INSTANCE_ID")
    assert done == ["poll raises an error: fatal"]


@VERSIONS
def test_a_consumer_that_closes_first_sends_the_commits_that_wait_for_the_coordinator(
    version: str,
) -> None:
    consumer = joined(version)
    happens(consumer, kafka.DISCONNECT)
    assert happens(consumer, kafka.COMMIT) == []
    assert happens(consumer, kafka.CLOSE) == []
    assert answer(consumer, "FindCoordinator") == [
        "OffsetCommit: member id 'm', generation 1",
        "onPartitionsRevoked: partitions [0, 1]",
        "LeaveGroup: member id 'm'",
    ]


@pytest.mark.parametrize(
    "given",
    [
        ClientInput("Fetch", NONE),
        ClientInput("Heartbeat", NONE),
        ClientInput("FindCoordinator", NONE),
        ClientInput("LeaveGroup", NONE),
        ClientInput("the application sleeps"),
    ],
)
def test_bad_input_is_an_error_of_one_line(given: ClientInput) -> None:
    consumer = joined("4.1")
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        consumer.do(given)
    assert happens(consumer, kafka.HEARTBEAT_INTERVAL)


def test_an_unknown_version_is_an_error_of_one_line() -> None:
    with pytest.raises(ValueError, match="2\\.7, 4\\.1"):
        Membership("3.0", cooperative=False, static=False)


ERRORS = (
    *(NONE,) * 6,
    "COORDINATOR_LOAD_IN_PROGRESS",
    "FENCED_INSTANCE_ID",
    "ILLEGAL_GENERATION",
    "NOT_COORDINATOR",
    "REBALANCE_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID",
    "UNKNOWN_SERVER_ERROR",
)
CALLS = (kafka.SUBSCRIBE, kafka.UNSUBSCRIBE, kafka.COMMIT, kafka.COMMIT_SYNC, kafka.POLL)
TIMES = (
    kafka.HEARTBEAT_INTERVAL,
    kafka.POLL_INTERVAL,
    kafka.SESSION_TIMEOUT,
    kafka.DISCONNECT,
)


@VERSIONS
@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
def test_a_partition_is_given_up_once_after_it_is_assigned(version: str, protocol: str) -> None:
    cooperative = protocol == "cooperative"
    for seed in range(150):
        rng = random.Random(seed)
        consumer = Membership(version, cooperative=cooperative, static=seed % 2 == 0)
        owned: set[int] = set()
        for event in walk(consumer, rng):
            partitions = set(event.partitions)
            if event.name == kafka.ASSIGNED:
                assert not partitions & owned
                owned |= partitions
            elif event.name in kafka.CALLBACKS:
                assert partitions
                assert partitions <= owned
                owned -= partitions
            elif event.name == "JoinGroup":
                assert partitions == owned
                assert cooperative or not owned


def walk(consumer: Membership, rng: random.Random) -> list[ClientEvent]:
    """What the consumer does in a random history."""
    events = []
    for generation in range(1, 200):
        in_flight = consumer._in_flight
        names = [rng.choice(CALLS), rng.choice(TIMES)]
        names += [in_flight[0].name] * 4 if in_flight else []
        names += ["FindCoordinator"] * 4 if consumer._lookup == "pending" else []
        name = rng.choice(names)
        if name in CALLS and (consumer._stopped or consumer._sync is not None):
            continue
        given = ClientInput(name)
        if name not in (*CALLS, *TIMES):
            partitions = tuple(sorted(rng.sample(range(4), rng.randrange(4))))
            given = ClientInput(name, rng.choice(ERRORS), "m", generation, partitions=partitions)
        done = consumer.do(given)
        assert len(done) < 20
        events += done
    return events


def without_coordinator(version: str) -> Membership:
    """A cooperative consumer with two partitions that has lost its coordinator."""
    consumer = joined(version, cooperative=True)
    happens(consumer, kafka.HEARTBEAT_INTERVAL)
    assert answer(consumer, "Heartbeat", "NOT_COORDINATOR") == ["FindCoordinator"]
    return consumer


@VERSIONS
def test_an_early_asynchronous_commit_is_sent_once_the_coordinator_is_found(version: str) -> None:
    consumer = without_coordinator(version)
    assert happens(consumer, kafka.COMMIT) == []
    assert answer(consumer, "FindCoordinator") == COMMITS


@VERSIONS
def test_an_early_asynchronous_commit_fails_with_the_lookup_and_is_not_sent_later(
    version: str,
) -> None:
    consumer = without_coordinator(version)
    happens(consumer, kafka.COMMIT)
    failed = answer(consumer, "FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    assert failed == ["the commit fails: retriable", "FindCoordinator"]
    assert answer(consumer, "FindCoordinator") == []


@VERSIONS
def test_an_early_synchronous_commit_waits_through_failed_lookups(version: str) -> None:
    consumer = without_coordinator(version)
    assert happens(consumer, kafka.COMMIT_SYNC) == []
    retried = answer(consumer, "FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    assert retried == ["FindCoordinator"]
    assert answer(consumer, "FindCoordinator") == COMMITS


@VERSIONS
def test_close_waits_for_the_coordinator_of_an_early_commit_and_only_then_calls_back(
    version: str,
) -> None:
    consumer = without_coordinator(version)
    happens(consumer, kafka.COMMIT)
    assert happens(consumer, kafka.CLOSE) == []
    retried = answer(consumer, "FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    assert retried == ["FindCoordinator"]
    left = [*REVOKES, "LeaveGroup: member id 'm'"]
    assert answer(consumer, "FindCoordinator") == ["the commit fails: retriable", *left]


@VERSIONS
def test_close_raises_that_the_group_may_not_be_used_after_its_partitions_are_given_away(
    version: str,
) -> None:
    consumer = without_coordinator(version)
    happens(consumer, kafka.COMMIT)
    happens(consumer, kafka.CLOSE)
    refused = answer(consumer, "FindCoordinator", "GROUP_AUTHORIZATION_FAILED")
    assert refused == [*REVOKES, "poll raises an error: another error"]


@pytest.mark.parametrize(("skips", "assignments"), [(False, ", with the assignments"), (True, "")])
def test_a_leader_that_returns_sends_no_assignments(*, skips: bool, assignments: str) -> None:
    consumer = Membership("4.1", cooperative=False, static=True)
    happens(consumer, kafka.SUBSCRIBE)
    answer(consumer, "FindCoordinator")
    sent = answer(consumer, "JoinGroup", member_id="m", generation=1, leader=True, skips=skips)
    assert sent == [f"SyncGroup: member id 'm', generation 1{assignments}"]
