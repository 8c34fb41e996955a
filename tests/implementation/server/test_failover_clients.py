"""Consumers of three client libraries while brokers of a cluster stop and start."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.model.vocabulary import GroupState
from support.client_processes import LIBRARIES, Consumer, eventually, group
from support.economy import slow_if
from support.serving import QUICK, ServedBrokers

PARTITIONS = 4
TOPIC = "events"
GROUP = "group"
CONFIG = (*QUICK, f"num.partitions={PARTITIONS}")


class Coordinated(NamedTuple):
    """The group of a cluster, as its coordinator has it."""

    coordinator: int
    state: GroupState
    generation: int
    members: tuple[str, ...]


class Cluster:
    """A cluster of three brokers, and two consumers that share a topic."""

    def __init__(self, served: ServedBrokers, consumers: tuple[Consumer, Consumer]) -> None:
        self.served = served
        self.consumers = consumers
        self.rounds = self._rounds()

    def do(self, action: str, *arguments: Any) -> Any:
        """Do something to the cluster."""
        return self.served.run(getattr(self.served.brokers, action)(*arguments))

    @property
    def coordinator(self) -> int:
        """What a running broker answers to FindCoordinator; -1 without a coordinator."""
        with self.served.connected(self.served.brokers.status().running[0]) as wire:
            return int(wire.ask("FindCoordinator", 2, key=GROUP, key_type=0).node_id)

    def _at_coordinator(self, number: int) -> Any:
        """The groups of a broker."""
        nodes: Any = self.served.brokers._nodes
        return nodes[number]._coordinator

    def coordinated(self) -> Coordinated:
        """The group at its coordinator."""
        number = self.coordinator
        (view,) = self._at_coordinator(number).views()
        members = tuple(sorted(each.member_id for each in view.members))
        return Coordinated(number, view.state, view.generation_id, members)

    def commit(self, offset: int) -> None:
        """Each consumer commits an offset of its partitions, and reads it."""
        for each in self.consumers:
            each.commit(offset)
        for each in self.consumers:
            assert set(each.committed().values()) == {offset}

    def committed(self) -> set[int | None]:
        """The offsets that the consumers read."""
        return {offset for each in self.consumers for offset in each.committed().values()}

    def wait_for_another_coordinator(self, old: int) -> None:
        """Wait until another broker gets the heartbeats of both members.

        In between confluent-kafka answers a read of offsets with NOT_COORDINATOR, and aiokafka
        reads that there are none.
        """
        eventually(lambda: self.coordinator not in {-1, old})
        before = self._deadlines()
        eventually(lambda: all(map(operator.lt, before, self._deadlines())))

    def _deadlines(self) -> list[int]:
        """When the sessions of the members end; a heartbeat makes it later."""
        groups = self._at_coordinator(self.coordinator)._shared.groups
        return [each.deadline_ms for each in groups.by_id[GROUP].members.values()]

    def assert_no_rebalance(self, before: Coordinated) -> None:
        """Assert that the group has its generation and members, and no consumer has joined."""
        assert self.coordinated()[1:] == before[1:]
        assert self._rounds() == self.rounds

    def _rounds(self) -> list[int]:
        return [len(each.assignments) for each in self.consumers]


@contextmanager
def consuming(library: str, profile: str = "2.7") -> Iterator[Cluster]:
    with (
        ServedBrokers(3, (TOPIC, PARTITIONS), config=CONFIG, profile=profile) as served,
        group(",".join(served.addresses), GROUP, TOPIC, PARTITIONS) as consumers,
    ):
        both = consumers.add(library), consumers.add(library)
        consumers.wait_for_assignment(*both)
        yield Cluster(served, both)


@pytest.mark.parametrize("library", slow_if(lambda library: library != "kafka-python", LIBRARIES))
@pytest.mark.parametrize("profile", slow_if(lambda profile: profile != "2.7", PROFILES))
def test_consumers_keep_member_ids_and_generation_when_their_coordinator_moves(
    library: str, profile: str
) -> None:
    with consuming(library, profile) as cluster:
        for offset, how in enumerate(("kill_broker", "expire_session")):
            before = cluster.coordinated()
            assert before.state is GroupState.STABLE
            cluster.commit(offset)
            cluster.do(how, before.coordinator)
            cluster.wait_for_another_coordinator(before.coordinator)
            assert cluster.committed() == {offset}
            cluster.commit(offset + 10)
            cluster.assert_no_rebalance(before)


def test_consumers_follow_their_group_to_a_broker_that_starts_again() -> None:
    with consuming("kafka-python") as cluster:
        before = cluster.coordinated()
        cluster.commit(5)
        cluster.do("stop_broker", before.coordinator)
        cluster.commit(6)
        other = cluster.coordinator
        assert other != before.coordinator
        cluster.do("start_broker", before.coordinator)
        assert cluster.coordinator == other
        cluster.do("elect", "__consumer_offsets")
        assert cluster.committed() == {6}
        cluster.commit(7)
        assert cluster.coordinated() == before
        cluster.assert_no_rebalance(before)


def test_topic_that_is_deleted_and_created_again_has_no_committed_offsets() -> None:
    with consuming("kafka-python") as cluster:
        cluster.commit(5)
        assert cluster.do("delete_topic", TOPIC)
        # The consumers ask for its metadata, which creates it.
        eventually(lambda: TOPIC in cluster.served.brokers.status().leaders)
        eventually(lambda: cluster.committed() == {None})


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_consumers_go_on_with_the_last_broker_that_runs(library: str) -> None:
    with consuming(library) as cluster:
        before = cluster.coordinated()
        for offset in (1, 2):
            old = cluster.coordinator
            cluster.do("kill_broker", old)
            cluster.wait_for_another_coordinator(old)
            cluster.commit(offset)
            cluster.assert_no_rebalance(before)
        status = cluster.served.brokers.status()
        assert status.running == (cluster.coordinator,) == (status.controller,)
        for number in {1, 2, 3} - {*status.running}:
            cluster.do("start_broker", number)
        last = cluster.coordinator
        cluster.do("elect", "__consumer_offsets")
        cluster.wait_for_another_coordinator(last)
        assert cluster.committed() == {2}
        cluster.commit(3)
        assert cluster.coordinated() == before
        cluster.assert_no_rebalance(before)
