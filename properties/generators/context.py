"""The test context of random sequences: values, the capabilities of a port, and requests.

Callers decide the order of requests. A choice is a number that a request divides into parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    INSTANCE,
    NOBODY,
    PRODUCER_ID,
    SUBSCRIBED_PROTOCOLS,
    TOPIC,
    TOPIC_PROTOCOLS,
    Feature,
    offset_delete,
    txn_commit,
)
from groupcheck.model.classic.instances.instance import supported
from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.storing.records import possible_errors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    API_OF,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    EndTxnRequest,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetFetchRequest,
    Protocol,
    Request,
    RequestBody,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.input_kinds import FAULTS_OF
from groupcheck.properties.ports.port import Fault, Port, PortFailedError

PROTOCOL_LISTS: tuple[tuple[Protocol, ...], ...] = (
    (Protocol("range", b"r"),),
    (Protocol("range", b"r"), Protocol("roundrobin", b"rr")),
    (Protocol("roundrobin", b"rr"), Protocol("range", b"r")),
    (Protocol("range", b"changed"),),
    (Protocol("sticky", b"s"),),
    (),
    SUBSCRIBED_PROTOCOLS,
    TOPIC_PROTOCOLS,
)
# Unusual values are rare and last: a group that no member can join covers no transition.
SESSION_TIMEOUTS_MS = (10_000, 10_000, 10_000, 30_000, 20_000, 6_000, 5_999, 1)
REBALANCE_TIMEOUTS_MS = (20_000, 20_000, 20_000, 3_000, 3_000, 60_000, 400_000, 0)
METADATA = ("", "m", None, "m" * 9_000, "\N{MUSICAL SYMBOL G CLEF}" * 2)  # 4 UTF-16 code units
TOPICS: Final = (f"{TOPIC}-0", f"{TOPIC}-1", TOPIC)
INSTANCES: Final = (INSTANCE, f"{INSTANCE}-2")
PRODUCERS: Final = (PRODUCER_ID, PRODUCER_ID + 1)
STATIC_SINCE: Final = 3  # the version of Heartbeat

# The errors of appends; after some of them the record is in the log.
ERRORS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)

# Settings of the broker, each with its possible values; None is Kafka's default.
BROKERS: Final[Mapping[str, tuple[int | None, ...]]] = {
    "group.initial.rebalance.delay.ms": (None, 0, 1_000, 10_000),
    "group.min.session.timeout.ms": (None, None, None, 1, 10_000),
    "group.max.session.timeout.ms": (None, None, None, 10_000, 20_000),
    "offset.metadata.max.bytes": (None, None, 3, 0),
}
# Settings for ports that support them: retention needs cleanups; the maximum size is older than
# static members, so ports with static members have it.
RETENTION: Final = {"offsets.retention.minutes": (None, 1, 5)}
SIZES: Final = {"group.max.size": (None, None, 2, 1)}

# Requests of an unknown member that probe which APIs a port supports.
ASKED: tuple[RequestBody, ...] = (
    JoinGroupRequest(GROUP_ID, 10_000, 20_000, NOBODY, protocols=PROTOCOL_LISTS[0]),
    SyncGroupRequest(GROUP_ID, 0, NOBODY),
    HeartbeatRequest(GROUP_ID, 0, NOBODY),
    LeaveGroupRequest(GROUP_ID, (MemberIdentity(NOBODY),)),
    OffsetCommitRequest(GROUP_ID, 0, NOBODY),
    OffsetFetchRequest(GROUP_ID, ()),
    DescribeGroupsRequest((GROUP_ID,)),
    txn_commit(0, NOBODY),
    EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True),
    ListGroupsRequest(),
    DeleteGroupsRequest((GROUP_ID,)),
    offset_delete(TOPIC),
)

# The upper bound of a choice: the largest range that Hypothesis draws from uniformly. Its first
# parts are uniform too; after 24 bits every part is 0.
CHOICES: Final = 2**24


class Choices:
    """A random number that is split into smaller ones."""

    __slots__ = ("_rest",)

    def __init__(self, number: int) -> None:
        self._rest = number

    def of(self, count: int) -> int:
        """A number below `count`; 0 is the simplest."""
        self._rest, pick = divmod(self._rest, count)
        return pick


class Capabilities(NamedTuple):
    """What a port supports of a profile: the versions of each API, newest first, and the faults.

    `static` says whether it has static members, `sized` whether its groups have a maximum size.
    `errors` are the errors that its appends can end with.
    """

    versions: Mapping[str, tuple[int, ...]]
    faults: frozenset[str] = frozenset()
    static: bool = False
    sized: bool = True
    errors: tuple[ErrorCode, ...] = ERRORS

    def broker(self, choices: Choices) -> dict[str, int]:
        """Random broker settings; defaults are left out."""
        settings: dict[str, tuple[int | None, ...]] = dict(BROKERS)
        if "cleanup" in self.faults:
            settings |= RETENTION
        if self.static and self.sized:
            settings |= SIZES
        chosen = {each: values[choices.of(len(values))] for each, values in settings.items()}
        return {each: value for each, value in chosen.items() if value is not None}


class Context:
    """Builds requests from the current state; choices are taken modulo the number of options."""

    def __init__(self, capabilities: Capabilities, *, hasty: bool = False) -> None:
        self.capabilities = capabilities._replace(static=capabilities.static and not hasty)
        # A static member stays after its join phase, so a join phase of length 0 would restart
        # forever.
        self.least_ms = 3_000 if self.capabilities.static else 0
        self.request_id = 0
        self.state = Coordinator()
        self.given: list[str] = []  # every revealed id, removed members included
        self.sent: list[Request] = []  # the most recent ones
        self.late: list[Request] = []  # built but not sent yet

    @property
    def group(self) -> Group:
        """The group in the model."""
        return self.state.group or Group()

    def learn(self, state: Coordinator, revealed: Mapping[str, str]) -> None:
        """Update the model's state, and the revealed ids with their symbols."""
        self.state = state
        if len(revealed) != len(self.given):
            self.given += [symbol for symbol in revealed.values() if symbol not in self.given]

    def request(self, body: RequestBody, version: int, client: int = 0) -> Request:
        """The request at a supported version; 0 is the newest."""
        self.request_id += 1
        versions = self.capabilities.versions[API_OF[type(body)]]
        api_version = versions[version % len(versions)]
        if isinstance(body, LeaveGroupRequest) and api_version < 3:
            body = body._replace(members=body.members[:1])
        if isinstance(body, OffsetFetchRequest) and api_version < 2 and body.topics is None:
            body = body._replace(topics=())
        return Request(self.request_id, api_version, trim(body, api_version), f"client-{client}")

    def renumbered(self, request: Request) -> Request:
        """A copy of the request with a new id; a commit gets new offsets.

        Kafka cannot distinguish two equal commits in the same millisecond. The model does, which
        matters if the first one fails.
        """
        self.request_id += 1
        body, first = request.body, self.request_id * 10
        if isinstance(body, OffsetCommitRequest | TxnOffsetCommitRequest):
            topics: Any = body.topics
            changed = tuple(
                topic._replace(
                    partitions=tuple(
                        partition._replace(committed_offset=offset)
                        for offset, partition in enumerate(topic.partitions, first)
                    )
                )
                for topic in topics
            )
            body = body._replace(topics=changed)
        return request._replace(request_id=self.request_id, body=body)

    def version(self, choices: Choices) -> int:
        """The position of a version: the newest in half of the cases."""
        return max(choices.of(16) - 7, 0)

    def member(self, choices: Choices) -> str:
        """A revealed id, mostly one of the newest, or an unknown id."""
        pick, known = choices.of(8), len(self.given)
        if pick == 7 or not known:
            return NOBODY
        return self.given[-1 - pick % known]

    def generation(self, choices: Choices) -> int:
        """Mostly the current generation, else the previous, the next, 0 or none."""
        now = self.group.generation_id
        return (now, now, now, now, -1, now + 1, now - 1, 0)[choices.of(8)]

    def instance(self, member_id: str, choices: Choices) -> str | None:
        """The group.instance.id that a member sends: mostly its own."""
        if not self.capabilities.static:
            return None
        member, pick = self.group.member(member_id), choices.of(8)
        own = member.group_instance_id if member else None
        return {5: None, 6: INSTANCES[0], 7: INSTANCES[1]}.get(pick, own)


