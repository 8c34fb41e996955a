"""A cluster of several brokers: what each of them answers, and who coordinates a group."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from groupcheck.implementation.core.groups import partition_for
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.server.brokers import CannotDoError
from groupcheck.implementation.server.server import CannotServeError
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode
from support.client_processes import eventually
from support.serving import ServedBrokers

GROUP = "group"
OFFSETS_PARTITIONS = 50
LEADER_NOT_AVAILABLE = 5
INVALID_REQUEST = 42


def first_coordinator(brokers: int = 3) -> int:
    """The broker that leads the offsets partition of the group at the start."""
    return partition_for(GROUP, OFFSETS_PARTITIONS) % brokers + 1


def coordinator(served: ServedBrokers, asked: int) -> Any:
    """What a broker answers to FindCoordinator."""
    with served.connected(asked) as wire:
        return wire.ask("FindCoordinator", 2, key=GROUP, key_type=0)


def metadata(served: ServedBrokers, asked: int, topic: str) -> tuple[Any, Any]:
    """The metadata of a broker: all of it, and a topic."""
    with served.connected(asked) as wire:
        answer = wire.ask("Metadata", 7, topics=[(topic,)], allow_auto_topic_creation=False)
    return answer, answer.topics[0]


def commit(served: ServedBrokers, broker: int, topic: str, offset: int) -> int:
    """Commit an offset of partition 0 without a member; the error code."""
    with served.connected(broker) as wire:
        answer = wire.ask("OffsetCommit", 2, group_id=GROUP, topics=[(topic, [(0, offset, "")])])
    return int(answer.topics[0].partitions[0].error_code)


def committed(served: ServedBrokers, broker: int, topic: str) -> tuple[int, int]:
    """The error code of the group, and its offset of partition 0."""
    with served.connected(broker) as wire:
        answer = wire.ask(
            "OffsetFetch",
            5,
            group_id=GROUP,
            topics=[(topic, [0])],
        )
    if answer.error_code:
        return int(answer.error_code), -1
    return 0, int(answer.topics[0].partitions[0].committed_offset)


def test_every_broker_answers_with_the_brokers_the_controller_and_the_leaders() -> None:
    with ServedBrokers(3, ("events", 4)) as served:
        ports = [port for _, port in served.brokers.addresses]
        for number in (1, 2, 3):
            answer, topic = metadata(served, number, "events")
            assert [(each.node_id, each.port) for each in answer.brokers] == [*enumerate(ports, 1)]
            assert answer.controller_id == 1
            assert [each.leader_id for each in topic.partitions] == [1, 2, 3, 1]
            assert topic.partitions[1].replica_nodes == topic.partitions[1].isr_nodes == [2, 3, 1]


def test_the_coordinator_is_the_leader_of_the_offsets_partition_and_others_refuse() -> None:
    with ServedBrokers(3, ("events", 1)) as served:
        expected = first_coordinator()
        for number in (1, 2, 3):
            found = coordinator(served, number)
            assert (found.error_code, found.node_id) == (0, expected)
            error = ErrorCode.NONE if number == expected else ErrorCode.NOT_COORDINATOR
            assert commit(served, number, "events", 5) == error
            fetched = (0, 5) if number == expected else (ErrorCode.NOT_COORDINATOR, -1)
            if number >= expected:
                assert committed(served, number, "events") == fetched
        with served.connected(1) as wire:
            transactional = wire.ask("FindCoordinator", 2, key="id", key_type=1)
        assert transactional.error_code == INVALID_REQUEST


def test_records_are_read_from_the_leader_only() -> None:
    with ServedBrokers(3, ("events", 3)) as served, served.connected(2) as wire:
        answer = wire.ask(
            "ListOffsets",
            2,
            replica_id=-1,
            isolation_level=0,
            topics=[("events", [(index, -1) for index in (0, 1, 7)])],
        )
        assert [each.error_code for each in answer.topics[0].partitions] == [
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]


@pytest.mark.parametrize("profile", PROFILES)
def test_offsets_are_loaded_by_the_next_coordinator(profile: str) -> None:
    with ServedBrokers(3, ("events", 1), profile=profile) as served:
        old = first_coordinator()
        assert commit(served, old, "events", 5) == 0
        served.run(served.brokers.kill_broker(old))
        asked = old % 3 + 1
        eventually(lambda: bool(coordinator(served, asked).node_id != old))
        new = coordinator(served, asked).node_id
        assert committed(served, new, "events") == (0, 5)
        # The old coordinator starts again and does not lead, until the preferred leader is elected.
        served.run(served.brokers.start_broker(old))
        assert committed(served, old, "events") == (ErrorCode.NOT_COORDINATOR, -1)
        assert commit(served, new, "events", 6) == 0
        served.run(served.brokers.elect("__consumer_offsets"))
        assert coordinator(served, asked).node_id == old
        assert committed(served, new, "events") == (ErrorCode.NOT_COORDINATOR, -1)
        assert committed(served, old, "events") == (0, 6)


def test_a_broker_that_has_lost_its_session_is_a_follower_until_it_is_elected() -> None:
    with ServedBrokers(3, ("events", 1)) as served:
        old = first_coordinator()
        assert commit(served, old, "events", 5) == 0
        served.run(served.brokers.expire_session(old))
        new = coordinator(served, old).node_id
        assert new != old
        assert committed(served, old, "events") == (ErrorCode.NOT_COORDINATOR, -1)
        assert committed(served, new, "events") == (0, 5)


def test_a_coordinator_that_loads_says_so() -> None:
    with ServedBrokers(2, ("events", 1)) as served:
        old = first_coordinator(2)
        fetch = kafka.OffsetFetchRequest(GROUP)
        groups: Any = served.brokers._nodes[3 - old]._groups
        answers: list[ErrorCode] = []

        async def observed() -> None:
            """The answers of the next coordinator, in each turn of the loop."""
            stopped = asyncio.create_task(served.brokers.stop_broker(old))
            while not stopped.done():
                groups.ask(fetch, 5, lambda body: answers.append(body.error_code))
                await asyncio.sleep(0)

        served.run(observed())
        assert list(dict.fromkeys(answers)) == [
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.NONE,
        ]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_deleted_topic_is_in_no_metadata_and_has_no_offsets(profile: str) -> None:
    with ServedBrokers(3, ("events", 1), ("other", 1), profile=profile) as served:
        number = first_coordinator()
        assert commit(served, number, "events", 5) == 0
        assert commit(served, number, "other", 7) == 0
        assert served.run(served.brokers.delete_topic("events"))
        for each in (1, 2, 3):
            _, topic = metadata(served, each, "events")
            assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        served.run(served.brokers.create_topic("events", 1))
        assert committed(served, number, "events") == (0, -1)
        assert committed(served, number, "other") == (0, 7)
        # The next coordinator reads the tombstone.
        served.run(served.brokers.stop_broker(number))
        new = coordinator(served, number % 3 + 1).node_id
        assert committed(served, new, "events") == (0, -1)
        assert committed(served, new, "other") == (0, 7)


def test_the_deletion_of_a_topic_waits_for_the_broker_of_a_replica() -> None:
    with ServedBrokers(3, ("events", 1)) as served:
        served.run(served.brokers.stop_broker(3))
        assert not served.run(served.brokers.delete_topic("events"))
        assert served.brokers.status().deletions == ("events",)
        served.run(served.brokers.start_broker(3))
        assert "events" not in served.brokers.status().leaders


def test_a_started_broker_is_in_the_metadata_and_in_the_isr_again() -> None:
    with ServedBrokers(3, ("events", 3)) as served:
        port = served.brokers.addresses[1][1]
        served.run(served.brokers.stop_broker(2))
        answer, topic = metadata(served, 1, "events")
        assert [each.node_id for each in answer.brokers] == [1, 3]
        assert [each.leader_id for each in topic.partitions] == [1, 3, 3]
        assert topic.partitions[0].isr_nodes == [1, 3]
        assert topic.partitions[0].offline_replicas == [2]
        served.run(served.brokers.start_broker(2))
        assert served.brokers.addresses[1][1] == port
        for number in (1, 2, 3):
            answer, topic = metadata(served, number, "events")
            assert [each.node_id for each in answer.brokers] == [1, 2, 3]
            assert all(sorted(each.isr_nodes) == [1, 2, 3] for each in topic.partitions)
        served.run(served.brokers.elect("events"))
        assert served.brokers.status().leaders["events"] == (1, 2, 3)


def test_without_a_live_replica_there_is_no_coordinator_and_no_leader() -> None:
    with ServedBrokers(4, ("events", 4)) as served:
        partition = partition_for(GROUP, OFFSETS_PARTITIONS)
        replicas = [(partition + index) % 4 + 1 for index in range(3)]
        (remaining,) = {1, 2, 3, 4} - {*replicas}
        for number in replicas:
            served.run(served.brokers.stop_broker(number))
        found = coordinator(served, remaining)
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        _, topic = metadata(served, remaining, "events")
        codes = {(each.error_code, each.leader_id) for each in topic.partitions}
        assert codes == {(LEADER_NOT_AVAILABLE, -1), (0, remaining)}


def test_another_controller_is_elected() -> None:
    with ServedBrokers(3) as served:
        assert served.run(served.brokers.move_controller()) == 1
        served.run(served.brokers.stop_broker(1))
        assert served.brokers.status().controller == 2
        answer, _ = metadata(served, 3, "events")
        assert answer.controller_id == 2


def test_metadata_creates_a_topic_that_is_known_soon_after() -> None:
    with ServedBrokers(3) as served, served.connected(2) as wire:

        def error() -> int:
            answer = wire.ask("Metadata", 7, topics=[("made",)], allow_auto_topic_creation=True)
            return int(answer.topics[0].error_code)

        assert error() == LEADER_NOT_AVAILABLE
        eventually(lambda: error() == 0)
        assert served.brokers.status().leaders["made"] == (1,)


IMPOSSIBLE: dict[str, tuple[Callable[[ServedBrokers], Any], str]] = {
    "start": (lambda each: each.brokers.start_broker(1), "broker 1 runs"),
    "unknown": (
        lambda each: each.brokers.stop_broker(3),
        "there is no broker 3; there are brokers 1 to 2",
    ),
    "expire": (lambda each: each.brokers.expire_session(2), "broker 2 has no session"),
    "stop": (lambda each: each.brokers.stop_broker(2), "broker 2 does not run"),
    "delete": (lambda each: each.brokers.delete_topic("none"), "there is no topic 'none'"),
    "offsets": (
        lambda each: each.brokers.delete_topic("__consumer_offsets"),
        "__consumer_offsets is not deleted",
    ),
    "elect": (lambda each: each.brokers.elect("none"), "there is no topic 'none'"),
    "create": (
        lambda each: each.brokers.create_topic("events", 1),
        "there is already a topic 'events'",
    ),
}


def test_what_cannot_be_done_is_one_line() -> None:
    with ServedBrokers(2, ("events", 1)) as served:
        served.run(served.brokers.stop_broker(2))
        for action, line in IMPOSSIBLE.values():
            with pytest.raises(CannotDoError) as raised:
                served.run(action(served))
            assert str(raised.value) == line


def test_a_topic_that_cannot_be_created_prevents_the_start() -> None:
    with pytest.raises(CannotServeError, match="1 to 1000 partitions"), ServedBrokers(2, ("a", 0)):
        pass
