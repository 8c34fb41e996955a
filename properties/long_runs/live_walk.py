"""Random sequences for a coordinator on a real clock: the moves of `moves`, adapted to it.

They are untimed, with timeouts that never end, so that order alone decides what is allowed; or
*timed*, with the shortest possible timeouts, so that sessions end while the test waits for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from struct import pack
from typing import Any, Final, NamedTuple

from groupcheck.model.config import Config
from groupcheck.model.instances.inputs import OTHER_TOPIC, TOPIC, Feature
from groupcheck.model.instances.instance import supported
from groupcheck.model.state import Advance, Group
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    Request,
    RequestBody,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.actions import ACTIONS, Action
from groupcheck.properties.generators.context import (
    CHOICES,
    REBALANCE_TIMEOUTS_MS,
    SESSION_TIMEOUTS_MS,
    TOPICS,
    Capabilities,
    Choices,
    Context,
)
from groupcheck.properties.generators.fuzzing import ALWAYS, REMEMBERED
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

# A live broker takes no faults, and ListGroups returns the groups of all concurrent tests.
EXCLUDED: Final = frozenset({"hold", "release", "fail", "happen", "list_groups"})

LONG_MS: Final = 120_000  # longer than any untimed sequence
LONGEST_WAIT_MS: Final = 12_000  # of a timed one, at once
SHORT_SESSIONS_MS: Final = (1_500, 4_000, 2_500, 1_000)  # replace the usual SESSION_TIMEOUTS_MS
LONGEST_DRAWN: Final = 10  # bytes of the metadata that the generator draws
SHORT_REBALANCES_MS: Final = (3_000, 1_500, 6_000, 60_000)  # replace REBALANCE_TIMEOUTS_MS


class Pace(NamedTuple):
    """Replaces the timeouts of random requests, for a broker with these settings."""

    timed: bool
    broker: Mapping[str, int]

    @property
    def longest_wait_ms(self) -> int:
        """The longest timer to wait for."""
        return LONGEST_WAIT_MS if self.timed else 0

    def session_ms(self, drawn_ms: int) -> int:
        """Return the replacement of a drawn session timeout; an invalid one stays invalid."""
        least, most = Config.of(self.broker)[:2]
        usual = sorted(set(SESSION_TIMEOUTS_MS) - {5_999, 1})
        if drawn_ms in {5_999, 1}:
            return most + 1 if drawn_ms == 5_999 and most < 2**31 - 1 else max(least - 1, 0)
        if drawn_ms not in usual:  # it is a replacement already
            return drawn_ms
        short_ms = SHORT_SESSIONS_MS[usual.index(drawn_ms)]
        wanted_ms = least + short_ms if self.timed else LONG_MS + drawn_ms
        return min(max(wanted_ms, least), most)

    def rebalance_ms(self, drawn_ms: int) -> int:
        """Return the replacement of a drawn rebalance timeout."""
        usual = sorted({*REBALANCE_TIMEOUTS_MS} - {0})
        if drawn_ms and drawn_ms not in usual:  # it is a replacement already
            return drawn_ms
        if not self.timed:
            return LONG_MS + drawn_ms
        return SHORT_REBALANCES_MS[usual.index(drawn_ms)] if drawn_ms else min(SHORT_REBALANCES_MS)


def fit(body: RequestBody, pace: Pace) -> RequestBody:
    """Adapt a random request to a broker: its timeouts, its metadata, and existing topics."""
    if isinstance(body, JoinGroupRequest):
        rebalance_ms = body.rebalance_timeout_ms
        return body._replace(
            session_timeout_ms=pace.session_ms(body.session_timeout_ms),
            rebalance_timeout_ms=rebalance_ms,
            protocols=tuple(p._replace(metadata=readable(p.metadata)) for p in body.protocols),
        )
    if isinstance(body, OffsetCommitRequest | TxnOffsetCommitRequest | OffsetDeleteRequest):
        topics: Any = body.topics
        there = {TOPICS[0]: TOPIC, TOPICS[1]: OTHER_TOPIC}
        return body._replace(
            topics=tuple(
                topic._replace(name=there.get(topic.name, topic.name), partitions=_first(topic))
                for topic in topics
            )
        )
    return body


def readable(metadata: bytes) -> bytes:
    """Return the metadata of a consumer that is subscribed to the topic of that name only.

    Kafka may fail in the middle of a rebalance when it cannot parse the metadata (see
    `subscription`).
    """
    if len(metadata) > LONGEST_DRAWN:  # it is a subscription already
        return metadata
    return b"\0\0" + pack(">ih", 1, len(metadata)) + metadata + b"\0\0\0\0"


def _first(topic: Any) -> tuple[Any, ...]:  # noqa: ANN401 - topics of several requests
    """Return the only partition that every topic has."""
    return tuple(p._replace(partition_index=0) for p in topic.partitions[:1])


def capabilities_by(max_versions: Mapping[str, int] | None, profile: Profile) -> Capabilities:
    """Return the APIs and versions of a profile that a broker supports."""
    newest = profile.max_versions if max_versions is None else max_versions
    versions = {
        api: tuple(range(min(most, newest.get(api, -1)), profile.min_versions.get(api, 0) - 1, -1))
        for api, most in profile.max_versions.items()
    }
    static = Feature.STATIC_MEMBERS in supported(profile)
    return Capabilities(versions, static=static and max(versions["Heartbeat"], default=0) >= 3)


class LiveWalk:
    """A running test of random requests on a real clock."""

    def __init__(self, port: Port, profile: Profile, pace: Pace) -> None:
        self.run = Run(port, profile, pace.broker)
        self.context = Context(capabilities_by(port.max_versions, profile))
        self.pace = pace
        self.applied: set[str] = set()
        self.late_ms = self.run.oracle.config.timer_late_ms

    def do(self, action: Action, choice: int) -> None:
        """Run one step, if the move has anything to do.

        Raises:
            FoundError: the port violates the specification, or failed.
        """
        context = self.context
        given = self._fit(action.build(context, Choices(choice)), choice)
        if given is None:
            return
        try:
            unsupported = self.run.step(given)
        except UnfairError:
            return
        if isinstance(given, Request) and unsupported is None:
            context.sent = [*context.sent[1 - REMEMBERED :], given]
        oracle = self.run.oracle
        self._note()
        if any(_due(state.group) for state in oracle.states):
            self.run.step(Advance(0))  # else the next request might cross the responses
            self._note()
        context.learn(oracle.states[0], oracle.names)

    def _note(self) -> None:
        """Record the rules that were applied, if the observation identifies them."""
        fired = self.run.oracle.fired
        if len(fired) == 1:
            self.applied.update(*fired)

    def _fit(self, given: Input | None, choice: int) -> Input | None:
        if isinstance(given, Request):
            body = trim(fit(given.body, self.pace), given.api_version)
            return given._replace(body=body)
        if not isinstance(given, Advance):
            return given
        timer = self.context.group.join_timer
        if timer is not None and timer.initial:
            return Advance(timer.round_ms)
        if given.ms > self.pace.longest_wait_ms:
            return None
        given = Advance(max(given.ms, 0))  # a late timer may have been due
        # To see that a timer has not fired, wait until well before its deadline; to see that it
        # has, wait for the deadline and for as long as it may be late.
        early_ms = given.ms - 2 * self.late_ms - 200
        return Advance(early_ms) if choice % 3 == 0 and early_ms > 0 else given


def _due(group: Group | None) -> bool:
    """Return whether the group waits only for an initial delay of length 0."""
    timer = group.join_timer if group else None
    return timer is not None and timer.initial and not timer.round_ms


class WalkResult(NamedTuple):
    """The number of steps of a walk, its finding, and the rules that were certainly applied."""

    steps: int
    finding: Finding | None
    applied: frozenset[str]


def walk_live(port: Port, profile: Profile, pace: Pace, random: Random, limit: int) -> WalkResult:
    """Run one walk of at most `limit` steps.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    actions = _swarm(random, timed=pace.timed)
    try:
        test = LiveWalk(port, profile, pace)
    except FoundError as found:
        return WalkResult(0, found.finding, frozenset())
    exchanges = test.run.exchanges
    try:
        for _ in range(4 * limit):  # some moves have nothing to do
            if len(exchanges) >= limit:
                break
            action = actions[random.randrange(len(actions))]
            if action.may(test.context):
                test.do(action, random.randrange(CHOICES))
        test.run.close()
    except FoundError as found:
        return WalkResult(len(exchanges), found.finding, frozenset(test.applied))
    return WalkResult(len(exchanges), None, frozenset(test.applied))


def _swarm(random: Random, *, timed: bool) -> tuple[Action, ...]:
    """Return all moves, or every other time only half of the optional ones."""
    share = 1.0 if random.random() < 0.5 else 0.5
    likely = {action.name: action for action in ACTIONS}
    waits = ["advance"] if timed else []
    return (
        *(likely[name] for name in [*(n for n in ALWAYS if n != "advance"), *waits]),
        *(m for m in ACTIONS if m.name not in {*ALWAYS, *EXCLUDED} and random.random() < share),
    )
