"""What a consumer knows of its group and of its coordinator, and how the versions differ.

AC is AbstractCoordinator.java and CC ConsumerCoordinator.java, at tags 2.7.2 and 4.1.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.model import client as kafka
from groupcheck.model.client import ClientEvent

UNJOINED: Final = "UNJOINED"
PREPARING: Final = "PREPARING_REBALANCE"
COMPLETING: Final = "COMPLETING_REBALANCE"
STABLE: Final = "STABLE"

PENDING: Final = "pending"
"""The value of a future that is not done; a future that is done has its error, NONE included."""

# What FindCoordinator may fail with that is a RetriableException (common/protocol/Errors.java).
RETRIABLE_ERRORS: Final = frozenset(
    {
        "CONCURRENT_TRANSACTIONS",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NOT_COORDINATOR",
        "NOT_LEADER_OR_FOLLOWER",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)


class Behaviour(NamedTuple):
    """Where the versions differ; the defaults are those of 2.7."""

    # ILLEGAL_GENERATION resets the generation, but not the member id.
    keeps_member_id: bool = False  # AC:973
    # JoinGroup is sent again after REBALANCE_IN_PROGRESS.
    join_retries_rebalance: bool = False  # AC:662
    # Partitions are lost if the generation or the member id is reset; otherwise, if both are.
    lost_without_either: bool = False  # CC:686
    # A commit of nothing needs no coordinator; commitSync waits for the asynchronous ones.
    empty_commits_are_local: bool = False  # CC:923, 996
    # commitAsync clears the result of an earlier FindCoordinator.
    async_commit_clears_lookup: bool = False  # CC:932
    # onJoinPrepare does not block in the automatic commit: each poll calls it until that is done.
    polls_while_it_prepares: bool = False  # CC:676


BEHAVIOURS: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {
        "2.7": Behaviour(),
        "4.1": Behaviour(
            keeps_member_id=True,  # AC:888, 1278, CC:1445
            join_retries_rebalance=True,  # AC:741
            lost_without_either=True,  # CC:812, 893
            empty_commits_are_local=True,  # CC:1050, 1143
            async_commit_clears_lookup=True,  # CC:1053
            polls_while_it_prepares=True,  # CC:762
        ),
    }
)


class RaisedError(Exception):
    """A call of the application throws."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Sent(NamedTuple):
    """A request in flight, with the generation that it was sent with."""

    name: str
    generation: int
    member_id: str
    sync: bool = False  # of OffsetCommit, whether commitOffsetsSync waits for it
    automatic: bool = False  # of OffsetCommit, whether the application has not asked for it
    prepares: bool = False  # of OffsetCommit, whether onJoinPrepare checks its future


class Completed(NamedTuple):
    """An asynchronous commit whose callback has not been called."""

    result: str
    automatic: bool


class Consumer:
    """The state of one consumer."""

    def __init__(
        self, version: str, *, cooperative: bool, static: bool, auto_commit: bool = False
    ) -> None:
        """Make a consumer that has not subscribed.

        Raises:
            ValueError: there is no such version.
        """
        if version not in BEHAVIOURS:
            message = f"no consumer of version {version!r}, only of {', '.join(BEHAVIOURS)}"
            raise ValueError(message)
        self._behaviour = BEHAVIOURS[version]
        self._cooperative = cooperative
        self._static = static
        self._auto_commit = auto_commit
        self._events: list[ClientEvent] = []
        # The group.
        self._state: str = UNJOINED
        self._generation: int = kafka.NO_GENERATION
        self._member_id: str = kafka.NO_MEMBER_ID
        self._owned: tuple[int, ...] = ()
        self._rejoin_needed = True
        self._needs_join_prepare = True
        self._preparing = False  # whether onJoinPrepare blocks in its commit, and
        self._lost_before_commit = False  # whether the generation was reset before
        self._prepare_commit: str | None = None  # the future of its commit: PENDING, or a result
        self._poll_again = False  # whether the next poll does something without another input
        self._join: str | None = None  # the join future: PENDING, NONE, or a kind of error
        self._assignment: tuple[int, ...] = ()
        # The coordinator.
        self._coordinator_known = False
        self._lookup: str | None = None  # the future of FindCoordinator: PENDING, or its error
        self._in_flight: deque[Sent] = deque()
        # The heartbeat thread.
        self._has_thread = False
        self._thread_failed = False
        self._heartbeat_in_flight = False
        self._poll_expired = False
        # The application.
        self._subscribed = False
        self._paused = False  # by POLL_INTERVAL, until POLL
        self._stopped = False  # by a fatal error: only CLOSE is left
        self._closing = False
        self._draining = False  # while it closes, commitAsync waited for the coordinator
        self._closed = False
        # Commits.
        self._sync: str | None = None  # of commitOffsetsSync: what is next, PENDING, or a result
        self._sync_automatic = False
        self._waiting: list[bool] = []  # commitAsync that wait for FindCoordinator: of anything?
        self._completed: list[Completed] = []
        self._async_in_flight = 0
        self._async_fenced = False
        self._commit_due = False  # whether nextAutoCommitTimer has expired

    @property
    def owned(self) -> tuple[int, ...]:
        """The partitions that are assigned to the consumer, in order."""
        return self._owned

    @property
    def member_id(self) -> str:
        """The member id that the next request has."""
        return self._member_id

    @property
    def generation(self) -> int:
        """The generation that the next request has."""
        return self._generation

    @property
    def state(self) -> str:
        """UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE or STABLE."""
        return self._state

    def _polls(self) -> bool:
        return self._subscribed and not (self._paused or self._stopped or self._closed)

    def _send(self, name: str) -> None:
        """Send SyncGroup, Heartbeat or OffsetCommit."""
        self._in_flight.append(Sent(name, self._generation, self._member_id))
        self._events.append(ClientEvent(name, self._member_id, self._generation))

    def _unchanged(self, sent: Sent) -> bool:
        return sent.generation == self._generation and sent.member_id == self._member_id

    def _reset(self, *, keep_member_id: bool = False) -> None:
        """Leave the generation and join again (2.7.2 AC:967, 4.1.2 AC:1061)."""
        self._state = UNJOINED
        self._generation = kafka.NO_GENERATION
        if not keep_member_id:
            self._member_id = kafka.NO_MEMBER_ID
        self._rejoin_needed = self._needs_join_prepare = True

    def _reset_after(self, error: str) -> None:
        keep = self._behaviour.keeps_member_id and error == "ILLEGAL_GENERATION"
        self._reset(keep_member_id=keep)

    def _start_lookup(self) -> None:
        """Send FindCoordinator, unless its future is there (2.7.2 AC:276, 4.1.2 AC:329)."""
        if self._lookup is None:
            self._lookup = PENDING
            self._events.append(ClientEvent("FindCoordinator"))

    def _clear_lookup(self) -> None:
        """Take the result of FindCoordinator; a failure that is not retriable is thrown."""
        error, self._lookup = self._lookup, None
        if error not in (None, kafka.NONE) and error not in RETRIABLE_ERRORS:
            raise RaisedError(kafka.OTHER)

    def _coordinator_ready(self) -> bool:
        """Whether the coordinator is known; if not, look it up (2.7.2 AC:234, 4.1.2 AC:284)."""
        while not self._coordinator_known:
            self._start_lookup()
            if self._lookup == PENDING:
                return False
            self._clear_lookup()
        return True
