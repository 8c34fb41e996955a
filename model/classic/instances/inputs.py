"""The inputs of a model instance in a canonical state, by feature.

Each request has the newest version that the profile supports. Requests that are rejected before the
group is looked up are sent only while the group does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import permutations
from types import MappingProxyType
from typing import Final, NamedTuple

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.state import (
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
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.storing.records import possible_errors
from groupcheck.model.vocabulary import (
    NO_GENERATION,
    NO_MEMBER_ID,
    ErrorCode,
    GroupState,
    Request,
    RequestBody,
)

GROUP_ID = "group"
NOBODY = "nobody"  # a member id that was never issued
PROTOCOLS = (kafka.Protocol("range", b"one"),)
OTHER_PROTOCOLS = (kafka.Protocol("range", b"two"),)
OTHER_OFFER = (
    kafka.Protocol("sticky", b"one"),
    kafka.Protocol("range", b"one"),
)  # with another preferred protocol
INSTANCE = "instance"  # the group.instance.id of static members
NO_INSTANCE = "no-instance"  # one that no member has
TOPIC = "topic"
OTHER_TOPIC = "other"
# The protocols of a consumer of the other topic: version 0, one topic, no user data.
SUBSCRIBED_PROTOCOLS = (kafka.Protocol("range", b"\0\0\0\0\0\1\0\5other\0\0\0\0"),)
# The protocols of a consumer of the topic whose offsets are committed.
TOPIC_PROTOCOLS = (kafka.Protocol("range", b"\0\0\0\0\0\1\0\5topic\0\0\0\0"),)
PRODUCER_ID = 7

# The longest string of older versions, which limits metadata that is meant to be too long.
LONGEST_STRING = 32_767


class Feature(StrEnum):
    """A feature of an instance besides members that join, sync, heartbeat and leave.

    Each feature multiplies the states, so an instance has only those that it tests.
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


# Two errors of appends: SyncGroup and OffsetCommit map the first to the same error, and the second,
# which occurs after the leader's append, to different ones.
ERRORS: Final = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT)

# The input that leads to each state of a partition.
MOVES: Final[Mapping[Serving, Unload | Loading | Load]] = MappingProxyType(
    {Serving.UNLOADED: Unload(), Serving.LOADING: Loading(), Serving.SERVED: Load()}
)

# The values that group.max.size can get while the partition is not served.
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
    """A canonical state, and the settings that all clients of an instance share.

    Timeouts are in milliseconds; Kafka refuses `refused_session_ms`. `revealed` and `pending` are
    the ids that clients know. A new member may join if there is `room`. If `subscribes`, members
    subscribe to topics.
    """

    profile: Profile
    config: Config
    state: Coordinator
    session_ms: int
    rebalance_ms: int
    room: bool
    subscribes: bool = False
    refused_session_ms: int = 1

    @property
    def group(self) -> Group:
        """The group; an empty one if it does not exist."""
        return self.state.group or Group()

    @property
    def revealed(self) -> list[str]:
        """The ids of members that a response has revealed."""
        return [m.member_id for m in self.group.members if m.revealed]

    @property
    def pending(self) -> list[str]:
        """The pending member ids."""
        return [p.member_id for p in self.group.pending]

    def join(self, member_id: str) -> kafka.JoinGroupRequest:
        """A JoinGroup of that member."""
        protocols = SUBSCRIBED_PROTOCOLS if self.subscribes else PROTOCOLS
        return kafka.JoinGroupRequest(
            GROUP_ID, self.session_ms, self.rebalance_ms, member_id, protocols=protocols
        )


def membership(environment: Environment, features: frozenset[Feature]) -> Iterator[RequestBody]:
    """The requests of every instance, and those of its features, in a fixed order."""
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
    yield environment.join(NO_MEMBER_ID)._replace(session_timeout_ms=environment.refused_session_ms)
    yield kafka.SyncGroupRequest("", 0, NOBODY, None, "consumer", "range")
    yield kafka.SyncGroupRequest(GROUP_ID, 0, NOBODY)
    yield kafka.HeartbeatRequest("", 0, NOBODY)
    yield kafka.LeaveGroupRequest("", (kafka.MemberIdentity(NOBODY),))
    yield kafka.OffsetCommitRequest(GROUP_ID, 0, NOBODY)


