"""Random sequences for a coordinator on a real clock: the usual actions, adapted to it.

They are untimed, with timeouts that never end, so that only the order decides what is allowed; or
*timed*, with the shortest possible timeouts, so that sessions end during the test.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from struct import pack
from typing import Any, Final, NamedTuple

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.instances.inputs import OTHER_TOPIC, TOPIC
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import (
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    Request,
    RequestBody,
    TxnOffsetCommitRequest,
)
from groupcheck.properties.generators.context import (
    REBALANCE_TIMEOUTS_MS,
    SESSION_TIMEOUTS_MS,
    TOPICS,
    Context,
    capabilities_by,
)
from groupcheck.properties.generators.fuzzing import Fuzzed, FuzzTest, swarm, walk
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import Run

# A live broker supports no faults, and ListGroups returns the groups of all concurrent tests.
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


def walk_live(port: Port, profile: Profile, pace: Pace, random: Random, limit: int) -> Fuzzed:
    """Run one walk of at most `limit` steps.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """

    def begin() -> FuzzTest:
        run = Run(port, profile, pace.broker)
        context = Context(capabilities_by(port.max_versions, profile))
        late_ms = run.oracle.config.timer_late_ms
        return FuzzTest(
            run, context, lambda given, choice: _fit(given, choice, pace, context, late_ms)
        )

    actions = swarm(random, EXCLUDED if pace.timed else EXCLUDED | {"advance"})
    return walk(begin, actions, random, limit, tries=4 * limit)


def _fit(given: Input, choice: int, pace: Pace, context: Context, late_ms: int) -> Input | None:
    """Adapt a step to a broker; None if it would wait too long."""
    if isinstance(given, Request):
        return given._replace(body=trim(fit(given.body, pace), given.api_version))
    if not isinstance(given, Advance):
        return given
    timer = context.group.join_timer
    if timer is not None and timer.initial:
        return Advance(timer.round_ms)
    if given.ms > pace.longest_wait_ms:
        return None
    given = Advance(max(given.ms, 0))  # a late timer may have been due
    # To see that a timer has not fired, wait until well before its deadline; to see that it
    # has, wait for the deadline and for as long as it may be late.
    early_ms = given.ms - 2 * late_ms - 200
    return Advance(early_ms) if choice % 3 == 0 and early_ms > 0 else given
