"""Groups and members: what is known of them, with the counts kept. No request, reply or timing.

The counts (members awaiting join, members supporting each protocol) are kept at every change, so
that no question about a group needs a look at all of its members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from groupcheck.implementation.config import Choose
from groupcheck.implementation.offsets import GroupOffsets
from groupcheck.implementation.timers import Timer
from groupcheck.model.vocabulary import (
    GroupState,
    JoinGroupRequest,
    JoinGroupResponseMember,
    Protocol,
    Request,
)


class Member:
    """One member of a group; times are in milliseconds."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "is_new",
        "join_request_id",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
        "sync_request_id",
    )

    def __init__(
        self, member_id: str, request: Request, body: JoinGroupRequest, session: Timer
    ) -> None:
        self.member_id = member_id
        self.client_id = request.client_id
        self.client_host = request.client_host
        self.session_timeout_ms = body.session_timeout_ms
        self.rebalance_timeout_ms = body.rebalance_timeout_ms
        self.protocols = body.protocols
        self.assignment = b""
        # The parked requests, None where there is none. A second one replaces the first, which
        # is then never answered.
        self.join_request_id: int | None = request.request_id
        self.sync_request_id: int | None = None
        # True until the join it came with completes.
        self.is_new = True
        self.session = session

    @property
    def expires(self) -> bool:
        """Whether its session runs: a member that waits for an answer is alive, unless new."""
        return self.is_new or (self.join_request_id is None and self.sync_request_id is None)

    def metadata(self, protocol_name: str) -> bytes:
        """Its metadata for a protocol that it supports."""
        return next(metadata for name, metadata in self.protocols if name == protocol_name)


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
        "pending_members",
        "protocol_name",
        "protocol_type",
        "state",
        "supporters",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        # Ids given out with MEMBER_ID_REQUIRED, each with the timer that takes it back.
        self.pending_members: dict[str, Timer] = {}
        self.awaiting_join = 0
        self.supporters: dict[str, int] = {}
        self.offsets = GroupOffsets()
        # Of the rebalance under way: what ends it at the latest, and whether that is the delay
        # after Empty, which nothing cuts short.
        self.join_timer: Timer | None = None
        self.in_initial_delay = False
        # Asks the initial delay for an extension. Nothing else clears it, so that it may outlive
        # the rebalance that set it.
        self.new_member_added = False

    @property
    def all_joined(self) -> bool:
        """Whether every member, and everybody who was given an id, has joined."""
        return self.awaiting_join == len(self.members) and not self.pending_members

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
        return any(supporters.get(protocol.name, 0) == size for protocol in protocols)

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member whose JoinGroup is parked."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member.protocols, 1)
        self.awaiting_join += 1

    def park_join(self, member: Member, protocols: tuple[Protocol, ...], request_id: int) -> None:
        """Park a member's JoinGroup, which may change its protocols but not its timeouts."""
        self._count_protocols(member.protocols, -1)
        self._count_protocols(protocols, 1)
        member.protocols = protocols
        if member.join_request_id is None:
            self.awaiting_join += 1
        member.join_request_id = request_id

    def unpark_join(self, member: Member) -> int | None:
        """The id of the member's parked JoinGroup, now to be answered; None if there is none."""
        request_id, member.join_request_id = member.join_request_id, None
        if request_id is not None:
            self.awaiting_join -= 1
        return request_id

    def remove(self, members: Iterable[Member], choose: Choose) -> None:
        """Remove members with no JoinGroup parked; anybody left may follow a leader removed."""
        for member in members:
            del self.members[member.member_id]
            self._count_protocols(member.protocols, -1)
        if self.leader_id not in self.members:
            left = tuple(self.members)
            self.leader_id = choose(left) if len(left) > 1 else next(iter(left), None)

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

    def joined_members(self) -> tuple[JoinGroupResponseMember, ...]:
        """All members with their metadata for the selected protocol, as the leader is told."""
        name = self.protocol_name or ""
        return tuple(
            JoinGroupResponseMember(member.member_id, None, member.metadata(name))
            for member in self.members.values()
        )

    def _count_protocols(self, protocols: tuple[Protocol, ...], change: int) -> None:
        supporters = self.supporters
        # A name given twice is one protocol. Kafka 2.7 counts it twice, finds no protocol that all
        # support when the join phase ends, throws, and the group is stuck for good.
        for name in dict.fromkeys(name for name, _ in protocols):
            count = supporters.get(name, 0) + change
            if count:
                supporters[name] = count
            else:
                del supporters[name]
