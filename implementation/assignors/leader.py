"""The leader's part of a rebalance: the assignments of all members, from their subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from groupcheck.implementation.assignors import in_turn, sticky
from groupcheck.implementation.assignors.member import Member, Topics
from groupcheck.implementation.assignors.protocol import (
    NO_GENERATION,
    Partition,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
)


class Joined(NamedTuple):
    """A member as JoinGroup's response lists it to the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


Assigned = Mapping[str, Sequence[Partition]]
Assignor = Callable[[Topics, Sequence[Member]], Assigned]

ASSIGNORS: Final[Mapping[str, Assignor]] = {
    "range": in_turn.assign_range,
    "roundrobin": in_turn.assign_round_robin,
    "sticky": sticky.assign,
    "cooperative-sticky": sticky.assign_cooperatively,
}

# Those of the broker for the consumer protocol (KIP-848): they regard no racks (4.1
# RangeAssignor.java:31, UniformAssignor.java:31).
BROKER_ASSIGNORS: Final[Mapping[str, Assignor]] = {
    "range": in_turn.assign_range_without_racks,
    "uniform": sticky.assign_without_racks,
}


def lead(assignor: str, topics: Topics, joined: Iterable[Joined]) -> dict[str, bytes]:
    """Assign the partitions of a group, as its leader.

    Args:
        assignor: the name of one of `ASSIGNORS`, which is the group's protocol.
        topics: for each topic that exists, the racks of the replicas of each partition.
        joined: the members.

    Returns:
        each member's assignment for SyncGroup.

    Raises:
        MalformedError: a member's metadata is no subscription.
    """
    members = [_member(assignor, each) for each in joined]
    assigned = ASSIGNORS[assignor](topics, members)
    return {member.id: encode_assignment(assigned[member.id]) for member in members}


def _member(assignor: str, joined: Joined) -> Member:
    """A member; of the eager sticky assignor, user data has what it owned."""
    found = decode_subscription(joined.metadata)
    owned, generation = found.owned, found.generation
    if assignor == "sticky":
        data = found.user_data
        owned, generation = decode_sticky_user_data(data) if data else ((), NO_GENERATION)
    return Member(
        joined.member_id, found.topics, joined.group_instance_id, found.rack, owned, generation
    )
