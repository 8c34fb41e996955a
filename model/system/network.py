"""Messages between consumers and their coordinator: requests, answers and assignments."""

from __future__ import annotations

from typing import Any, Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.client import NO_GENERATION, NONE, ClientInput
from groupcheck.model.system.state import InFlight, Progress

GROUP_ID: Final = "group"
TOPIC: Final = "topic"
PARTITIONS: Final = (0, 1)
SESSION_MS: Final = 10_000

Owned = tuple[tuple[str, tuple[int, ...]], ...]  # each member id, and what it owned


def request_of(flight: InFlight, *, cooperative: bool) -> kafka.RequestBody:
    """The request as the coordinator receives it."""
    if flight.api == "JoinGroup":
        protocol = kafka.Protocol("range", bytes(flight.partitions))
        return kafka.JoinGroupRequest(
            GROUP_ID, SESSION_MS, SESSION_MS, flight.member_id, protocols=(protocol,)
        )
    if flight.api == "SyncGroup":
        assigned = assignments(flight.members, cooperative=cooperative)
        return kafka.SyncGroupRequest(
            GROUP_ID,
            flight.generation,
            flight.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=tuple(
                kafka.Assignment(member_id, bytes(partitions)) for member_id, partitions in assigned
            ),
        )
    if flight.api == "Heartbeat":
        return kafka.HeartbeatRequest(GROUP_ID, flight.generation, flight.member_id)
    if flight.api == "OffsetCommit":
        partitions = tuple(kafka.OffsetCommitRequestPartition(*each) for each in flight.offsets)
        topics = (kafka.OffsetCommitRequestTopic(TOPIC, partitions),)
        return kafka.OffsetCommitRequest(
            GROUP_ID, flight.generation, flight.member_id, topics=topics
        )
    return kafka.LeaveGroupRequest(GROUP_ID, (kafka.MemberIdentity(flight.member_id),))


def assignments(members: Owned, *, cooperative: bool) -> list[tuple[str, tuple[int, ...]]]:
    """An assignment of the partitions: balanced, and with the fewest moves.

    A cooperative one gives no member a partition that another one owns.
    """
    owner: dict[int, str] = {}
    for member_id, owned in members:
        for partition in owned:
            owner.setdefault(partition, member_id)
    given: dict[str, list[int]] = {member_id: [] for member_id, _ in members}
    limit = -(-len(PARTITIONS) // max(len(members), 1))
    for partition, member_id in owner.items():
        if len(given[member_id]) < limit:
            given[member_id].append(partition)
    for partition in PARTITIONS:
        if any(partition in taken for taken in given.values()):
            continue
        least = min(given, key=lambda member_id: (len(given[member_id]), member_id), default=None)
        if least is not None and not (cooperative and partition in owner):
            given[least].append(partition)
    return [(member_id, tuple(sorted(taken))) for member_id, taken in given.items()]


def with_answer(flight: InFlight, body: Any) -> InFlight:  # noqa: ANN401 - an answer
    """The request with the coordinator's answer on its way."""
    error = _error(body)
    members: Owned = ()
    if flight.api == "JoinGroup":
        leader = error == NONE and body.leader == body.member_id
        generation = body.generation_id if error == NONE else NO_GENERATION
        members = tuple((m.member_id, tuple(m.metadata)) for m in body.members)
        answer = ClientInput("JoinGroup", error, body.member_id, generation, leader=leader)
    elif flight.api == "SyncGroup" and error == NONE:
        answer = ClientInput("SyncGroup", error, partitions=tuple(body.assignment))
    else:
        answer = ClientInput(flight.api, error)
    return flight._replace(progress=Progress.ANSWERED, request_id=0, answer=answer, members=members)


def _error(body: Any) -> str:  # noqa: ANN401 - an answer
    if isinstance(body, kafka.OffsetCommitResponse):
        return body.topics[0].partitions[0].error_code.name
    name: str = body.error_code.name
    return name