def offsets(environment: Environment) -> Iterator[RequestBody]:
    """Commits and fetches of the instance's partition."""
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
    """Metadata that is too long for the broker; at most the longest possible string."""
    return "x" * min(environment.config.offset_metadata_max_bytes + 1, LONGEST_STRING)


def static_members(environment: Environment) -> Iterator[RequestBody]:
    """The requests of a static member, and of other members that use its group.instance.id."""
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
    """JoinGroups of the static member, also with other protocols."""
    newcomer = environment.join(NO_MEMBER_ID)._replace(group_instance_id=INSTANCE)
    if not environment.room and environment.group.static(INSTANCE) is None:
        return
    if not features.isdisjoint({Feature.STATIC_MEMBERS, Feature.MAX_SIZE}):
        yield newcomer
    if Feature.STATIC_MEMBERS in features:
        yield newcomer._replace(protocols=OTHER_OFFER)


def max_size(environment: Environment) -> Iterator[RequestBody]:
    """The requests that show the effects of a rejected static member."""
    yield from returns(environment, frozenset({Feature.MAX_SIZE}))
    yield kafka.LeaveGroupRequest(GROUP_ID, (kafka.MemberIdentity(NO_MEMBER_ID, INSTANCE),))


def commit(
    generation_id: int, member_id: str, metadata: str = "", age_ms: int = 0
) -> kafka.OffsetCommitRequest:
    """A commit of the instance's partition."""
    partition = kafka.OffsetCommitRequestPartition(
        0, 5, committed_metadata=metadata, commit_age_ms=age_ms
    )
    topics = (kafka.OffsetCommitRequestTopic(TOPIC, (partition,)),)
    return kafka.OffsetCommitRequest(GROUP_ID, generation_id, member_id, topics=topics)


def fetch(*, require_stable: bool) -> kafka.OffsetFetchRequest:
    """A fetch of the instance's partition."""
    return kafka.OffsetFetchRequest(
        GROUP_ID, (kafka.OffsetFetchRequestTopic(TOPIC, (0,)),), require_stable
    )


def transactions(environment: Environment) -> Iterator[RequestBody]:
    """Commits in and outside transactions of one producer, its markers, and fetches.

    No marker is sent while the append of a TxnOffsetCommit is pending.
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
    """A commit of the instance's partition in a transaction."""
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
    """The version's administrative requests, and commits of offsets to delete."""
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
    if environment.state.group is None and "describe/not-persisted" in environment.profile.rules:
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
    """The deletion of the offset of a topic's only partition."""
    partitions = (kafka.OffsetDeleteRequestPartition(0),)
    return kafka.OffsetDeleteRequest(GROUP_ID, (kafka.OffsetDeleteRequestTopic(topic, partitions),))


def expiry(environment: Environment) -> Iterator[RequestBody]:
    """Commits of offsets that may expire, and subscriptions of consumers."""
    yield commit(NO_GENERATION, NO_MEMBER_ID)
    for member_id in environment.revealed:
        yield commit(environment.group.generation_id, member_id)
        if "OffsetDelete" in environment.profile.max_versions:
            yield environment.join(member_id)._replace(protocols=TOPIC_PROTOCOLS)
    # In 0.10.2 this commit stays pending, so that neither the offset nor the group expires.
    if {"cleanup/each-offset", "cleanup/group-removed"} <= environment.profile.rules.keys():
        yield commit(NO_GENERATION, NO_MEMBER_ID, metadata=_too_long(environment))
    yield fetch(require_stable=False)


def faults(
    state: Coordinator, features: frozenset[Feature], profile: Profile
) -> Iterator[EnvironmentInput]:
    """The faults of the coordinator. Only a crash ends a shutdown."""
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


# The additional requests of each feature.
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