def capabilities_by(max_versions: Mapping[str, int] | None, profile: Profile) -> Capabilities:
    """Return the APIs and versions of a profile that a broker supports."""
    newest = profile.max_versions if max_versions is None else max_versions
    versions = {
        api: tuple(range(min(most, newest.get(api, -1)), profile.min_versions.get(api, 0) - 1, -1))
        for api, most in profile.max_versions.items()
    }
    static = Feature.STATIC_MEMBERS in supported(profile)
    return Capabilities(versions, static=static and _has_static_members(versions))


def _has_static_members(versions: Mapping[str, tuple[int, ...]]) -> bool:
    return max(versions["Heartbeat"], default=0) >= STATIC_SINCE


def capabilities_of(port: Port, profile: Profile) -> Capabilities:
    """Determine what a port supports; tests leave out everything else.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    features = supported(profile)
    everything = capabilities_by(None, profile)._replace(
        faults=frozenset(name for feature in features for name in FAULTS_OF.get(feature, ())),
        errors=possible_errors(profile.version, ERRORS),
    )
    try:
        return _asked(port, profile, everything)
    except PortFailedError:
        return everything  # a test will fail in the same way and report it


def _asked(port: Port, profile: Profile, everything: Capabilities) -> Capabilities:
    context = Context(everything)

    def supports(body: RequestBody, pick: int) -> bool:
        return port.request(context.request(body, pick), ()).unsupported is None

    port.open(profile.name, {})
    versions = {
        api: tuple(v for pick, v in enumerate(everything.versions[api]) if supports(body, pick))
        for api, body in ((API_OF[type(body)], body) for body in ASKED)
        if api in everything.versions
    }
    named = HeartbeatRequest(GROUP_ID, 0, NOBODY, INSTANCE)
    static = everything.static and _has_static_members(versions) and supports(named, 0)
    faults = {
        name
        for name in (name for names in FAULTS_OF.values() for name in names)
        if name in everything.faults and port.fault(_asked_for(name), ()).unsupported is None
    }
    port.close()
    if not faults.issuperset(FAULTS_OF[Feature.HELD_APPENDS]):
        faults -= {*FAULTS_OF[Feature.HELD_APPENDS]}
    skipped: frozenset[Feature] = getattr(port, "skipped", frozenset())
    sized = Feature.MAX_SIZE not in skipped
    return Capabilities(versions, frozenset(faults), static, sized, everything.errors)


def _asked_for(name: str) -> Fault:
    arguments = {"append": Fault(name, 0, 0), "configure": Fault(name, max_size=1)}
    return arguments.get(name, Fault(name))
