"""The vocabulary of a client's side: what happens to a consumer, and what it does.

A specification, an implementation and the adapters of real clients share these records, as those of
a coordinator share `vocabulary`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

NONE: Final = "NONE"
NO_MEMBER_ID: Final = ""
NO_GENERATION: Final = -1


class ClientInput(NamedTuple):
    """Something that happens to a consumer.

    Args:
        name: an API, whose oldest request is answered, or one of the events below.
        error: of an answer, the name of its error code.
        member_id: in the answer to JoinGroup.
        generation: in the answer to JoinGroup.
        leader: in the answer to JoinGroup, whether the consumer is the leader.
        partitions: in the answer to SyncGroup, the assignment: indexes of one topic, in order.
        skips: of a leader, whether it need not assign: the group keeps its assignments (KIP-814).
    """

    name: str
    error: str = ""
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    leader: bool = False
    partitions: tuple[int, ...] = ()
    skips: bool = False

    def __str__(self) -> str:
        if not self.error:
            return self.name
        fields = [f"generation {self.generation}"] if self.generation != NO_GENERATION else []
        fields += ["leader"] * self.leader + ["skipAssignment"] * self.skips
        fields += [f"member id {self.member_id!r}"] * (self.member_id != NO_MEMBER_ID)
        fields += [f"partitions {list(self.partitions)}"] * (
            self.name == "SyncGroup" and self.error == NONE
        )
        return f"{self.name} is answered with {', '.join((self.error, *fields))}"


# Calls of the application. It polls from the first `subscribe` on, in a loop, until another call.
SUBSCRIBE: Final = "the application subscribes"
UNSUBSCRIBE: Final = "the application unsubscribes"
COMMIT: Final = "the application commits asynchronously"
COMMIT_SYNC: Final = "the application commits synchronously"
POLL: Final = "the application polls again"
CLOSE: Final = "the application closes the consumer"
# Time and connections.
HEARTBEAT_INTERVAL: Final = "heartbeat.interval.ms passes"
AUTO_COMMIT_INTERVAL: Final = "auto.commit.interval.ms passes"
POLL_INTERVAL: Final = "max.poll.interval.ms passes without a poll"
SESSION_TIMEOUT: Final = "session.timeout.ms passes without an answer to a heartbeat"
DISCONNECT: Final = "the connection to the coordinator breaks"


class ClientEvent(NamedTuple):
    """Something that a consumer does: it sends a request, or calls or fails the application.

    Args:
        name: an API, or one of the names below.
        member_id: in a request, but not in FindCoordinator.
        generation: in SyncGroup, Heartbeat and OffsetCommit.
        leader: of SyncGroup, whether it has the assignments of the group.
        partitions: of a call of the listener; in JoinGroup, those that the consumer owns. That
            onPartitionsRevoked or onPartitionsLost is called with none is no event.
        error: why something failed: the name of an error code, or one of the kinds below.
    """

    name: str
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    leader: bool = False
    partitions: tuple[int, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        fields = []
        if self.name in REQUESTS and self.name != "FindCoordinator":
            fields.append(f"member id {self.member_id!r}")
        if self.name in ("SyncGroup", "Heartbeat", "OffsetCommit"):
            fields.append(f"generation {self.generation}")
        if self.leader:
            fields.append("with the assignments")
        if self.partitions or self.name in CALLBACKS:
            fields.append(f"partitions {list(self.partitions)}")
        if self.error:
            fields.append(self.error)
        return f"{self.name}: {', '.join(fields)}" if fields else self.name


REQUESTS: Final = (
    "FindCoordinator",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "OffsetCommit",
    "LeaveGroup",
)

# Calls of the rebalance listener.
ASSIGNED: Final = "onPartitionsAssigned"
REVOKED: Final = "onPartitionsRevoked"
LOST: Final = "onPartitionsLost"
CALLBACKS: Final = (ASSIGNED, REVOKED, LOST)
# The results of a commit, and the error that a poll raises.
COMMITTED: Final = "the commit succeeds"
COMMIT_FAILED: Final = "the commit fails"
RAISED: Final = "poll raises an error"

# Kinds of errors of a commit and of a poll.
RETRIABLE: Final = "retriable"
REBALANCING: Final = "rebalance in progress"
NOT_A_MEMBER: Final = "no longer a member"
FATAL: Final = "fatal"  # the application can only close the consumer
OTHER: Final = "another error"
