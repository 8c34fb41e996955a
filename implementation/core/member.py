"""Members, and the timers of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupcheck.implementation.core.timers import Timer
from groupcheck.model.vocabulary import Protocol

if TYPE_CHECKING:
    from groupcheck.implementation.core.group import Group


class GroupTimer(Timer):
    """A timer of a group."""

    __slots__ = ("group",)

    def __init__(self, group: Group) -> None:
        super().__init__()
        self.group = group

    @property
    def owner(self) -> str:
        """The group's id."""
        return self.group.group_id


class Member(GroupTimer):
    """A member of a group, and its session timer; times are in milliseconds.

    A member is its own timer: groups are large, and that saves an object for each member.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "counts_as_static",
        "group_instance_id",
        "is_new",
        "join_request_id",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_request_id",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of a member
        self,
        group: Group,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: tuple[Protocol, ...],
        assignment: bytes = b"",
    ) -> None:
        super().__init__(group)
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        # The ids of the parked requests, or None. A second request replaces the first, which is
        # never answered.
        self.join_request_id: int | None = None
        self.sync_request_id: int | None = None
        # True from the first JoinGroup until it is answered.
        self.is_new = False
        # Whether the member stays at the end of a join phase even if it has not joined.
        self.counts_as_static = group_instance_id is not None

    @property
    def expires(self) -> bool:
        """Whether the session may expire; a parked request keeps it alive unless it is new."""
        return self.is_new or (self.join_request_id is None and self.sync_request_id is None)

    def metadata(self, protocol_name: str | None) -> bytes:
        """The member's metadata for a protocol; empty if it does not support it."""
        return next((data for name, data in self.protocols if name == protocol_name), b"")


class Pending(GroupTimer):
    """A member id returned with MEMBER_ID_REQUIRED, and the timer that drops it."""

    __slots__ = ("member_id",)

    def __init__(self, group: Group, member_id: str) -> None:
        super().__init__(group)
        self.member_id = member_id


class JoinTimer(GroupTimer):
    """The timer of a join phase: the rebalance timeout, or a round of the initial delay.

    After the current round of `round_ms`, the delay may last another `remaining_ms`.
    """

    __slots__ = ("is_delay", "remaining_ms", "round_ms")

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self.is_delay = False
        self.round_ms = 0
        self.remaining_ms = 0


class SyncTimer(GroupTimer):
    """The timer of a generation's sync phase."""

    __slots__ = ("generation_id",)

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self.generation_id = 0
