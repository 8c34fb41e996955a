"""The state of one group at its coordinator: small immutable records, and nothing that acts.

Time is in the state as what is left on each timer, in milliseconds, so that equal futures are equal
states. Member ids are symbols: `#7` is the id that the coordinator made for request 7, whatever
the port under test called it.
"""

from __future__ import annotations

from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from groupcheck.model.vocabulary import (
    ErrorCode,
    GroupState,
    JoinGroupResponse,
    Protocol,
    ResponseBody,
)


class Member(NamedTuple):
    """A member of the group.

    `awaiting_join` and `awaiting_sync` are the ids of its parked requests. `session_left_ms` is
    None while a parked request keeps the member alive. `revealed` says whether any answer has shown
    the member's id yet: a client cannot use an id it was never told. A static member has a
    `group_instance_id`. `unsynced` says, where a version waits for SyncGroups, that the generation
    still waits for the member's. `null_instance` says that it counts as a static member, though it
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

    def metadata(self, protocol_name: str) -> bytes:
        """The metadata of its first protocol of that name, which it must have."""
        return next(p.metadata for p in self.protocols if p.name == protocol_name)


class Pending(NamedTuple):
    """An id given with MEMBER_ID_REQUIRED that has not joined yet."""

    member_id: str
    left_ms: int


class JoinTimer(NamedTuple):
    """What ends PreparingRebalance: the rebalance timeout, or the initial delay.

    An `initial` timer never ends early; `round_ms` is the length of its present round and
    `extension_ms` how much it may still be prolonged.
    """

    left_ms: int
    initial: bool = False
    round_ms: int = 0
    extension_ms: int = 0


class Offset(NamedTuple):
    """A committed offset.

    `left_ms` is what is left of the time for which it is retained, None where that is not kept; it
    is `fixed` if the commit said how long that is.
    """

    committed_offset: int
    committed_leader_epoch: int
    metadata: str
    left_ms: int | None = None
    fixed: bool = False

    @property
    def ageless(self) -> Offset:
        """The same, whenever it was committed and however long it is retained."""
        return Offset(*self[:3])


GONE = "gone"  # in the canonical form, an id that is no member's any more

TopicPartition = tuple[str, int]


class PendingOffset(NamedTuple):
    """An offset that a transaction has committed, and whose marker has not come.

    `request_id` is that of its TxnOffsetCommit while the append is not complete, None afterwards.
    `newer` says whether it stands later in the log than the offset of the partition that can be
    read: only then does the marker make it the one that is read.
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

    `orphaned_timers` is what is left, in ms, on session timers of members that are gone, where a version
    lets them run on. `unstable` maps a partition to the offset commit that was last prepared for
    it and is not complete: a request id. `statics` has for each group.instance.id the member that
    it stands for; where that one was removed by another name, it still does. `sync_left_ms`
    is what is left for members to sync, where a version limits it and somebody has not. `unwritten`
    says, where a version shows only what is written, that nothing is. `transactions` are the
    pending offsets of transactions, those of a partition in the order of the log, and `producers`
    those whose marker is awaited. `subscribed` are the topics that the members have subscribed to,
    None if that is not known. `empty_left_ms` is what is left of the time for which the offsets of
    a group are retained whose last member has gone, where a version counts from then. `lost_sync`
    says that the generation waits for the SyncGroup of an id that a static member has no longer.
    `has_empty_id` says that it was made by a commit to the group without a name, which is another one
    wherever there is one with a name.
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
    unwritten: bool = False
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
        """Whether that id was given out and has not joined yet."""
        return any(pending.member_id == member_id for pending in self.pending)

    def static(self, group_instance_id: str | None) -> str | None:
        """The id of the member that a group.instance.id stands for, None if it is not known."""
        for instance_id, member_id in self.statics:
            if instance_id == group_instance_id:
                return member_id
        return None

    def with_member(self, changed: Member) -> Group:
        """The group with that member in the place of the one of the same id."""
        return self._replace(
            members=tuple(changed if m.member_id == changed.member_id else m for m in self.members)
        )


class GroupAppend(NamedTuple):
    """A leader's assignments on their way to the log; `error` is how the append will end.

    `request_id` is that of the leader's SyncGroup where it is answered if the append is lost, None
    once it was answered.
    """

    generation_id: int
    assignments: tuple[tuple[str, bytes], ...]
    error: ErrorCode = ErrorCode.NONE
    request_id: int | None = None


