"""Instances: how many members, which timeouts, and which requests the clients of a space send.

What a `.cfg` file is to TLC. The space of an instance is finite, because timers are a few ticks
long and the canonical form forgets names and counts, and it is explored whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from types import MappingProxyType
from typing import NamedTuple

from groupcheck.model.config import Config
from groupcheck.model.state import Advance, Coordinator, Group, HoldAppends, ReleaseAppends
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    NO_GENERATION,
    NO_MEMBER_ID,
    Assignment,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    Protocol,
    Request,
    RequestBody,
    SyncGroupRequest,
)

GROUP_ID = "group"
NOBODY = "nobody"  # a member id that was never given out
PROTOCOLS = (Protocol("range", b"one"),)
OTHER_PROTOCOLS = (Protocol("range", b"two"),)
TOPIC = "topic"
DELAY = "group.initial.rebalance.delay.ms"

# What a commit says where it says too much: more than the broker allows, and no more than a string
# of the older versions can be.
LONGEST_STRING = 32_767


class Instance(NamedTuple):
    """One finite space.

    `members` bounds members and pending ids together. A tick is as long as half the new-member
    timeout, which Kafka 2.7 does not let anyone configure. A space that is not `timed` knows
    no time but the initial delay: it is for coordinators on real clocks, where one waits for
    nothing else. `holds` bounds the appends held at one time. `settings` are those of the broker
    besides the initial delay.
    """

    profile: Profile
    members: int = 2
    tick_ms: int = 150_000
    session_ticks: int = 2
    rebalance_ticks: int = 3
    delay_ticks: int = 1
    changed_metadata: bool = False
    offsets: bool = False
    holds: int = 0
    timed: bool = True
    settings: Mapping[str, int] = MappingProxyType({})

    @property
    def config(self) -> Config:
        """The broker settings of the space."""
        return Config.of(self.broker)

    @property
    def broker(self) -> dict[str, int]:
        """The same under Kafka's names, as `open` takes them."""
        return {**self.settings, DELAY: self.delay_ticks * self.tick_ms}

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names where they keep them; elsewhere they are named by what they are."""
        return tuple(f"m{i}" for i in range(1, self.members + 1))

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """What clients and time may do in a canonical state."""
        for body in self.bodies(state):
            version = self._version(body)
            yield Request(0, version, trim(body, version))
        if self._room(state) and self.profile.max_versions["JoinGroup"] > 3:
            yield Request(0, 3, self._join(NO_MEMBER_ID))  # before ids were required
        timer = state.group.join_timer if state.group else None
        if self.timed:
            yield Advance(self.tick_ms)
        elif timer is not None and timer.initial:
            yield Advance(timer.left_ms)
        if self.holds:
            yield ReleaseAppends() if state.holding else HoldAppends()

    def admits(self, state: Coordinator) -> bool:
        """Whether a successor belongs to the space."""
        return len(state.appends) <= self.holds

    def bodies(self, state: Coordinator) -> Iterator[RequestBody]:
        """The requests of a canonical state, each at the newest version that 2.7 speaks."""
        group = state.group or Group()
        told = [m.member_id for m in group.members if m.told]
        pending = [p.member_id for p in group.pending]
        current, older = group.generation_id, group.generation_id - 1
        yield from self._joins(state, told, pending)
        yield from self._syncs(group, told)
        for member_id in (*told, NOBODY):
            yield HeartbeatRequest(GROUP_ID, current, member_id)
        for member_id in told:
            yield HeartbeatRequest(GROUP_ID, older, member_id)
        for member_id in (*told, *pending, NOBODY):
            yield LeaveGroupRequest(GROUP_ID, (MemberIdentity(member_id),))
        if len(told) > 1 and self.profile.max_versions["LeaveGroup"] >= 3:
            for order in permutations(told):
                yield LeaveGroupRequest(GROUP_ID, tuple(map(MemberIdentity, order)))
        if self.offsets:
            yield from self._offsets(told, current, older)
        yield DescribeGroupsRequest((GROUP_ID,))
        if state.group is None:  # what is refused before the group is looked at, once
            yield self._join(NO_MEMBER_ID)._replace(group_id="")
            yield self._join(NO_MEMBER_ID)._replace(session_timeout_ms=1)
            yield SyncGroupRequest("", 0, NOBODY, None, "consumer", "range")
            yield SyncGroupRequest(GROUP_ID, 0, NOBODY)
            yield HeartbeatRequest("", 0, NOBODY)
            yield LeaveGroupRequest("", (MemberIdentity(NOBODY),))
            yield OffsetCommitRequest(GROUP_ID, 0, NOBODY)

    def _version(self, body: RequestBody) -> int:
        return self.profile.max_versions[type(body).__name__.removesuffix("Request")]

    def _room(self, state: Coordinator) -> bool:
        group = state.group or Group()
        return len(group.members) + len(group.pending) < self.members

    def _join(self, member_id: str) -> JoinGroupRequest:
        return JoinGroupRequest(
            GROUP_ID,
            self.session_ticks * self.tick_ms,
            self.rebalance_ticks * self.tick_ms,
            member_id,
            protocols=PROTOCOLS,
        )

    def _joins(
        self, state: Coordinator, told: list[str], pending: list[str]
    ) -> Iterator[JoinGroupRequest]:
        for member_id in (*told, *pending, NOBODY):
            yield self._join(member_id)
        if self.changed_metadata:
            for member_id in told:
                yield self._join(member_id)._replace(protocols=OTHER_PROTOCOLS)
        for member_id in (NO_MEMBER_ID, *told):
            yield self._join(member_id)._replace(protocols=())
        if self._room(state):
            yield self._join(NO_MEMBER_ID)

    def _syncs(self, group: Group, told: list[str]) -> Iterator[SyncGroupRequest]:
        everybody = tuple(Assignment(m.member_id, b"part") for m in group.members)
        name = group.protocol_name or "range"
        for member_id in (*told, NOBODY):
            sync = SyncGroupRequest(
                GROUP_ID, group.generation_id, member_id, None, "consumer", name
            )
            yield sync._replace(assignments=everybody if member_id == group.leader else ())
        for member_id in told:
            sync = SyncGroupRequest(
                GROUP_ID, group.generation_id, member_id, None, "consumer", name
            )
            yield sync._replace(generation_id=group.generation_id - 1)
            yield sync._replace(protocol_type="connect")
            yield sync._replace(protocol_name="roundrobin")

    def _offsets(self, told: list[str], current: int, older: int) -> Iterator[RequestBody]:
        for member_id in (*told, NOBODY):
            yield commit(current, member_id)
        for member_id in told:
            yield commit(older, member_id)
        yield commit(NO_GENERATION, NO_MEMBER_ID)
        too_long = min(self.config.offset_metadata_max_bytes + 1, LONGEST_STRING)
        yield commit(NO_GENERATION, NO_MEMBER_ID, metadata="x" * too_long)
        yield fetch(require_stable=False)
        yield fetch(require_stable=True)


def commit(generation_id: int, member_id: str, metadata: str = "") -> OffsetCommitRequest:
    """A commit of the one partition of the space."""
    partition = OffsetCommitRequestPartition(0, 5, committed_metadata=metadata)
    topics = (OffsetCommitRequestTopic(TOPIC, (partition,)),)
    return OffsetCommitRequest(GROUP_ID, generation_id, member_id, topics=topics)


def fetch(*, require_stable: bool) -> OffsetFetchRequest:
    """A fetch of the one partition of the space."""
    return OffsetFetchRequest(GROUP_ID, (OffsetFetchRequestTopic(TOPIC, (0,)),), require_stable)


def virtual_spaces(profile: Profile, members: int) -> dict[str, Instance]:
    """The spaces for a coordinator in virtual time; for two members they reach every rule.

    `membership` has every timer, `metadata` members that change what they offer, `storing` the
    offsets and the appends that are held. Together in one space they would multiply, and what one
    is about hardly depends on the others.
    """
    untimed = Instance(profile, members, 3_000, 600, 600, 1, timed=False)
    return {
        "membership": Instance(profile, members),
        "metadata": untimed._replace(changed_metadata=True),
        "storing": untimed._replace(offsets=True, holds=1),
    }


def real_spaces(
    profile: Profile, members: int, broker: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Instance]:
    """The space for a coordinator on a real clock, whose broker's settings are as they are.

    Timeouts are long, so that nothing but the initial delay ends while one waits for it, as far as
    the broker allows it.
    """
    config = Config.of(broker)
    delay_ms = config.group_initial_rebalance_delay_ms
    long_ms = max(20 * delay_ms, 60_000)
    session_ms = min(
        max(long_ms, config.group_min_session_timeout_ms), config.group_max_session_timeout_ms
    )
    order = Instance(
        profile,
        members,
        1,
        session_ms,
        long_ms,
        delay_ms,
        changed_metadata=True,
        offsets=True,
        timed=False,
        settings=broker,
    )
    return {"order": order}
