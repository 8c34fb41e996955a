"""Small instances for every coordinator in virtual time.

Each is walked in one or two seconds. It tests a feature alone, not in combination with others, and
most have at most one member. No PlusCal module has these instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import (
    GROUP_ID,
    INSTANCE,
    NOBODY,
    PRODUCER_ID,
    Feature,
    commit,
    faults,
    fetch,
    txn_commit,
)
from groupcheck.model.classic.instances.instance import (
    BEFORE_REQUIRED_IDS,
    Instance,
    feature_instances,
    real_clock_instances,
    virtual_time_instances,
)
from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    NO_GENERATION,
    NO_MEMBER_ID,
    GroupState,
    Request,
    RequestBody,
)

# The feature instances that are short with one member, in every version.
SHORT: Final = (
    "crowded",
    "administration",
    "failing-static",
    "failover-administration",
    "reload",
)

# The protocols of members that vote, by preference.
RANGE, STICKY = (kafka.Protocol(name, name.encode()) for name in ("range", "sticky"))
OFFERS: Final = ((RANGE, STICKY), (STICKY, RANGE), (STICKY,))

# About 25 days in minutes: in milliseconds it exceeds 32 bits.
LONG_RETENTION: Final = 36_500


class Loners(Instance):
    """The instance of consumers without group management, at every version of their requests.

    No time passes, and there is no member. It tests what happens to offsets, and the answers while
    the partition is not served.
    """

    __slots__ = ()

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """The requests of consumers and producers, and the faults."""
        for body, versions in self._asked(state):
            for version in versions:
                yield Request(0, version, trim(body, version))
        yield from faults(state, self.features, self.profile)

    def _asked(self, state: Coordinator) -> Iterator[tuple[RequestBody, range]]:
        simple = commit(NO_GENERATION, NO_MEMBER_ID)
        asked: list[RequestBody] = [simple, fetch(require_stable=False)]
        for body in asked:
            yield body, self._versions(body)
        newest: list[RequestBody] = [
            commit(1, NOBODY),
            simple._replace(group_instance_id=INSTANCE),
            fetch(require_stable=True),
            kafka.DeleteGroupsRequest((GROUP_ID,)),
            txn_commit(NO_GENERATION, NO_MEMBER_ID),
            kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=True),
            kafka.EndTxnRequest(GROUP_ID, PRODUCER_ID, committed=False),
        ]
        if state.group is None:
            # The empty group id is a valid id of another group, which never exists here.
            newest.append(fetch(require_stable=False)._replace(group_id=""))
            newest.append(commit(1, NOBODY)._replace(group_id=""))
        for body in newest:
            yield body, self._versions(body)[-1:]

    def _versions(self, body: RequestBody) -> range:
        api, profile = kafka.API_OF[type(body)], self.profile
        return range(profile.min_versions.get(api, 0), profile.max_versions.get(api, -1) + 1)


class Voters(Instance):
    """The instance of three members that vote for a protocol.

    They prefer different ones, and not all support every one. Among two members, each vote of the
    leader wins.
    """

    __slots__ = ()

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """JoinGroups of new members, and of those that rejoin with what they offered before."""
        scene = self._scene(state)
        version = min(BEFORE_REQUIRED_IDS, self._version(scene.join(NO_MEMBER_ID)))
        for offer in OFFERS if scene.room else ():
            yield Request(0, version, scene.join(NO_MEMBER_ID)._replace(protocols=offer))
        if scene.group.state is GroupState.PREPARING_REBALANCE:
            for member in scene.group.members:
                if member.revealed and member.awaiting_join is None:
                    join = scene.join(member.member_id)._replace(protocols=member.protocols)
                    yield Request(0, version, join)
        timer = scene.group.join_timer
        if timer is not None and timer.initial:
            yield Advance(timer.left_ms)


def small_instances(profile: Profile, members: int) -> dict[str, Instance]:
    """The small instances of a version; `members` is the number of static members."""
    found = feature_instances(profile, 1)
    short: dict[str, Instance] = {name: found[name] for name in SHORT if name in found}
    short["voting"] = Voters(profile, 3, frozenset(), 3_000, 600, 600, 1)
    if "static" in found:
        # Only another member can observe whether a member is absent or removed.
        short["static"] = feature_instances(profile, members)["static"]
    if "failover/crash" in profile.rules:
        # Only a load shows when the age of offsets starts after a crash.
        aged = found["expiry"]
        short["expiry-crashes"] = aged._replace(features=aged.features | {Feature.CRASHES})
        features = frozenset({Feature.FAILOVER, Feature.EXPIRY})
        short["loners"] = Loners(
            profile,
            0,
            features,
            delay_ticks=0,
            settings=MappingProxyType({"offsets.retention.minutes": LONG_RETENTION}),
        )
    return short


def instances_named(
    profile: Profile, name: str, members: int, broker: Mapping[str, int]
) -> Iterator[Instance]:
    """The instances of that name and those settings; only the graph distinguishes them."""
    tables = (
        virtual_time_instances(profile, members),
        small_instances(profile, members),
        feature_instances(profile, members),
        real_clock_instances(profile, members, broker),
    )
    seen: list[Instance] = []
    for table in tables:
        instance = table.get(name)
        if instance is not None and instance.broker == broker and instance not in seen:
            seen.append(instance)
            yield instance
