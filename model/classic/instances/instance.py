"""Model instances: the number of members, the timeouts and the features.

An instance corresponds to a `.cfg` file of TLC. Its state space is finite, because timers are a few
ticks long and the canonical form has neither names nor counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.exploring.canonical import CanonicalForm, canonical
from groupcheck.model.classic.exploring.unreduced import UnreducedStates
from groupcheck.model.classic.instances.inputs import (
    NOBODY,
    Environment,
    Feature,
    action,
    commit,
    faults,
    membership,
    returns,
)
from groupcheck.model.classic.rules.retention import READS_COMMIT_TIME
from groupcheck.model.classic.rules.static_members import SKIPS_SINCE
from groupcheck.model.classic.state import Advance, Coordinator, Group, Log, Member, Pending
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.storing.committed import ANSWERS_ARE_DEFERRED
from groupcheck.model.classic.storing.records import LOADED_ARE_STATIC
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import NO_GENERATION, NO_MEMBER_ID, Request, RequestBody

DELAY = "group.initial.rebalance.delay.ms"
MAX_SESSION = "group.max.session.timeout.ms"
MAX_MS = 2**31 - 1
BEFORE_REQUIRED_IDS = 3  # the newest version of JoinGroup that never returns MEMBER_ID_REQUIRED

TIMED = frozenset({Feature.TIME})


class Instance(NamedTuple):
    """A model instance: its state space is finite.

    `members` bounds the sum of members, pending ids, and members that only the log has. A tick is
    half the new-member timeout, which cannot be configured in Kafka 2.7. An instance that is not
    `timed` has only the initial delay: it is for coordinators on real clocks. `settings` are those
    of the broker besides the initial delay. `generations` is how many are distinguished: one, since
    the rules only compare generations for equality and with the first.
    """

    profile: Profile
    members: int = 2
    features: frozenset[Feature] = TIMED
    tick_ms: int = 150_000
    session_ticks: int = 2
    rebalance_ticks: int = 3
    delay_ticks: int = 1
    settings: Mapping[str, int] = MappingProxyType({})
    generations: int = 1

    @property
    def text(self) -> str:
        """The instance as text, the same in every process; its class and its profile are named."""
        values = self._asdict() | {
            "profile": self.profile.name,
            "features": sorted(self.features),
            "settings": sorted(self.settings.items()),
        }
        return f"{type(self).__name__} {values}"

    @property
    def timed(self) -> bool:
        """Whether time passes, and not only the initial delay."""
        return Feature.TIME in self.features

    @property
    def initial(self) -> Coordinator:
        """The initial state, with a log if groups can be loaded; no request has named the group."""
        return Coordinator(log=Log() if self._logged else None)

    @property
    def _logged(self) -> bool:
        return not self.features.isdisjoint({Feature.FAILOVER, Feature.CRASHES})

    def canonical(self, state: Coordinator) -> CanonicalForm:
        """The canonical form of a state of this instance."""
        aged = Feature.EXPIRY in self.features
        return canonical(
            state,
            timed=self.timed,
            logged=self._logged,
            aged=aged,
            generations=self.generations,
        )

    @property
    def config(self) -> Config:
        """The broker settings of the instance."""
        delay_ms = self.delay_ticks * self.tick_ms
        return _config(tuple(self.settings.items()), delay_ms, Feature.EXPIRY in self.features)

    @property
    def broker(self) -> dict[str, int]:
        """The same settings with Kafka's names, as `open` takes them."""
        return {**self.settings, DELAY: self.delay_ticks * self.tick_ms}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of members in the state space without symmetry reduction."""
        return tuple(f"m{i}" for i in range(1, self.members + 1))

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """The inputs that are possible in a canonical state; none in an unknown one."""
        if state.is_unknown:
            return
        environment = self._scene(state)
        for body in membership(environment, self.features):
            version = self._version(body)
            yield Request(0, version, trim(body, version))
        newest = self.profile.max_versions["JoinGroup"]
        if newest >= SKIPS_SINCE:
            # The version before a response could make a rejoining leader skip its assignment.
            for body in returns(environment, self.features):
                yield Request(0, SKIPS_SINCE - 1, body)
        if environment.room and newest > BEFORE_REQUIRED_IDS:
            yield Request(0, BEFORE_REQUIRED_IDS, environment.join(NO_MEMBER_ID))
        if Feature.EXPIRY in self.features:
            # In these versions a commit could say how long its offsets are to be retained.
            said = commit(NO_GENERATION, NO_MEMBER_ID)._replace(retention_time_ms=self.tick_ms)
            yield Request(0, 2, trim(said, 2))
            if READS_COMMIT_TIME.holds_in(self.profile.version):
                # Before that, it could say when they were committed.
                yield Request(0, 1, commit(NO_GENERATION, NO_MEMBER_ID, age_ms=self.tick_ms))
        timer = state.group.join_timer if state.group else None
        if self.timed:
            yield Advance(self.tick_ms)
        elif timer is not None and timer.initial:
            yield Advance(timer.left_ms)
        yield from faults(state, self.features, self.profile)

    def successors(self, state: Coordinator, given: Input) -> Iterator[Outcome]:
        """Every outcome of an input that belongs to the state space."""
        outcomes = successors(state, given, self.profile, self.config)
        return (outcome for outcome in outcomes if self.admits(outcome.coordinator))

    def action(self, given: Input) -> str:
        """The name of the PlusCal process that an input belongs to."""
        return action(given)

    def unreduced(self) -> UnreducedStates:
        """The state space without symmetry reduction."""
        return UnreducedStates(self.names, self.generations)

    def admits(self, state: Coordinator) -> bool:
        """Whether a successor belongs to the state space: at most one append is held at a time.

        Versions that defer responses allow a second one. Members above the maximum, counting those
        in the log, are excluded too.
        """
        if state.log is not None and _count_ids(state) > self.members:
            return False
        most = 1 + ANSWERS_ARE_DEFERRED.holds_in(self.profile.version)
        return len(state.appends) <= (most if Feature.HELD_APPENDS in self.features else 0)

    def has_issued_ids(self, state: Coordinator) -> bool:
        """Whether the group has no more members than the instance, each with an issued id.

        A port that deviates may add others without limit, and symmetry reduction cannot rename
        them: members with one id, or with the id that stands for an unknown member.
        """
        group = state.group or Group()
        ids = [each.member_id for each in chain[Member | Pending](group.members, group.pending)]
        return len(ids) <= self.members and NOBODY not in ids and len({*ids}) == len(ids)

    def _version(self, body: RequestBody) -> int:
        return self.profile.max_versions[type(body).__name__.removesuffix("Request")]

    def _scene(self, state: Coordinator) -> Environment:
        return Environment(
            self.profile,
            self.config,
            state,
            self.session_ticks * self.tick_ms,
            self.rebalance_ticks * self.tick_ms,
            _count_ids(state) < self.members,
            not self.features.isdisjoint({Feature.ADMINISTRATION, Feature.EXPIRY}),
            self._refused_session_ms,
        )

    @property
    def _refused_session_ms(self) -> int:
        """A session timeout below the minimum; on a real clock one above the maximum, if any.

        There the session of a coordinator that accepts it does not end during a test.
        """
        highest_ms = self.settings.get(MAX_SESSION, 0)
        return highest_ms + 1 if highest_ms < MAX_MS else 1


@cache
def _config(
    settings: tuple[tuple[str, int], ...],
    delay_ms: int,
    keeps_ages: bool,  # noqa: FBT001 - of a cached function
) -> Config:
    return Config.of({**dict(settings), DELAY: delay_ms})._replace(keeps_ages=keeps_ages)


def _count_ids(state: Coordinator) -> int:
    """The number of members, pending ids, and members that only the log has."""
    group = state.group or Group()
    recorded = state.log.group if state.log else None
    if recorded is None or not recorded.members:
        return len(group.members) + len(group.pending)
    ids = {m.member_id for m in (*group.members, *recorded.members)}
    return len(ids) + len(group.pending)


def virtual_time_instances(profile: Profile, members: int) -> dict[str, Instance]:
    """The instances for a coordinator in virtual time.

    `membership` has every timer, `metadata` members that change their protocols, `storing` offsets
    and held appends. In one instance their states would multiply, although they hardly depend on
    each other.
    """
    return {
        "membership": Instance(profile, members),
        "metadata": _untimed(profile, members, Feature.METADATA),
        "storing": _untimed(profile, members, Feature.OFFSETS, Feature.HELD_APPENDS),
    }


def _held_commits(profile: Profile) -> tuple[Feature, ...]:
    """Appends of transactions are held, except in versions that defer responses."""
    return () if ANSWERS_ARE_DEFERRED.holds_in(profile.version) else (Feature.HELD_APPENDS,)


def _while_held(profile: Profile, members: int) -> int:
    """The number of members with held appends: smaller in versions that defer responses."""
    return _few(members) if ANSWERS_ARE_DEFERRED.holds_in(profile.version) else members


def _few(members: int) -> int:
    """One member fewer, for instances whose features hardly depend on members."""
    return max(members - 1, 1)


def _untimed(profile: Profile, members: int, *features: Feature) -> Instance:
    return Instance(profile, members, frozenset(features), 3_000, 600, 600, 1)


def real_clock_instances(
    profile: Profile, members: int, broker: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Instance]:
    """The instance for a coordinator on a real clock, with the settings of its broker.

    Timeouts are long, within the broker's limits, so that only the initial delay ends during a
    test.
    """
    config = Config.of(broker)
    delay_ms = config.group_initial_rebalance_delay_ms
    long_ms = max(20 * delay_ms, 60_000)
    session_ms = min(
        max(long_ms, config.group_min_session_timeout_ms), config.group_max_session_timeout_ms
    )
    features = frozenset({Feature.METADATA, Feature.OFFSETS})
    return {"order": Instance(profile, members, features, 1, session_ms, long_ms, delay_ms, broker)}


def feature_instances(profile: Profile, members: int) -> dict[str, Instance]:
    """The instances of optional features, one for each."""
    found: dict[str, Instance] = {}
    if "join/static-preparing" in profile.rules:
        features = frozenset({Feature.TIME, Feature.STATIC_MEMBERS})
        found["static"] = Instance(profile, members, features, rebalance_ticks=1)
        held = _while_held(profile, members)
        found["static-storing"] = _untimed(
            profile, held, Feature.STATIC_MEMBERS, Feature.HELD_APPENDS
        )
        crowded = _untimed(profile, members + 1, Feature.MAX_SIZE)
        found["crowded"] = crowded._replace(settings={"group.max.size": members})
    if "ListGroups" in profile.max_versions:
        found["administration"] = _untimed(profile, members, Feature.ADMINISTRATION)
    if "delete/waits" in profile.rules:
        found["administration-storing"] = _untimed(
            profile, _few(members), Feature.ADMINISTRATION, Feature.HELD_APPENDS
        )
    if "TxnOffsetCommit" in profile.max_versions:
        found["transactions"] = _untimed(
            profile, members, Feature.TRANSACTIONS, *_held_commits(profile)
        )
    if "failover/crash" in profile.rules:
        found |= _failing_instances(profile, members)
    return found | _expiring_instances(profile, members)


def _expiring_instances(profile: Profile, members: int) -> dict[str, Instance]:
    """The instances of offsets that expire, alone and with other features.

    The retention equals the new-member timeout. One member fewer is enough.
    """
    shortest = Instance(
        profile,
        _few(members),
        frozenset({Feature.TIME, Feature.EXPIRY}),
        300_000,
        1,
        1,
        settings={"offsets.retention.minutes": 5},
    )
    found = {"expiry": shortest._replace(tick_ms=150_000, session_ticks=2)}
    if "TxnOffsetCommit" in profile.max_versions:
        features = shortest.features | {Feature.TRANSACTIONS}
        found["expiry-transactions"] = shortest._replace(features=features)
    if "failover/crash" in profile.rules:
        features = shortest.features | {Feature.FAILING_APPENDS, Feature.CRASHES}
        found["expiry-failing"] = shortest._replace(features=features)
    return found


def _failing_instances(profile: Profile, members: int) -> dict[str, Instance]:
    """The instances of faults of appends and of the coordinator.

    Transactions and deletions hardly depend on members: one fewer is enough.
    """
    few = _few(members)
    crashes = (Feature.FAILING_APPENDS, Feature.CRASHES)
    held = _while_held(profile, members)
    found = {
        "failing": _untimed(profile, members, Feature.OFFSETS, *crashes),
        "failover": _untimed(
            profile, held, Feature.OFFSETS, Feature.HELD_APPENDS, Feature.FAILOVER
        ),
    }
    if "failover/too-large" in profile.rules:
        sized = _untimed(profile, members, Feature.MAX_SIZE, Feature.FAILOVER)
        found["failover-crowded"] = sized._replace(settings={"group.max.size": members})
    if "list/not-active" in profile.rules:
        found["failover-administration"] = _untimed(
            profile, members, Feature.ADMINISTRATION, Feature.FAILOVER
        )
    if "join/static-preparing" in profile.rules:
        found["failing-static"] = _untimed(profile, members, Feature.STATIC_MEMBERS, *crashes)
        if not ANSWERS_ARE_DEFERRED.holds_in(profile.version):
            # In other versions no response is sent after an unload.
            found["failover-static"] = _untimed(
                profile, few, Feature.STATIC_MEMBERS, Feature.HELD_APPENDS, Feature.FAILOVER
            )
    if "txn-commit/not-active" in profile.rules:
        found["failing-transactions"] = _untimed(profile, few, Feature.TRANSACTIONS, *crashes)
        found["failover-transactions"] = _untimed(
            profile, few, Feature.TRANSACTIONS, *_held_commits(profile), Feature.FAILOVER
        )
    if "delete/not-active" in profile.rules:
        found["failing-administration"] = _untimed(profile, few, Feature.ADMINISTRATION, *crashes)
        # An offset is deleted during its transaction: only the log shows whether that ended it.
        found["deleting-transactions"] = _untimed(
            profile, few, Feature.TRANSACTIONS, Feature.ADMINISTRATION, Feature.CRASHES
        )
    if LOADED_ARE_STATIC.holds_in(profile.version) or "time/syncs-expired" in profile.rules:
        # Only with time a test shows which members the rebalance timeout keeps, and which have not
        # synced.
        found["reload"] = Instance(profile, members, frozenset({Feature.TIME, Feature.CRASHES}))
    return found


def supported(profile: Profile) -> frozenset[Feature]:
    """The features of the version that the model has."""
    has = {
        Feature.STATIC_MEMBERS: "join/static-preparing" in profile.rules,
        Feature.MAX_SIZE: "join/static-preparing" in profile.rules,
        Feature.TRANSACTIONS: "TxnOffsetCommit" in profile.max_versions,
        Feature.ADMINISTRATION: "ListGroups" in profile.max_versions,
        Feature.FAILING_APPENDS: "failover/crash" in profile.rules,
        Feature.CRASHES: "failover/crash" in profile.rules,
        Feature.FAILOVER: "failover/crash" in profile.rules,
    }
    return frozenset(feature for feature in Feature if has.get(feature, True))


def composed(profile: Profile, members: int, features: frozenset[Feature]) -> Instance:
    """An instance of several features; with `max-size` it has one member more than the maximum."""
    timed = Feature.TIME in features
    instance = (
        Instance(profile, members, features) if timed else _untimed(profile, members, *features)
    )
    if Feature.MAX_SIZE in features:
        return instance._replace(members=members + 1, settings={"group.max.size": members})
    return instance


def instances(profile: Profile, members: int) -> dict[str, Instance]:
    """All instances for a number of members; with two they reach every rule."""
    return {
        **virtual_time_instances(profile, members),
        **real_clock_instances(profile, members),
        **feature_instances(profile, members),
    }
