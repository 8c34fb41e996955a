"""Groups and their members, with counts. No requests, responses or timing.

The counts (members awaiting join, members supporting each protocol, members of each rebalance
timeout) are updated at every change, so that no question about a group iterates over its members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from groupcheck.implementation.core.config import Choose, first
from groupcheck.implementation.core.offsets import GroupOffsets
from groupcheck.implementation.core.subscriptions import CONSUMER, subscribed_topics
from groupcheck.model.vocabulary import GroupState, JoinGroupResponseMember, Protocol

if TYPE_CHECKING:
    from groupcheck.implementation.core.member import JoinTimer, Member, Pending, SyncTimer

K = TypeVar("K")


class Group:
    """One group: its state, generation, members and parked requests."""

    __slots__ = (
        "awaiting_join",
        "generation_id",
        "group_id",
        "in_initial_delay",
        "join_timer",
        "leader_id",
        "members",
        "new_member_added",
        "offsets",
        "partition",
        "pending_members",
        "protocol_name",
        "protocol_type",
        "rebalance_timeouts",
        "state",
        "state_since_ms",
        "static_members",
        "subscribed",
        "supporters",
        "sync_timer",
        "unsynced",
    )

    def __init__(self, group_id: str, partition: int, now_ms: int) -> None:
        self.group_id = group_id
        self.partition = partition
        self.state = GroupState.EMPTY
        # When the group entered the state; -1 if that is unknown.
        self.state_since_ms = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        # The member id of each group.instance.id; the member may have been removed.
        self.static_members: dict[str, str] = {}
        # Member ids returned with MEMBER_ID_REQUIRED that have not joined.
        self.pending_members: dict[str, Pending] = {}
        self.awaiting_join = 0
        self.supporters: dict[str, int] = {}
        self.rebalance_timeouts: dict[int, int] = {}
        self.offsets = GroupOffsets()
        # The topics that the members of this generation subscribe to; None if unknown.
        self.subscribed: frozenset[str] | None = None
        # The timer that ends the join phase, and whether that is the initial delay after Empty,
        # which ends early only when a member expires, in some versions.
        self.join_timer: JoinTimer | None = None
        self.in_initial_delay = False
        # Whether the initial delay is to be extended. Only an extension clears it, so it may stay
        # set after the rebalance that set it.
        self.new_member_added = False
        # The members whose SyncGroup is outstanding, where the version limits the wait, and the
        # limit.
        self.unsynced: set[str] = set()
        self.sync_timer: SyncTimer | None = None

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        """Enter another state."""
        self.state = state
        self.state_since_ms = now_ms

    @property
    def all_joined(self) -> bool:
        """Whether all members have joined and no id is pending."""
        return self.awaiting_join == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members."""
        return max(0, max(self.rebalance_timeouts, default=0))

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether the members are consumers, whose metadata names topics."""
        return self.protocol_type == CONSUMER

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member may subscribe to that topic."""
        if self.subscribed is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Whether a member with these protocols can join.

        The earlier protocols of a rejoining member count, so that even a sole member cannot change
        to protocols that it did not support before.
        """
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        size, supporters = len(self.members), self.supporters
        for name, _ in protocols:  # noqa: SIM110 - any() doubles the time, at every join
            if supporters.get(name, 0) == size:
                return True
        return False

    # Members

    def add(self, member: Member, protocol_type: str | None) -> None:
        """Add a member."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._count_protocols(member.protocols, 1)
        self._count_timeout(member.rebalance_timeout_ms, 1)

    def remove(
        self, members: Iterable[Member], choose: Choose, *, keep_instances: bool = False
    ) -> None:
        """Remove members; any remaining member may become the leader.

        Their group.instance.ids are removed unless `keep_instances`.
        """
        for member in members:
            del self.members[member.member_id]
            if member.group_instance_id is not None and not keep_instances:
                self.static_members.pop(member.group_instance_id, None)
            self.unsynced.discard(member.member_id)
            self._count_protocols(member.protocols, -1)
            self._count_timeout(member.rebalance_timeout_ms, -1)
            if member.join_request_id is not None:
                self.awaiting_join -= 1
        if self.leader_id not in self.members:
            self.leader_id = _any_of(self.members, choose)

    def rename(self, member: Member, member_id: str) -> None:
        """Change the id of a member, also in the mapping of group.instance.ids."""
        old = member.member_id
        del self.members[old]
        member.member_id = member_id
        self.members[member_id] = member
        if self.leader_id == old:
            self.leader_id = member_id
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member_id

    def elect_joined(self, choose: Choose) -> bool:
        """Make sure that the leader has joined; False if no member can be the leader."""
        leader = self.members.get(self.leader_id or "")
        if leader is None or leader.join_request_id is None:
            if leader is None or not self.awaiting_join:
                return False
            joined = (m.member_id for m in self.members.values() if m.join_request_id is not None)
            self.leader_id = _any_of(joined, choose)
        return True

    def update_protocols(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        """Replace a member's protocols."""
        self._count_protocols(member.protocols, -1)
        self._count_protocols(protocols, 1)
        member.protocols = protocols

    def set_timeouts(self, member: Member, session_ms: int, rebalance_ms: int) -> None:
        """Replace a member's timeouts; running timers do not change."""
        member.session_timeout_ms = session_ms
        self._count_timeout(member.rebalance_timeout_ms, -1)
        self._count_timeout(rebalance_ms, 1)
        member.rebalance_timeout_ms = rebalance_ms

    def park_join(self, member: Member, request_id: int) -> None:
        """Park a member's JoinGroup."""
        if member.join_request_id is None:
            self.awaiting_join += 1
        member.join_request_id = request_id

    def unpark_join(self, member: Member) -> int | None:
        """Remove and return the id of a member's parked JoinGroup; None if there is none."""
        request_id, member.join_request_id = member.join_request_id, None
        if request_id is not None:
            self.awaiting_join -= 1
        return request_id

    # Generations

    def select_protocol(self, choose: Choose) -> str:
        """The protocol with most votes among those that all members support."""
        size = len(self.members)
        candidates = {name for name, supporters in self.supporters.items() if supporters == size}
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates)
            for member in self.members.values()
        )
        most = max(votes.values())
        winners = tuple(name for name, count in votes.items() if count == most)
        return choose(winners) if len(winners) > 1 else winners[0]

    def subscribe(self) -> None:
        """Read the topics that this generation's members subscribe to."""
        self.subscribed = None
        if self.uses_consumer_protocol and (self.protocol_name is not None or not self.members):
            metadata = (member.metadata(self.protocol_name) for member in self.members.values())
            self.subscribed = subscribed_topics(metadata)

    def listed_members(self) -> tuple[JoinGroupResponseMember, ...]:
        """All members with their metadata of the chosen protocol, for the leader."""
        name = self.protocol_name
        return tuple(
            JoinGroupResponseMember(
                member.member_id, member.group_instance_id, member.metadata(name)
            )
            for member in self.members.values()
        )

    def _count_protocols(self, protocols: tuple[Protocol, ...], change: int) -> None:
        # A duplicate name counts once. Kafka 2.7 counts it twice, finds no common protocol at the
        # end of the join phase, throws, and the group never leaves PreparingRebalance.
        for name in dict.fromkeys(name for name, _ in protocols):
            _count(self.supporters, name, change)

    def _count_timeout(self, rebalance_timeout_ms: int, change: int) -> None:
        _count(self.rebalance_timeouts, rebalance_timeout_ms, change)


def _count(counts: dict[K, int], key: K, change: int) -> None:
    count = counts.get(key, 0) + change
    if count:
        counts[key] = count
    else:
        del counts[key]


def _any_of(member_ids: Iterable[str], choose: Choose) -> str | None:
    """One of the ids, None if there is none; the default choice does not iterate over all."""
    if choose is first:
        return next(iter(member_ids), None)
    options = tuple(member_ids)
    return choose(options) if len(options) > 1 else next(iter(options), None)