class StaticAppend(NamedTuple):
    """The new id of a static member that came back, on its way to the log.

    `revealed` is the id that the answer will tell, `member_id` the one that the member has by now, None
    once it is gone. `leader` led when it came back. If the append ends with an `error`, the member
    is given back the id that it had, `replaced`, which was told or not as `was_revealed` says, and
    offers what it has `offered` as it came back; where a version restores all that it was, the
    group is that `before` it came back. Where the group was
    unloaded meanwhile, `outlived` is the request to answer nevertheless, and the answer if all is
    well. If it is `current`, it tells who leads by then, and a leader the members, whom it need not
    assign.
    """

    revealed: str
    member_id: str | None
    leader: str | None
    replaced: str = GONE
    was_revealed: bool = True
    error: ErrorCode = ErrorCode.NONE
    outlived: tuple[int, JoinGroupResponse] | None = None
    current: bool = False
    before: Group | None = None
    offered: tuple[Protocol, ...] = ()


class OffsetsAppend(NamedTuple):
    """A commit on its way to the log; `refused` are the partitions whose metadata is too long.

    `producer_id` is that of a transaction, if it is one's. `orphaned` says that the group it was
    meant for has been deleted, `outlived` that it has been unloaded. `error` is how the append will
    end.
    """

    request_id: int
    offsets: tuple[tuple[TopicPartition, Offset], ...]
    refused: tuple[TopicPartition, ...]
    producer_id: int | None = None
    orphaned: bool = False
    error: ErrorCode = ErrorCode.NONE
    outlived: bool = False


class HeldAnswer(NamedTuple):
    """An answer that is held back until all that was written before it is committed.

    It says to which API: answers to two of them may be equal, tuples that they are.
    """

    request_id: int
    api: str
    body: ResponseBody


class HeldRequest(NamedTuple):
    """A parked JoinGroup (if it `joins`) or SyncGroup that fails with what was written before it.

    It is answered by the group, whatever is committed; but if the partition is lost before that, it
    is by this that it is told, even where the group waits for it no longer.
    """

    request_id: int
    joins: bool


Written = GroupAppend | StaticAppend | OffsetsAppend
Append = Written | HeldAnswer | HeldRequest


class Committed(NamedTuple):
    """What is read while something is written that is not committed.

    The group that shows is the `newest`, as it is by now, or else `group`: one that has been
    removed, or None if none was there. `offsets` are those that can be read.
    """

    newest: bool
    group: Group | None = None
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()


class GroupRecord(NamedTuple):
    """A group as the log has it, its members as they will be when it is loaded."""

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[Member, ...]
    empty_left_ms: int | None = None


class Log(NamedTuple):
    """What the log says of the group: for each key its last record, unless that removes it.

    `transactions` and `producers` are those whose marker is not in the log, as in `Group`.
    """

    group: GroupRecord | None = None
    offsets: tuple[tuple[TopicPartition, Offset], ...] = ()
    transactions: tuple[PendingOffset, ...] = ()
    producers: tuple[int, ...] = ()


class FailAppends(NamedTuple):
    """Input: the next so many appends fail with `error`."""

    number: int
    error: ErrorCode


class Serving(StrEnum):
    """Whether this coordinator has the group's partition of the log."""

    __hash__ = str.__hash__

    SERVED = "served"
    LOADING = "loading"
    UNLOADED = "unloaded"


class Coordinator(NamedTuple):
    """All there is: the group (None before anybody named it) and the appends that are held.

    It is not `active` once it was shut down. `failing` are the appends that will yet fail. `log` is
    None where it is not kept, because nothing will ever be loaded from it. `committed` is None
    where all that is written is committed, or where a version reads what is not, too.
    """

    group: Group | None = None
    holding: bool = False
    appends: tuple[Append, ...] = ()
    serving: Serving = Serving.SERVED
    active: bool = True
    failing: FailAppends | None = None
    log: Log | None = None
    committed: Committed | None = None


class Advance(NamedTuple):
    """Input: let time pass."""

    ms: int


class HoldAppends(NamedTuple):
    """Input: from now on appends do not complete."""


class ReleaseAppends(NamedTuple):
    """Input: the held appends complete, in order, and later ones at once."""


# Records without fields would be equal, whatever their types: each of these says what it is.
class Crash(NamedTuple):
    """Input: memory is lost, and what was served or being loaded is loaded from the log."""

    happens: str = "crash"


class Unload(NamedTuple):
    """Input: this coordinator loses the partition."""

    happens: str = "unload"


class Loading(NamedTuple):
    """Input: the partition begins to be loaded; if it was served, it is unloaded first."""

    happens: str = "loading"


class Load(NamedTuple):
    """Input: the partition has been loaded, and is served from now on."""

    happens: str = "load"


class Shutdown(NamedTuple):
    """Input: the coordinator is shut down."""

    happens: str = "shutdown"


class Cleanup(NamedTuple):
    """Input: the coordinator removes the offsets that have expired, and groups with none."""

    happens: str = "cleanup"


def put(entries: tuple[tuple[K, V], ...], key: K, value: V) -> tuple[tuple[K, V], ...]:
    """A sorted map, as a tuple of pairs, with one entry set."""
    return tuple(sorted({**dict(entries), key: value}.items(), key=itemgetter(0)))
