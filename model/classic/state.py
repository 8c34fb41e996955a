"""The state of one group at its coordinator: small immutable records without behaviour.

The state has the time left on each timer, in milliseconds, so that equal futures are equal states.
Member ids are symbols: `#7` is the id that the coordinator made for request 7, whatever the port
under test called it.
"""

from __future__ import annotations

from enum import StrEnum
from operator import itemgetter
from sys import maxsize
from typing import Any, Final, NamedTuple, TypeVar

from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    Protocol,
    ResponseBody,
)


class Member(NamedTuple):
    """A member of the group.

    `awaiting_join` and `awaiting_sync` are the ids of its parked requests. `session_left_ms` is
    None while a parked request keeps the member alive. `revealed` is whether an answer has revealed
    the member id: a client cannot use an id that it has not received. A static member has a
    `group_instance_id`. `unsynced` is whether the generation still waits for its SyncGroup, in
    versions that wait for them. `null_instance` is whether it counts as a static member although it
    has no group.instance.id.
    """

    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    is_new: bool
    revealed: bool
    session_left_ms: int | None
    awaiting_join: int | None = None
    awaiting_sync: int | None = None
    assignment: bytes = b""
    group_instance_id: str | None = None
    unsynced: bool = False
    null_instance: bool = False

    @property
    def counts_as_static(self) -> bool:
        """Whether it is a static member, or counts as one."""
        return self.group_instance_id is not None or self.null_instance

    def metadata(self, protocol_name: str) -> bytes:
        """The metadata of its first protocol of that name, which it has in Kafka."""
        return next((p.metadata for p in self.protocols if p.name == protocol_name), b"")


STOPPED_MS = maxsize  # left on a timer that has fired and that edited rules do not restart


class Pending(NamedTuple):
    """A member id given with MEMBER_ID_REQUIRED, with which no member has joined yet."""

    member_id: str
    left_ms: int


class JoinTimer(NamedTuple):
    """The timer that ends PreparingRebalance: the rebalance timeout, or the initial delay.

    An `initial` timer never ends early; `round_ms` is the length of its present round and
    `extension_ms` how much it may still be extended.
    """

    left_ms: int
    initial: bool = False
    round_ms: int = 0
    extension_ms: int = 0


class Offset(NamedTuple):
    """A committed offset.

    `left_ms` is the rest of its retention time, None where ages are not kept. It is `fixed` if the
    commit has set the retention time.
    """

    committed_offset: int
    committed_leader_epoch: int
    metadata: str
    left_ms: int | None = None
    fixed: bool = False

    @property
    def ageless(self) -> Offset:
        """The offset without its age and retention time."""
        return Offset(*self[:3])


GONE = "gone"  # in the canonical form, the id of a removed member
NEVER = -1  # of a commit that will never be complete, instead of its request id

TopicPartition = tuple[str, int]


class PendingOffset(NamedTuple):
    """An offset that a transaction has committed, and whose marker has not arrived.

    `request_id` is that of its TxnOffsetCommit while the append is not complete, None afterwards.
    `newer` is whether it is later in the log than the readable offset of the partition: only then
    the marker makes it readable.
    """

    producer_id: int
    partition: TopicPartition
    offset: Offset
    request_id: int | None
    newer: bool = True


K = TypeVar("K", bound=tuple[Any, ...] | str)
V = TypeVar("V")


