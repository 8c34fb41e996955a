"""The state of consumers, their connections and their coordinator, and its canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.exploring.canonical import parked_ids, untimed, with_names
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.client import NO_MEMBER_ID, ClientInput
from groupcheck.model.member.state import Member

# Names of member ids that no consumer has, or no group, begin behind those of consumers.
UNOWNED: Final = 10
UNKNOWN: Final = 30


class Progress(StrEnum):
    """How far a request on a connection has come."""

    SENT = "sent"
    PARKED = "parked"  # the coordinator has it, and has not answered
    ANSWERED = "answered"  # the answer is on its way


class InFlight(NamedTuple):
    """A request that a consumer has sent, and its answer.

    Args:
        api: of the request.
        member_id: in the request.
        generation: in the request.
        partitions: in JoinGroup, those that the consumer owns.
        members: in the answer to a leader's JoinGroup and in its SyncGroup: each member id, and the
            partitions that it owned when it joined.
        offsets: in OffsetCommit, by partition.
        progress: how far it has come.
        request_id: while it is parked.
        answer: while it is answered.
    """

    api: str
    member_id: str
    generation: int
    partitions: tuple[int, ...] = ()
    members: tuple[tuple[str, tuple[int, ...]], ...] = ()
    offsets: tuple[tuple[int, int], ...] = ()
    progress: Progress = Progress.SENT
    request_id: int = 0
    answer: ClientInput | None = None


class Consumer(NamedTuple):
    """A consumer and its connection to the coordinator.

    Args:
        member: the state of its membership.
        flights: the requests on its connection, the oldest first.
        crashed: whether its process is gone.
        positions: by owned partition, the offset that it consumes next.
    """

    member: Member = Member()
    flights: tuple[InFlight, ...] = ()
    crashed: bool = False
    positions: tuple[tuple[int, int], ...] = ()


class System(NamedTuple):
    """The whole state.

    Args:
        coordinator: the group at its coordinator, without timers: a timer may fire at any time.
        consumers: in their order.
        faults: how many faults are left.
        acknowledged: by partition, the highest offset whose commit has succeeded.
    """

    coordinator: Coordinator
    consumers: tuple[Consumer, ...]
    faults: int
    acknowledged: tuple[tuple[int, int], ...] = ()

    def group(self) -> Group:
        """The group; an empty one if there is none."""
        return self.coordinator.group or Group()

    def committed(self) -> dict[int, int]:
        """The committed offsets by partition."""
        return {
            partition: offset.committed_offset for (_, partition), offset in self.group().offsets
        }

    def with_consumer(self, number: int, consumer: Consumer) -> System:
        """The system with another state of a consumer."""
        consumers = list(self.consumers)
        consumers[number] = consumer
        return self._replace(consumers=tuple(consumers))


def canonical(system: System) -> System:
    """The system with names that depend on nothing but its structure.

    A consumer's member id is `m1` for the first consumer, and so on. Member ids that a consumer has
    forgotten, or not received yet, come behind.
    """
    group = system.group()
    names: dict[str, str] = {}
    for number, consumer in enumerate(system.consumers, 1):
        if consumer.member.member_id != NO_MEMBER_ID:
            names[consumer.member.member_id] = f"m{number}"
    others = [m for m in group.members if m.member_id not in names]
    others.sort(key=lambda member: _key(system, group, member))
    for number, member in enumerate(others, UNOWNED):
        names[member.member_id] = f"m{number}"
    for number, each in enumerate((p for p in group.pending if p.member_id not in names), 20):
        names[each.member_id] = f"m{number}"
    for number, member_id in enumerate(_unknown(system, names), UNKNOWN):
        names[member_id] = f"m{number}"
    parked = {
        before: after
        for member in group.members
        for before, after in zip(
            (member.awaiting_join, member.awaiting_sync),
            parked_ids(names[member.member_id]),
            strict=True,
        )
        if before is not None
    }
    coordinator = with_names(untimed(system.coordinator), names, generations=10**6)
    consumers = tuple(_renamed(each, names, parked) for each in system.consumers)
    return system._replace(coordinator=coordinator, consumers=consumers)


def _key(system: System, group: Group, member: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """What tells apart members that no consumer knows to be."""
    waiting = (member.awaiting_join, member.awaiting_sync)
    owners = [
        number
        for number, consumer in enumerate(system.consumers)
        if any(flight.request_id in waiting for flight in consumer.flights if flight.request_id)
    ]
    return (
        owners,
        member.member_id != group.leader,
        member.awaiting_join is None,
        member.awaiting_sync is None,
        member.protocols,
        member.assignment,
        member.is_new,
        member.revealed,
    )


def _unknown(system: System, names: Mapping[str, str]) -> Iterable[str]:
    """The other member ids, in the order in which they are found."""
    found: dict[str, None] = {}
    if (leader := system.group().leader) is not None:
        found[leader] = None
    for consumer in system.consumers:
        for request in consumer.member.sent:
            found[request.member_id] = None
        for flight in consumer.flights:
            found[flight.member_id] = None
            found.update((member_id, None) for member_id, _ in flight.members)
            if flight.answer is not None:
                found[flight.answer.member_id] = None
    return [each for each in found if each != NO_MEMBER_ID and each not in names]


def _renamed(consumer: Consumer, names: Mapping[str, str], parked: Mapping[int, int]) -> Consumer:
    member = consumer.member
    return consumer._replace(
        member=member._replace(
            member_id=names.get(member.member_id, NO_MEMBER_ID),
            sent=tuple(
                each._replace(member_id=names.get(each.member_id, NO_MEMBER_ID))
                for each in member.sent
            ),
        ),
        flights=tuple(_renamed_flight(each, names, parked) for each in consumer.flights),
    )


def _renamed_flight(
    flight: InFlight, names: Mapping[str, str], parked: Mapping[int, int]
) -> InFlight:
    answer = flight.answer
    return flight._replace(
        member_id=names.get(flight.member_id, NO_MEMBER_ID),
        members=tuple(sorted((names[member_id], owned) for member_id, owned in flight.members)),
        request_id=parked.get(flight.request_id, 0),
        answer=answer and answer._replace(member_id=names.get(answer.member_id, NO_MEMBER_ID)),
    )
