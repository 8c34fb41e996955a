"""Groups and who is in them, with the counts kept. No request, reply or timing.

The counts (members awaiting join, members supporting each protocol, members of each rebalance
timeout) are kept at every change, so that no question about a group needs a look at all of its
members.
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
    """One group: state, generation, members, and who waits for what."""

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
        "statics",
        "subscribed",
        "supporters",
        "sync_timer",
        "unsynced",
    )

    def __init__(self, group_id: str, partition: int, now_ms: int) -> None:
        self.group_id = group_id
        self.partition = partition
        self.state = GroupState.EMPTY
        # When it came to that state; -1 if nobody knows.
        self.state_since_ms = now_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        # For each group.instance.id the id of its member, who may be gone.
        self.statics: dict[str, str] = {}
        # Ids given out with MEMBER_ID_REQUIRED.
        self.pending_members: dict[str, Pending] = {}
        self.awaiting_join = 0
        self.supporters: dict[str, int] = {}
        self.rebalance_timeouts: dict[int, int] = {}
        self.offsets = GroupOffsets()
        # The topics that the members of this generation have subscribed to; None if not known.
        self.subscribed: frozenset[str] | None = None
        # Of the rebalance under way: what ends its join phase at the latest, and whether that is
        # the delay after Empty, which nobody's joining cuts short.
        self.join_timer: JoinTimer | None = None
        self.in_initial_delay = False
        # Asks the initial delay for an extension. Nothing else clears it, so that it may outlive
        # the rebalance that set it.
        self.new_member_added = False
        # Whose SyncGroup this generation waits for, where that has a limit, and the limit.
        self.unsynced: set[str] = set()
        self.sync_timer: SyncTimer | None = None

    def move(self, state: GroupState, now_ms: int) -> None:
        """Go to another state."""
        self.state = state
        self.state_since_ms = now_ms

    @property
    def all_joined(self) -> bool:
        """Whether every member, and everybody who was given an id, has joined."""
        return self.awaiting_join == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of its members."""
        return max(0, max(self.rebalance_timeouts, default=0))

    @property
    def uses_consumer_protocol(self) -> bool:
        """Whether its members are consumers, who say which topics they want."""
        return self.protocol_type == CONSUMER

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member may have subscribed to that topic."""
        if self.subscribed is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed

    def supports(self, protocol_type: str, protocols: tuple[Protocol, ...]) -> bool:
        """Whether a member with these protocols could take part.

        A joining member's own earlier protocols count, so that even a sole member cannot change
        to protocols it did not support before.
        """
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        if protocol_type != self.protocol_type:
            return False
        size, supporters = len(self.members), self.supporters
        for name, _ in protocols:  # noqa: SIM110 - any() would take as long again, at every join
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
            self.statics[member.group_instance_id] = member.member_id
        self._count_protocols(member.protocols, 1)
        self._count_timeout(member.rebalance_timeout_ms, 1)

    def remove(
        self, members: Iterable[Member], choose: Choose, *, keep_instances: bool = False
    ) -> None:
        """Remove members; anybody left may follow a leader removed.

        Their group.instance.ids stand for nobody any more, unless those are to be kept.
        """
        for member in members:
            del self.members[member.member_id]
            if member.group_instance_id is not None and not keep_instances:
                self.statics.pop(member.group_instance_id, None)
            self.unsynced.discard(member.member_id)
            self._count_protocols(member.protocols, -1)
            self._count_timeout(member.rebalance_timeout_ms, -1)
            if member.join_request_id is not None:
                self.awaiting_join -= 1
        if self.leader_id not in self.members:
            self.leader_id = _any_of(self.members, choose)

    def rename(self, member: Member, member_id: str) -> None:
        """Give a member another id; its group.instance.id stands for that one from now on."""
        old = member.member_id
        del self.members[old]
        member.member_id = member_id
        self.members[member_id] = member
        if self.leader_id == old:
            self.leader_id = member_id
        if member.group_instance_id is not None:
            self.statics[member.group_instance_id] = member_id

    def elect_joined(self, choose: Choose) -> bool:
        """Make sure that the leader has joined; False if nobody can lead."""
        leader = self.members.get(self.leader_id or "")
        if leader is None or leader.join_request_id is None:
            if leader is None or not self.awaiting_join:
                return False
            joined = (m.member_id for m in self.members.values() if m.join_request_id is not None)
            self.leader_id = _any_of(joined, choose)
        return True

    def offer(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        """Take what a member offers from now on."""
        self._count_protocols(member.protocols, -1)
        self._count_protocols(protocols, 1)
        member.protocols = protocols

    def set_timeouts(self, member: Member, session_ms: int, rebalance_ms: int) -> None:
        """Take a member's timeouts from now on; timers that run are left as they are."""
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
        """The id of the member's parked JoinGroup, now to be answered; None if there is none."""
        request_id, member.join_request_id = member.join_request_id, None
        if request_id is not None:
            self.awaiting_join -= 1
        return request_id

    # Generations

    def select_protocol(self, choose: Choose) -> str:
        """The protocol with most votes among those that all members, at least one, support."""
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
        """Read which topics this generation's members have subscribed to."""
        self.subscribed = None
        if self.uses_consumer_protocol and (self.protocol_name is not None or not self.members):
            offers = (member.metadata(self.protocol_name) for member in self.members.values())
            self.subscribed = subscribed_topics(offers)

    def listed_members(self) -> tuple[JoinGroupResponseMember, ...]:
        """All members with their metadata for the selected protocol, as the leader is told."""
        name = self.protocol_name
        return tuple(
            JoinGroupResponseMember(
                member.member_id, member.group_instance_id, member.metadata(name)
            )
            for member in self.members.values()
        )

    def _count_protocols(self, protocols: tuple[Protocol, ...], change: int) -> None:
        # A name given twice is one protocol. Kafka 2.7 counts it twice, finds no protocol that all
        # support when the join phase ends, throws, and the group is stuck for good.
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
    """One of them, None if there is none; the first costs no look at the others."""
    if choose is first:
        return next(iter(member_ids), None)
    options = tuple(member_ids)
    return choose(options) if len(options) > 1 else next(iter(options), None)