class Group(NamedTuple):
    """A group, members and pending ids in the order of their symbols.

    Args:
        join_timer: in PreparingRebalance.
        new_member_added: whether a member has joined during the initial delay.
        unstable: for each partition the request id of the offset commit that was last prepared for
            it and is not complete; beside it `NEVER` if a commit of it will never be complete.
        orphaned_timers: the time left, in ms, on session timers of removed members, in versions
            that leave them running.
        statics: for each group.instance.id the member id that it belongs to; where that member was
            removed under another name, it still does.
        sync_left_ms: the time left for members to sync, in versions that limit it, while a member
            has not synced.
        not_persisted: whether it has no written record, in versions that show only written groups.
        transactions: the pending offsets of transactions, those of a partition in the order of the
            log.
        producers: those whose marker is awaited.
        subscribed: the topics that the members subscribe to, None if the coordinator does not know.
        empty_left_ms: the rest of the retention time of the offsets of a group without members, in
            versions that count from when the last member left.
        lost_sync: whether the generation waits for the SyncGroup of the former id of a static
            member.
        has_empty_id: whether a commit to the group with the empty id created it, which is another
            group than any with a name.
    """

    state: GroupState = GroupState.EMPTY
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: tuple[Member, ...] = ()
    pending: tuple[Pending, ...] = ()
    join_timer: JoinTimer | None = None
    new_member_added: bool = False
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    unstable: tuple[tuple[TopicPartition, int], ...] = ()
    orphaned_timers: tuple[int, ...] = ()
    statics: tuple[tuple[str, str], ...] = ()
    sync_left_ms: int | None = None
    not_persisted: bool = False
    transactions: tuple[PendingOffset, ...] = ()
    producers: tuple[int, ...] = ()
    subscribed: tuple[str, ...] | None = None
    empty_left_ms: int | None = None
    lost_sync: bool = False
    has_empty_id: bool = False

    def member(self, member_id: str) -> Member | None:
        """The member of that id, None if there is none."""
        for member in self.members:
            if member.member_id == member_id:
                return member
        return None

    def is_pending(self, member_id: str) -> bool:
        """Whether the member id is pending."""
        return any(pending.member_id == member_id for pending in self.pending)

    def static(self, group_instance_id: str | None) -> str | None:
        """The member id of a group.instance.id, None if it is not known."""
        for instance_id, member_id in self.statics:
            if instance_id == group_instance_id:
                return member_id
        return None

    def with_member(self, changed: Member) -> Group:
        """The group with the member of that id replaced."""
        return self._replace(
            members=tuple(changed if m.member_id == changed.member_id else m for m in self.members)
        )


class GroupAppend(NamedTuple):
    """A leader's assignments in flight to the log; `error` is how the append will end.

    `request_id` is that of the leader's SyncGroup, which is answered if the append is lost; None
    once it was answered.
    """

    generation_id: int
    assignments: tuple[tuple[str, bytes], ...]
    error: ErrorCode = ErrorCode.NONE
    request_id: int | None = None


class StaticAppend(NamedTuple):
    """The new id of a static member that rejoined, in flight to the log.

    Args:
        revealed: the id that the answer will reveal.
        member_id: the member's current id, None once it is removed.
        leader: the leader when the member rejoined.
        replaced: its former id, which it gets back if the append ends with an `error`.
        was_revealed: whether an answer had revealed the former id.
        error: how the append will end.
        after_unload: if the group was unloaded meanwhile, the request to answer nevertheless, and
            the answer if the append succeeds.
        current: whether the answer names the leader of the time when the append completes, and
            lists the members for a leader, which need not assign them.
        before: the group before the member rejoined, in versions that restore all of it.
        offered: the protocols that the member rejoined with.
    """

    revealed: str
    member_id: str | None
    leader: str | None
    replaced: str = GONE
    was_revealed: bool = True
    error: ErrorCode = ErrorCode.NONE
    after_unload: tuple[int, JoinGroupResponse] | None = None
    current: bool = False
    before: Group | None = None
    offered: tuple[Protocol, ...] = ()


class OffsetsAppend(NamedTuple):
    """A commit in flight to the log; `refused` are the partitions whose metadata is too long.

    `producer_id` is that of a transaction, if it is one's. It is `orphaned` if its group has been
    deleted, `after_unload` if its group has been unloaded. `error` is how the append will end.
    """

    request_id: int
    offsets: tuple[tuple[TopicPartition, Offset], ...]
    refused: tuple[TopicPartition, ...]
    producer_id: int | None = None
    orphaned: bool = False
    error: ErrorCode = ErrorCode.NONE
    after_unload: bool = False


class HeldAnswer(NamedTuple):
    """An answer that is deferred until every record written before it is committed.

    It names the API: answers to two APIs may be equal tuples.
    """

    request_id: int
    api: str
    body: ResponseBody


class HeldRequest(NamedTuple):
    """A parked JoinGroup (if it `joins`) or SyncGroup that fails if an earlier record does.

    The group answers it, whatever is committed. If the partition is lost first, it gets this error,
    even if the group no longer waits for it.
    """

    request_id: int
    joins: bool


