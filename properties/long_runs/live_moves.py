"""Random sequences for a coordinator on a real clock: the moves of `moves`, made fit for it.

They are *calm*, with timeouts that nobody waits for, so that order alone says what is lawful; or
*brisk*, with the shortest timeouts there may be, so that sessions end while one waits for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from struct import pack
from typing import Any, Final, NamedTuple

from groupcheck.model.config import Config
from groupcheck.model.spaces.clients import OTHER_TOPIC, TOPIC, Feature
from groupcheck.model.spaces.instance import supported
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
from groupcheck.properties.generators.moves import MOVES, Move
from groupcheck.properties.generators.sketch import (
    CHOICES,
    REBALANCE_TIMEOUTS_MS,
    SESSION_TIMEOUTS_MS,
    TOPICS,
    Picks,
    Sketch,
    Spoken,
)
from groupcheck.properties.generators.wandering import ALWAYS, REMEMBERED
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import FoundError, Run, UnfairError

# Nothing can be made to happen to a broker, and who lists groups is told of those of all other
# tests.
NOT_HERE: Final = frozenset({"hold", "release", "fail", "happen", "list_groups"})

LONG_MS: Final = 120_000  # no calm sequence takes so long
LONGEST_WAIT_MS: Final = 12_000  # no brisk one waits longer at once
SHORT_SESSIONS_MS: Final = (1_500, 4_000, 2_500, 1_000)  # for the usual of SESSION_TIMEOUTS_MS
LONGEST_DRAWN: Final = 10  # bytes of the metadata that random requests are made with
SHORT_REBALANCES_MS: Final = (3_000, 1_500, 6_000, 60_000)  # for those of REBALANCE_TIMEOUTS_MS


class Pace(NamedTuple):
    """What the timeouts that random requests name are made, on a broker with such settings."""

    brisk: bool
    broker: Mapping[str, int]

    @property
    def longest_wait_ms(self) -> int:
        """How long a timer may last that is waited for."""
        return LONGEST_WAIT_MS if self.brisk else 0

    def session_ms(self, drawn_ms: int) -> int:
        """The session timeout for one that was drawn; an odd one stays out of the range."""
        least, most = Config.of(self.broker)[:2]
        usual = sorted(set(SESSION_TIMEOUTS_MS) - {5_999, 1})
        if drawn_ms in {5_999, 1}:
            return most + 1 if drawn_ms == 5_999 and most < 2**31 - 1 else max(least - 1, 0)
        if drawn_ms not in usual:  # it was made before
            return drawn_ms
        short_ms = SHORT_SESSIONS_MS[usual.index(drawn_ms)]
        wanted_ms = least + short_ms if self.brisk else LONG_MS + drawn_ms
        return min(max(wanted_ms, least), most)

    def rebalance_ms(self, drawn_ms: int) -> int:
        """The rebalance timeout for one that was drawn."""
        usual = sorted({*REBALANCE_TIMEOUTS_MS} - {0})
        if drawn_ms and drawn_ms not in usual:  # it was made before
            return drawn_ms
        if not self.brisk:
            return LONG_MS + drawn_ms
        return SHORT_REBALANCES_MS[usual.index(drawn_ms)] if drawn_ms else min(SHORT_REBALANCES_MS)


def fit(body: RequestBody, pace: Pace) -> RequestBody:
    """A random request as it can be asked of a broker: its timeouts, and topics that there are."""
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
    """What a consumer offers that has subscribed to a topic of that name, and to nothing else.

    At other bytes Kafka may fail in the middle of a rebalance (see `subscription`).
    """
    if len(metadata) > LONGEST_DRAWN:  # it is readable already
        return metadata
    return b"\0\0" + pack(">ih", 1, len(metadata)) + metadata + b"\0\0\0\0"


def _first(topic: Any) -> tuple[Any, ...]:  # noqa: ANN401 - topics of several requests
    """The one partition that every topic has."""
    return tuple(p._replace(partition_index=0) for p in topic.partitions[:1])


def spoken_by(max_versions: Mapping[str, int] | None, profile: Profile) -> Spoken:
    """What a broker speaks of a profile, by what it says of itself."""
    newest = profile.max_versions if max_versions is None else max_versions
    versions = {
        api: tuple(range(min(most, newest.get(api, -1)), profile.min_versions.get(api, 0) - 1, -1))
        for api, most in profile.max_versions.items()
    }
    static = Feature.STATIC_MEMBERS in supported(profile)
    return Spoken(versions, static=static and max(versions["Heartbeat"], default=0) >= 3)


class LiveTest:
    """A test of random moves under way on a real clock."""

    def __init__(self, port: Port, profile: Profile, pace: Pace) -> None:
        self.run = Run(port, profile, pace.broker)
        self.sketch = Sketch(spoken_by(port.max_versions, profile))
        self.pace = pace
        self.applied: set[str] = set()
        self.late_ms = self.run.oracle.config.timer_late_ms

    def do(self, move: Move, choice: int) -> None:
        """One step, if the move finds anything to do.

        Raises:
            FoundError: the port has left the model, or failed.
        """
        sketch = self.sketch
        given = self._fit(move.build(sketch, Picks(choice)), choice)
        if given is None:
            return
        try:
            unsupported = self.run.step(given)
        except UnfairError:
            return
        if isinstance(given, Request) and unsupported is None:
            sketch.sent = [*sketch.sent[1 - REMEMBERED :], given]
        oracle = self.run.oracle
        self._note()
        if any(_due(state.group) for state in oracle.states):
            self.run.step(Advance(0))  # answers and requests would cross on their way
            self._note()
        sketch.learn(oracle.states[0], oracle.names)

    def _note(self) -> None:
        """Note the rules that were applied, if it is known which."""
        fired = self.run.oracle.fired
        if len(fired) == 1:
            self.applied.update(*fired)

    def _fit(self, given: Input | None, choice: int) -> Input | None:
        if isinstance(given, Request):
            body = trim(fit(given.body, self.pace), given.api_version)
            return given._replace(body=body)
        if not isinstance(given, Advance):
            return given
        timer = self.sketch.group.join_timer
        if timer is not None and timer.initial:
            return Advance(timer.round_ms)
        if given.ms > self.pace.longest_wait_ms:
            return None
        given = Advance(max(given.ms, 0))  # what is late may have been due
        # That a timer has not fired yet is seen well before it, that it has a while after it; who
        # waits does so for as long as it may be late, too.
        early_ms = given.ms - 2 * self.late_ms - 200
        return Advance(early_ms) if choice % 3 == 0 and early_ms > 0 else given


def _due(group: Group | None) -> bool:
    """Whether the end of an initial delay of no length is all that somebody waits for."""
    timer = group.join_timer if group else None
    return timer is not None and timer.initial and not timer.round_ms


class Strolled(NamedTuple):
    """How far a walk went, what it found, and the rules that were surely applied."""

    steps: int
    finding: Finding | None
    applied: frozenset[str]


def wander_live(port: Port, profile: Profile, pace: Pace, random: Random, limit: int) -> Strolled:
    """One walk of at most so many steps.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    moves = _swarm(random, brisk=pace.brisk)
    try:
        test = LiveTest(port, profile, pace)
    except FoundError as found:
        return Strolled(0, found.finding, frozenset())
    exchanges = test.run.exchanges
    try:
        for _ in range(4 * limit):  # some moves find nothing to do
            if len(exchanges) >= limit:
                break
            move = moves[random.randrange(len(moves))]
            if move.may(test.sketch):
                test.do(move, random.randrange(CHOICES))
        test.run.close()
    except FoundError as found:
        return Strolled(len(exchanges), found.finding, frozenset(test.applied))
    return Strolled(len(exchanges), None, frozenset(test.applied))


def _swarm(random: Random, *, brisk: bool) -> tuple[Move, ...]:
    """All moves every other time, else half of those that nothing depends on."""
    share = 1.0 if random.random() < 0.5 else 0.5
    likely = {move.name: move for move in MOVES}
    waits = ["advance"] if brisk else []
    return (
        *(likely[name] for name in [*(n for n in ALWAYS if n != "advance"), *waits]),
        *(m for m in MOVES if m.name not in {*ALWAYS, *NOT_HERE} and random.random() < share),
    )
