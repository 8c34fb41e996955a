"""What clients ask in a canonical state, feature by feature: the inputs of an instance.

Each request is at the newest version that the profile speaks. What is refused before the group is
looked at is asked once, while there is no group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import permutations
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.model import vocabulary as kafka
from groupcheck.model.config import Config
from groupcheck.model.state import (
    Cleanup,
    Configure,
    Coordinator,
    Crash,
    FailAppends,
    Group,
    HoldAppends,
    Load,
    Loading,
    OffsetsAppend,
    ReleaseAppends,
    Serving,
    Shutdown,
    Unload,
)
from groupcheck.model.step import Profile
from groupcheck.model.storing.records import possible_errors
from groupcheck.model.vocabulary import (
    NO_GENERATION,
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    Request,
    RequestBody,
)

GROUP_ID = "group"
NOBODY = "nobody"  # a member id that was never given out
PROTOCOLS = (kafka.Protocol("range", b"one"),)
OTHER_PROTOCOLS = (kafka.Protocol("range", b"two"),)
OTHER_OFFER = (
    kafka.Protocol("sticky", b"one"),
    kafka.Protocol("range", b"one"),
)  # preferred another way
INSTANCE = "instance"  # the group.instance.id of static members
NO_INSTANCE = "no-instance"  # one that no member has
TOPIC = "topic"
OTHER_TOPIC = "other"
# What a consumer offers that has subscribed to the other topic: version 0, one topic, no user data.
SUBSCRIBED_PROTOCOLS = (kafka.Protocol("range", b"\0\0\0\0\0\1\0\5other\0\0\0\0"),)
# And of one that has subscribed to the topic that offsets are committed of.
TOPIC_PROTOCOLS = (kafka.Protocol("range", b"\0\0\0\0\0\1\0\5topic\0\0\0\0"),)
PRODUCER_ID = 7

# What a commit says where it says too much: more than the broker allows, and no more than a string
# of the older versions can be.
LONGEST_STRING = 32_767


class Feature(StrEnum):
    """What an instance may have besides members that join, sync, heartbeat and leave.

    Each multiplies the states: an instance stays small if it has only those that it is about.
    """

    TIME = "time"
    METADATA = "metadata"
    OFFSETS = "offsets"
    HELD_APPENDS = "held-appends"
    STATIC_MEMBERS = "static-members"
    MAX_SIZE = "max-size"
    TRANSACTIONS = "transactions"
    ADMINISTRATION = "administration"
    FAILING_APPENDS = "failing-appends"
    CRASHES = "crashes"
    FAILOVER = "failover"
    EXPIRY = "expiry"


# Of the errors of appends one that SyncGroup and OffsetCommit map alike, and one that they do not,
# which comes after the record is in the log.
ERRORS: Final = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT)

# What leads to each of the states that a partition can be in.
MOVES: Final[Mapping[Serving, Unload | Loading | Load]] = MappingProxyType(
    {Serving.UNLOADED: Unload(), Serving.LOADING: Loading(), Serving.SERVED: Load()}
)

# What group.max.size may become while the partition is not served.
SIZES: Final = (1, 2)

EnvironmentInput = (
    HoldAppends
    | ReleaseAppends
    | FailAppends
    | Crash
    | Unload
    | Loading
    | Load
    | Configure
    | Shutdown
    | Cleanup
)


class Environment(NamedTuple):
    """A canonical state as the clients of an instance see it, and what is the same for all of them.

    Timeouts are in milliseconds. `revealed` and `pending` are the ids that clients know. A new
    member may join if there is `room`. Members name the topics they want if it `subscribes`.
    """

    profile: Profile
    config: Config
    state: Coordinator
    session_ms: int
    rebalance_ms: int
    room: bool
    subscribes: bool = False

    @property
    def group(self) -> Group:
        """The group; one that is not there is as good as an empty one."""
        return self.state.group or Group()

    @property
    def revealed(self) -> list[str]:
        """The ids of members that an answer has revealed."""
        return [m.member_id for m in self.group.members if m.revealed]

    @property
    def pending(self) -> list[str]:
        """The ids given out and not used yet."""
        return [p.member_id for p in self.group.pending]

    def join(self, member_id: str) -> kafka.JoinGroupRequest:
        """A JoinGroup of that member."""
        protocols = SUBSCRIBED_PROTOCOLS if self.subscribes else PROTOCOLS
        return kafka.JoinGroupRequest(
            GROUP_ID, self.session_ms, self.rebalance_ms, member_id, protocols=protocols
        )


def membership(environment: Environment, features: frozenset[Feature]) -> Iterator[RequestBody]:
    """What every instance has, with the requests of its features where they were always."""
    group, revealed = environment.group, environment.revealed
    current, older = group.generation_id, group.generation_id - 1
    yield from _joins(environment, changed=Feature.METADATA in features)
    yield from _syncs(group, revealed)
    for member_id in (*revealed, NOBODY):
        yield kafka.HeartbeatRequest(GROUP_ID, current, member_id)
    for member_id in revealed:
        yield kafka.HeartbeatRequest(GROUP_ID, older, member_id)
    for member_id in (*revealed, *environment.pending, NOBODY):
        yield kafka.LeaveGroupRequest(GROUP_ID, (kafka.MemberIdentity(member_id),))
    if len(revealed) > 1 and environment.profile.max_versions["LeaveGroup"] >= 3:
        for order in permutations(revealed):
            yield kafka.LeaveGroupRequest(GROUP_ID, tuple(map(kafka.MemberIdentity, order)))
    for feature, asked in ASKED.items():
        if feature in features:
            yield from asked(environment)
    yield kafka.DescribeGroupsRequest((GROUP_ID,))
    if environment.state.group is None:
        yield from _refused_at_once(environment)


def _joins(environment: Environment, *, changed: bool) -> Iterator[kafka.JoinGroupRequest]:
    for member_id in (*environment.revealed, *environment.pending, NOBODY):
        yield environment.join(member_id)
    if changed:
        for member_id in environment.revealed:
            yield environment.join(member_id)._replace(protocols=OTHER_PROTOCOLS)
    for member_id in (NO_MEMBER_ID, *environment.revealed):
        yield environment.join(member_id)._replace(protocols=())
    if environment.room:
        yield environment.join(NO_MEMBER_ID)


def _syncs(group: Group, revealed: list[str]) -> Iterator[kafka.SyncGroupRequest]:
    everybody = tuple(kafka.Assignment(m.member_id, b"part") for m in group.members)
    name = group.protocol_name or "range"
    for member_id in (*revealed, NOBODY):
        sync = kafka.SyncGroupRequest(
            GROUP_ID, group.generation_id, member_id, None, "consumer", name
        )
        yield sync._replace(assignments=everybody if member_id == group.leader else ())
    for member_id in revealed:
        sync = kafka.SyncGroupRequest(
            GROUP_ID, group.generation_id, member_id, None, "consumer", name
        )
        yield sync._replace(generation_id=group.generation_id - 1)
        yield sync._replace(protocol_type="connect")
        yield sync._replace(protocol_name="roundrobin")


def _refused_at_once(environment: Environment) -> Iterator[RequestBody]:
    yield environment.join(NO_MEMBER_ID)._replace(group_id="")
    yield environment.join(NO_MEMBER_ID)._replace(session_timeout_ms=1)
    yield kafka.SyncGroupRequest("", 0, NOBODY, None, "consumer", "range")
    yield kafka.SyncGroupRequest(GROUP_ID, 0, NOBODY)
    yield kafka.HeartbeatRequest("", 0, NOBODY)
    yield kafka.LeaveGroupRequest("", (kafka.MemberIdentity(NOBODY),))
    yield kafka.OffsetCommitRequest(GROUP_ID, 0, NOBODY)


def offsets(environment: Environment) -> Iterator[RequestBody]:
    """Commits and fetches of the one partition of the instance."""
    current, older = environment.group.generation_id, environment.group.generation_id - 1
    for member_id in (*environment.revealed, NOBODY):
        yield commit(current, member_id)
    for member_id in environment.revealed:
        yield commit(older, member_id)
    yield commit(NO_GENERATION, NO_MEMBER_ID)
    yield commit(NO_GENERATION, NO_MEMBER_ID, metadata=_too_long(environment))
    yield fetch(require_stable=False)
    yield fetch(require_stable=True)


def _too_long(environment: Environment) -> str:
    """Metadata that is refused; as long as a string can be, where the broker allows any."""
    return "x" * min(environment.config.offset_metadata_max_bytes + 1, LONGEST_STRING)


def static_members(environment: Environment) -> Iterator[RequestBody]:
    """What the program with the group.instance.id asks, and others under its name by mistake."""
    current = environment.group.generation_id
    in_transactions = "TxnOffsetCommit" in environment.profile.max_versions
    yield from returns(environment, frozenset({Feature.STATIC_MEMBERS}))
    for member_id in (*environment.revealed, *environment.pending, NOBODY):
        yield environment.join(member_id)._replace(group_instance_id=INSTANCE)
        for instance_id in (INSTANCE, NO_INSTANCE):
            yield kafka.LeaveGroupRequest(GROUP_ID, (kafka.MemberIdentity(member_id, instance_id),))
    for member_id in (*environment.revealed, NOBODY):
        yield kafka.SyncGroupRequest(GROUP_ID, current, member_id, INSTANCE, "consumer", "range")
        yield kafka.HeartbeatRequest(GROUP_ID, current, member_id, INSTANCE)
        yield commit(current + 1, member_id)._replace(group_instance_id=INSTANCE)
        if in_transactions:
            yield txn_commit(current + 1, member_id)._replace(group_instance_id=INSTANCE)
    for instance_id in (INSTANCE, NO_INSTANCE):
        yield kafka.LeaveGroupRequest(GROUP_ID, (kafka.MemberIdentity(NO_MEMBER_ID, instance_id),))


def returns(
    environment: Environment, features: frozenset[Feature]
) -> Iterator[kafka.JoinGroupRequest]:
    """The program with the group.instance.id comes, or comes back, perhaps with another offer."""
    newcomer = environment.join(NO_MEMBER_ID)._replace(group_instance_id=INSTANCE)
    if not environment.room and environment.group.static(INSTANCE) is None:
        return
    if not features.isdisjoint({Feature.STATIC_MEMBERS, Feature.MAX_SIZE}):
        yield newcomer
    if Feature.STATIC_MEMBERS in features:
        yield newcomer._replace(protocols=OTHER_OFFER)


def max_size(environment: Environment) -> Iterator[RequestBody]:
    """What static members ask: enough to show what becomes of one that is rejected."""
    yield from returns(environment, frozenset({Feature.MAX_SIZE}))
    yield kafka.LeaveGroupRequest(GROUP_ID, (kafka.MemberIdentity(NO_MEMBER_ID, INSTANCE),))


def commit(generation_id: int, member_id: str, metadata: str = "") -> kafka.OffsetCommitRequest:
    """A commit of the one partition of the instance."""
    partition = kafka.OffsetCommitRequestPartition(0, 5, committed_metadata=metadata)
    topics = (kafka.OffsetCommitRequestTopic(TOPIC, (partition,)),)
    return kafka.OffsetCommitRequest(GROUP_ID, generation_id, member_id, topics=topics)


def fetch(*, require_stable: bool) -> kafka.OffsetFetchRequest:
    """A fetch of the one partition of the instance."""
    return kafka.OffsetFetchRequest(
        GROUP_ID, (kafka.OffsetFetchRequestTopic(TOPIC, (0,)),), require_stable
    )


def transactions(environment: Environment) -> Iterator[RequestBody]:
    """Commits in and outside transactions of one producer, its markers, and fetches.

    No marker comes before a TxnOffsetCommit that is on its way to the log.
    """
    current, older = environment.group.generation_id, environment.group.generation_id - 1
    for member_id in (*environment.revealed, NOBODY):
        yield txn_commit(current, member_id)
    for member_id in environment.revealed:
        yield txn_commit(older, member_id)
        yield txn_commit(NO_GENERATION, member_id)
        yield commit(current, member_id)
    yield txn_commit(current, NO_MEMBER_ID)
    yield txn_commit(NO_GENERATION, NO_MEMBER_ID)
    yield commit(NO_GENERATION, NO_MEMBER_ID)
    yield fetch(require_stable=False)
    yield fetch(require_stable=True)
    if not any(isinstance(a, OffsetsAppend) and a.producer_id for a in environment.state.appends):
        for committed in (True, False):
            yield kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed)
    if environment.state.group is None:
        yield txn_commit(NO_GENERATION, NO_MEMBER_ID, metadata=_too_long(environment))
        yield txn_commit(NO_GENERATION, NO_MEMBER_ID)._replace(topics=())
        yield txn_commit(0, NO_MEMBER_ID)._replace(group_id="")
        yield kafka.EndTxnRequest("", PRODUCER_ID, committed=True)


def txn_commit(
    generation_id: int, member_id: str, metadata: str = ""
) -> kafka.TxnOffsetCommitRequest:
    """A commit of the one partition of the instance in a transaction."""
    partition = kafka.TxnOffsetCommitRequestPartition(0, 6, committed_metadata=metadata)
    return kafka.TxnOffsetCommitRequest(
        "transaction",
        GROUP_ID,
        PRODUCER_ID,
        generation_id=generation_id,
        member_id=member_id,
        topics=(kafka.TxnOffsetCommitRequestTopic(TOPIC, (partition,)),),
    )


def administration(environment: Environment) -> Iterator[RequestBody]:
    """What an administrator asks, as far as the version has it, and offsets that can be deleted."""
    newest = environment.profile.max_versions
    yield commit(NO_GENERATION, NO_MEMBER_ID)
    for member_id in environment.revealed:
        yield commit(environment.group.generation_id, member_id)
    yield fetch(require_stable=False)
    yield kafka.ListGroupsRequest()
    if newest["ListGroups"] >= 4:
        yield kafka.ListGroupsRequest((GroupState.EMPTY.value,))
        yield kafka.ListGroupsRequest((GroupState.EMPTY.value.lower(),))
    if newest["ListGroups"] >= 5:
        yield kafka.ListGroupsRequest(types_filter=("consumer",))
    if environment.state.group is None and "describe/unwritten" in environment.profile.rules:
        yield commit(NO_GENERATION, NO_MEMBER_ID, metadata=_too_long(environment))
    if "DeleteGroups" in newest:
        yield kafka.DeleteGroupsRequest((GROUP_ID,))
    if "OffsetDelete" in newest:
        for topic in (TOPIC, OTHER_TOPIC):
            yield offset_delete(topic)
        for member_id in environment.pending:
            yield environment.join(member_id)._replace(protocol_type="connect")
        if environment.state.group is None:
            yield offset_delete(TOPIC)._replace(group_id="")


def offset_delete(topic: str) -> kafka.OffsetDeleteRequest:
    """The deletion of the offset of a topic's one partition."""
    partitions = (kafka.OffsetDeleteRequestPartition(0),)
    return kafka.OffsetDeleteRequest(GROUP_ID, (kafka.OffsetDeleteRequestTopic(topic, partitions),))


