"""A play: requests and time put to the model, the answers as its clients see them.

Where Kafka leaves something open there are several worlds, and what is asked of the play is what
all of them agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from groupcheck.model.exploring.projection import ABSENT, passed
from groupcheck.model.instances.inputs import GROUP_ID
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, Coordinator, Group, Log
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input, successors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    Assignment,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    Protocol,
    Request,
    RequestBody,
    ResponseBody,
    SyncGroupRequest,
    SyncGroupResponse,
)
from support.scenario import scenario

A = TypeVar("A")
T = TypeVar("T")
Partition = tuple[str, int]

PROFILE = PROFILES["2.7"]
DELAY_MS = 3_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
COOPERATIVE = (Protocol("cooperative", b"topics"),)
SEVERAL = (*COOPERATIVE, Protocol("sticky", b"owned"))
PARTITION = ("payments", 2)

# An id is asked for first from version 4 on, unless there is an instance id, from version 5 on.
OLD_JOIN, NEW_JOIN = 3, 7


def by_topic(
    topic: Callable[[str, tuple[T, ...]], A], partitions: Iterable[tuple[str, T]]
) -> tuple[A, ...]:
    """The partitions as one record for each topic."""
    topics: dict[str, list[T]] = {}
    for name, partition in partitions:
        topics.setdefault(name, []).append(partition)
    return tuple(topic(name, tuple(found)) for name, found in topics.items())


class World(NamedTuple):
    """One allowed course of the play: the state, and the responses so far by request id.

    `trail` are the states that the group has gone through, several in one step among them.
    """

    coordinator: Coordinator
    answers: Mapping[int, ResponseBody]
    trail: tuple[str, ...] = ()


class Call(Generic[A]):
    """A request that was sent, and its answer once there is one."""

    def __init__(self, play: Play, request_id: int) -> None:
        self._play = play
        self.request_id = request_id

    @property
    def answered(self) -> bool:
        """Whether it has been answered."""
        return self._play.agreed(lambda world: self.request_id in world.answers)

    @property
    def answer(self) -> A:
        """Its answer; it fails the test that there is none yet."""
        assert self.answered, "not answered yet"
        answer: Any = self._play.agreed(lambda world: world.answers[self.request_id])
        found: A = answer
        return found


class Play:
    """A group and its clients.

    Args:
        profile: the version, 2.7 unless another is given. Requests are then at most of the
            versions that it has.
        settings: of the broker, dots as underscores.
    """

    def __init__(self, profile: Profile = PROFILE, /, **settings: int) -> None:
        self.profile = profile
        said: dict[str, Any] = {"group_initial_rebalance_delay_ms": DELAY_MS, **settings}
        self.config = profile.config._replace(keeps_ages=True)._replace(**said)
        self.worlds = [World(Coordinator(log=Log()), {})]
        self._steps = scenario(profile, self.config)
        self._requests = 0

    def do(self, given: Input) -> None:
        """One step, in every world."""
        self._steps.append(given)
        worlds: list[World] = []
        for before in self.worlds:
            for outcome in successors(before.coordinator, given, self.profile, self.config):
                fresh = {response.request_id: response.body for response in outcome.responses}
                assert not fresh.keys() & before.answers.keys(), "a request is answered once"
                ends = _shown(before.coordinator), _shown(outcome.coordinator)
                arrows = passed(self.profile, *ends, outcome.fired)
                trail = (*before.trail, *(arrow.target for arrow, _reason in arrows))
                world = World(outcome.coordinator, {**before.answers, **fresh}, trail)
                if world not in worlds:
                    worlds.append(world)
        self.worlds = worlds

    def wait(self, ms: int) -> None:
        """Time passes."""
        self.do(Advance(ms))

    def agreed(self, look: Callable[[World], T]) -> T:
        """What all worlds agree on."""
        first, *others = [look(world) for world in self.worlds]
        assert all(other == first for other in others), f"open in Kafka: {[first, *others]}"
        return first

    def suppose(self, holds: Callable[[Group], bool]) -> None:
        """Go on with the worlds where that holds of the group; there must be one."""
        self.worlds = [world for world in self.worlds if holds(_group(world))]
        assert self.worlds, "Kafka does not allow it"

    @property
    def group(self) -> Group:
        """The group."""
        return self.agreed(_group)

    @property
    def exists(self) -> bool:
        """Whether there is a group."""
        return self.agreed(lambda world: world.coordinator.group is not None)

    @property
    def state(self) -> str:
        """The group's state, by Kafka's name."""
        return self.agreed(lambda world: _group(world).state.value)

    @property
    def trail(self) -> tuple[str, ...]:
        """The states that the group has gone through, by Kafka's names."""
        return self.agreed(lambda world: world.trail)

    @property
    def generation_id(self) -> int:
        """The group's generation."""
        return self.agreed(lambda world: _group(world).generation_id)

    @property
    def member_ids(self) -> set[str]:
        """The ids of the group's members."""
        return self.agreed(lambda world: {m.member_id for m in _group(world).members})

    @property
    def pending_ids(self) -> set[str]:
        """The ids that were given out and are not used yet."""
        return self.agreed(lambda world: {p.member_id for p in _group(world).pending})

    def send(self, api_version: int, body: RequestBody) -> Call[Any]:
        """Send a request as that version of its API carries it, or the newest of the profile."""
        api = type(body).__name__.removesuffix("Request")
        api_version = min(api_version, self.profile.max_versions[api])
        self._requests += 1
        self.do(Request(self._requests, api_version, trim(body, api_version)))
        return Call(self, self._requests)

    def join(  # noqa: PLR0913 - the fields of the request
        self,
        member_id: str = "",
        *,
        group_id: str = GROUP_ID,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        protocol_type: str = "consumer",
        protocols: tuple[Protocol, ...] = COOPERATIVE,
        instance: str | None = None,
        id_required: bool = False,
    ) -> Call[JoinGroupResponse]:
        """JoinGroup; of a version that has members ask for an id first only if `id_required`."""
        body = JoinGroupRequest(
            group_id, session_ms, rebalance_ms, member_id, instance, protocol_type, protocols
        )
        return self.send(NEW_JOIN if id_required or instance else OLD_JOIN, body)

    def sync(  # noqa: PLR0913 - the fields of the request
        self,
        member_id: str,
        generation_id: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        instance: str | None = None,
    ) -> Call[SyncGroupResponse]:
        """SyncGroup; of a version that must name type and protocol if one of them is given."""
        body = SyncGroupRequest(
            GROUP_ID,
            generation_id,
            member_id,
            instance,
            protocol_type,
            protocol_name,
            tuple(Assignment(*item) for item in (assignments or {}).items()),
        )
        return self.send(4 if (protocol_type, protocol_name) == (None, None) else 5, body)

    def heartbeat(
        self, member_id: str, generation_id: int, instance: str | None = None
    ) -> ErrorCode:
        """Heartbeat, and its answer."""
        body = HeartbeatRequest(GROUP_ID, generation_id, member_id, instance)
        call: Call[HeartbeatResponse] = self.send(4, body)
        return call.answer.error_code

    def leave(self, *members: str | MemberIdentity) -> list[ErrorCode]:
        """LeaveGroup of several members, and how each of them fared."""
        identities = tuple(MemberIdentity(m) if isinstance(m, str) else m for m in members)
        call: Call[LeaveGroupResponse] = self.send(4, LeaveGroupRequest(GROUP_ID, identities))
        answer = call.answer
        assert answer.error_code is ErrorCode.NONE
        return [member.error_code for member in answer.members]

    def commit(
        self,
        member_id: str = "",
        generation_id: int = -1,
        offsets: Mapping[Partition, int | OffsetCommitRequestPartition] | None = None,
        *,
        group_id: str = GROUP_ID,
        instance: str | None = None,
    ) -> ErrorCode:
        """OffsetCommit, and the one answer that all its partitions get."""
        partitions = (
            (
                topic,
                OffsetCommitRequestPartition(index, offset) if isinstance(offset, int) else offset,
            )
            for (topic, index), offset in (offsets or {PARTITION: 42}).items()
        )
        topics = by_topic(OffsetCommitRequestTopic, partitions)
        body = OffsetCommitRequest(group_id, generation_id, member_id, instance, topics)
        call: Call[OffsetCommitResponse] = self.send(8, body)
        (error,) = {p.error_code for topic in call.answer.topics for p in topic.partitions}
        return error

    def fetch(
        self, *partitions: Partition, group_id: str = GROUP_ID
    ) -> dict[Partition, OffsetFetchResponsePartition]:
        """OffsetFetch of stable offsets: of these partitions, or of all there are."""
        topics = tuple(OffsetFetchRequestTopic(topic, (index,)) for topic, index in partitions)
        body = OffsetFetchRequest(group_id, topics or None, require_stable=True)
        call: Call[OffsetFetchResponse] = self.send(7, body)
        answer = call.answer
        assert answer.error_code is ErrorCode.NONE
        return {
            (topic.name, p.partition_index): p for topic in answer.topics for p in topic.partitions
        }

    def describe(self, group_id: str = GROUP_ID) -> DescribedGroup:
        """DescribeGroups, and the one group it shows."""
        call: Call[DescribeGroupsResponse] = self.send(5, DescribeGroupsRequest((group_id,)))
        (described,) = call.answer.groups
        return described

    def first_member(self, **request: Any) -> JoinGroupResponse:
        """A member joins a new group and is admitted when the initial delay is over."""
        call = self.join(**request)
        self.wait(self.config.group_initial_rebalance_delay_ms)
        assert call.answer.error_code is ErrorCode.NONE
        assert call.answer.leader == call.answer.member_id
        return call.answer

    def stable_member(self, **request: Any) -> JoinGroupResponse:
        """The same, and the group becomes stable."""
        member = self.first_member(**request)
        synced = self.sync(member.member_id, member.generation_id, {member.member_id: b"all"})
        assert synced.answer.error_code is ErrorCode.NONE
        assert self.state == "Stable"
        return member

    def pair(self, **request: Any) -> tuple[JoinGroupResponse, JoinGroupResponse]:
        """A leader and a follower of generation 2, before the assignments."""
        first = self.stable_member(**request)
        follower = self.join(**request)
        leader = self.join(first.member_id, **request)
        assert leader.answer.error_code is follower.answer.error_code is ErrorCode.NONE
        assert self.state == "CompletingRebalance"
        return leader.answer, follower.answer

    def static_pair(self, **request: Any) -> tuple[JoinGroupResponse, JoinGroupResponse]:
        """A stable group of two static members: A, which leads and gives B the odd half."""
        request = {"protocols": SEVERAL, **request}
        calls = [self.join(instance=instance, **request) for instance in ("A", "B")]
        self.wait(2 * self.config.group_initial_rebalance_delay_ms)
        leader, follower = (call.answer for call in calls)
        assert leader.leader == follower.leader == leader.member_id
        assignments = {leader.member_id: b"even", follower.member_id: b"odd"}
        for member in (leader, follower):
            synced = self.sync(member.member_id, 1, assignments)
            assert synced.answer.error_code is ErrorCode.NONE
        assert self.state == "Stable"
        return leader, follower


def _group(world: World) -> Group:
    group = world.coordinator.group
    assert group is not None, "there is no group"
    return group


def _shown(coordinator: Coordinator) -> str:
    """The state of the group; one that is dead is no more there than one that never was."""
    group = coordinator.group
    return group.state if group is not None and group.state is not GroupState.DEAD else ABSENT