class HeldDeletion(NamedTuple):
    """A DeleteGroups that is processed once every record written before it is committed."""

    request_id: int
    body: DeleteGroupsRequest


Written = GroupAppend | StaticAppend | OffsetsAppend
Append = Written | HeldAnswer | HeldRequest | HeldDeletion


class Committed(NamedTuple):
    """What requests read while a record is not committed.

    The visible group is the `newest`, as it is now, or else `group`: a removed one, or None.
    `offsets` are those that can be read.
    """

    newest: bool
    group: Group | None = None
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()


class GroupRecord(NamedTuple):
    """A group in the log, with its members as a load restores them."""

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[Member, ...]
    empty_left_ms: int | None = None


class Log(NamedTuple):
    """The log of the group: for each key its last record, unless that is a tombstone.

    `transactions` and `producers` are those whose marker is not in the log, as in `Group`. It is
    `emptied` if it has only offsets of the group, all deleted or aborted, and is not compacted yet.
    """

    group: GroupRecord | None = None
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    transactions: tuple[PendingOffset, ...] = ()
    producers: tuple[int, ...] = ()
    emptied: bool = False


class FailAppends(NamedTuple):
    """Input: the next `number` appends fail with `error`."""

    number: int
    error: ErrorCode


class Serving(StrEnum):
    """Whether this coordinator has the group's partition of the log.

    `UNKNOWN`: nothing is known of the coordinator, after an answer of a port that deviates.
    """

    __hash__ = str.__hash__

    SERVED = "served"
    LOADING = "loading"
    UNLOADED = "unloaded"
    UNKNOWN = "unknown"


class Coordinator(NamedTuple):
    """The whole state: the group (None before a request names it) and the appends that are held.

    It is not `active` once it was shut down. `failing` are the appends that are going to fail.
    `log` is None in instances that never load from it. `committed` is None where every record is
    committed, and in versions that read uncommitted ones. `max_size` is the group.max.size of the
    broker that has the partition, None if it is that of the instance. `removed_group_join_ms` is
    the time left on the join timer of a group that a failed append removed, None if there is none.
    """

    group: Group | None = None
    holding: bool = False
    appends: tuple[Append, ...] = ()
    serving: Serving = Serving.SERVED
    active: bool = True
    failing: FailAppends | None = None
    log: Log | None = None
    committed: Committed | None = None
    max_size: int | None = None
    removed_group_join_ms: int | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of the state."""
        return self.serving is Serving.UNKNOWN


UNKNOWN: Final = Coordinator(serving=Serving.UNKNOWN)


class Advance(NamedTuple):
    """Input: let time pass."""

    ms: int


class HoldAppends(NamedTuple):
    """Input: from now on appends do not complete."""


class ReleaseAppends(NamedTuple):
    """Input: the held appends complete, in order, and later ones at once."""


# Records without fields would be equal, whatever their types, so each has its name.
class Crash(NamedTuple):
    """Input: memory is lost, and a partition that was served or loading is loaded from the log."""

    name: str = "crash"


class Unload(NamedTuple):
    """Input: this coordinator loses the partition."""

    name: str = "unload"


class Loading(NamedTuple):
    """Input: the partition begins to be loaded; if it was served, it is unloaded first."""

    name: str = "loading"


class Load(NamedTuple):
    """Input: the partition has been loaded, and is served from now on."""

    name: str = "load"


class Shutdown(NamedTuple):
    """Input: the coordinator is shut down."""

    name: str = "shutdown"


class Configure(NamedTuple):
    """Input: the broker that loads the partition next has another group.max.size."""

    max_size: int
    name: str = "configure"


class Cleanup(NamedTuple):
    """Input: the coordinator removes the offsets that have expired, and groups with none."""

    name: str = "cleanup"


def put(entries: tuple[tuple[K, V], ...], key: K, value: V) -> tuple[tuple[K, V], ...]:
    """A sorted map, as a tuple of pairs, with one entry set."""
    return tuple(sorted({**dict(entries), key: value}.items(), key=itemgetter(0)))