def expiry(environment: Environment) -> Iterator[RequestBody]:
    """Commits of offsets that may expire, and what consumers have subscribed to."""
    yield commit(NO_GENERATION, NO_MEMBER_ID)
    for member_id in environment.revealed:
        yield commit(environment.group.generation_id, member_id)
        if "OffsetDelete" in environment.profile.max_versions:
            yield environment.join(member_id)._replace(protocols=TOPIC_PROTOCOLS)
    # In 0.10.2 it stays pending, so that neither the offset nor the group expires.
    if {"cleanup/each-by-itself", "cleanup/group-gone"} <= environment.profile.rules.keys():
        yield commit(NO_GENERATION, NO_MEMBER_ID, metadata=_too_long(environment))
    yield fetch(require_stable=False)


def faults(
    state: Coordinator, features: frozenset[Feature], profile: Profile
) -> Iterator[EnvironmentInput]:
    """What may happen to the coordinator, but for time; of a shutdown only a crash is the end."""
    if Feature.HELD_APPENDS in features:
        yield ReleaseAppends() if state.holding else HoldAppends()
    if Feature.FAILING_APPENDS in features and state.failing is None:
        # With offsets that expire, one error is enough.
        errors = ERRORS[:1] if Feature.EXPIRY in features else ERRORS
        yield from (FailAppends(1, error) for error in possible_errors(profile.version, errors))
    if not features.isdisjoint({Feature.CRASHES, Feature.FAILOVER}):
        yield Crash()
    if Feature.EXPIRY in features:
        yield Cleanup()
    if Feature.FAILOVER in features:
        if state.active:
            yield Shutdown()
        if Feature.MAX_SIZE in features and state.serving is not Serving.SERVED:
            yield from map(Configure, SIZES)
        # After a shutdown the partition does not move.
        for serving, move in MOVES.items():
            if serving is not state.serving or not state.active:
                yield move


def action(given: object) -> str:
    """The name of the PlusCal process that an input belongs to."""
    return given.api if isinstance(given, Request) else type(given).__name__


# What clients ask because of a feature, over and above what they ask without it.
ASKED: Final[Mapping[Feature, Callable[[Environment], Iterator[RequestBody]]]] = MappingProxyType(
    {
        Feature.OFFSETS: offsets,
        Feature.STATIC_MEMBERS: static_members,
        Feature.MAX_SIZE: max_size,
        Feature.TRANSACTIONS: transactions,
        Feature.ADMINISTRATION: administration,
        Feature.EXPIRY: expiry,
    }
)
