"""What a consumer does with an assignment, or with another member's subscription, that is bad.

Each case has a fresh consumer, and begins as a rebalance that a client of another version, or one
with an error, takes part in. Afterwards the group rebalances with good bytes: the consumer has to
be a member that has partitions again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from groupcheck.model.client import (
    ASSIGNED,
    HEARTBEAT_INTERVAL,
    NONE,
    RAISED,
    SUBSCRIBE,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.member.state import Settings
from groupcheck.properties.clients.consumer import Consumer
from groupcheck.properties.clients.coordinator import PARTITIONS, TOPIC
from groupcheck.properties.clients.port import ClientFailedError
from groupcheck.properties.clients.process import ProcessPort

MEMBER: Final = "m"
UNKNOWN_TOPIC: Final = "unknown"
UNKNOWN_PARTITION: Final = 7  # of the unknown topic: no other partition has this number
TO_COME: Final = 99
ASSIGNS: Final = ClientInput("SyncGroup", NONE, partitions=PARTITIONS)
GIVEN: Final = ClientEvent(ASSIGNED, partitions=PARTITIONS)
GENERATIONS: Final = (2, 3)  # in which the consumer may come back


def _topic(name: str) -> bytes:
    return len(name).to_bytes(2, "big") + name.encode()


def _numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big", signed=True) for number in numbers)


def _assignment(topic: str, *partitions: int, version: int = 0) -> bytes:
    """An assignment with null user data."""
    named = _numbers(1) + _topic(topic) + _numbers(len(partitions), *partitions)
    return version.to_bytes(2, "big") + named + _numbers(-1)


def _subscription(topic: str, version: int = 0) -> bytes:
    """A subscription with null user data."""
    return version.to_bytes(2, "big") + _numbers(1) + _topic(topic) + _numbers(-1)


# A version to come has the known fields first: owned partitions, the generation, the rack.
KNOWN_FIELDS: Final = _numbers(0, -1) + b"\xff\xff"
NEW_FIELD: Final = b"\0\0\0\7and more"

# By what is special.
ASSIGNMENTS: Final[Mapping[str, bytes]] = {
    "null user data": _assignment(TOPIC, *PARTITIONS),
    "truncated": _assignment(TOPIC, *PARTITIONS)[:-8],
    f"version {TO_COME}": _assignment(TOPIC, *PARTITIONS, version=TO_COME) + NEW_FIELD,
    "an unknown topic": _assignment(UNKNOWN_TOPIC, UNKNOWN_PARTITION),
}
SUBSCRIPTIONS: Final[Mapping[str, bytes]] = {
    "null user data": _subscription(TOPIC),
    "truncated": _subscription(TOPIC)[:-5],
    f"version {TO_COME}": _subscription(TOPIC, version=TO_COME) + KNOWN_FIELDS + NEW_FIELD,
    "an unknown topic": _subscription(UNKNOWN_TOPIC),
}


class Outcome(NamedTuple):
    """What a consumer did.

    Args:
        what: the bytes: an assignment or a subscription.
        case: what is special about them.
        events: from when it had the bytes until the group rebalances.
        recovers: whether it has partitions after the next rebalance.
        failure: why the client failed, "" if it did not.
    """

    what: str
    case: str
    events: tuple[ClientEvent, ...] = ()
    recovers: bool = False
    failure: str = ""

    @property
    def wrong(self) -> str:
        """What is wrong for any consumer, "" if nothing."""
        if self.failure:
            return self.failure
        if self._takes_unknown:
            return "it takes a partition of a topic that it has not subscribed to"
        silent = not self.recovers and not self._does(RAISED)
        return "it does not join again, and reports nothing" if silent else ""

    @property
    def words(self) -> str:
        """What the consumer did, in short."""
        if self.failure:
            return f"fails: {self.failure}"
        if self._does(RAISED):
            did = "poll raises an error"
        elif self._takes_unknown:
            did = "takes a partition of it"
        elif self._does(ASSIGNED):
            did = "takes the partitions" if self.what == "assignment" else "assigns partitions"
        else:
            did = "joins again" if self._does("JoinGroup") else "does nothing"
        return did if self.recovers else f"{did}; does not join again"

    @property
    def _takes_unknown(self) -> bool:
        return any(UNKNOWN_PARTITION in event.partitions for event in self.events)

    def _does(self, name: str) -> bool:
        return any(event.name == name for event in self.events)


def outcomes(port: ProcessPort, patience_s: float) -> Iterator[Outcome]:
    """Give consumers of an open port the bytes of each case."""
    for what, cases in (("assignment", ASSIGNMENTS), ("subscription", SUBSCRIPTIONS)):
        for case, data in cases.items():
            yield outcome(port, what, case, data, patience_s)


def outcome(port: ProcessPort, what: str, case: str, data: bytes, patience_s: float) -> Outcome:
    """Give a fresh consumer of an open port some bytes."""
    events: list[ClientEvent] = []
    try:
        consumer = port.start(Settings())
        try:
            events += _given(consumer, what, data, patience_s)
            recovers = any(_rebalances(consumer, number, patience_s) for number in GENERATIONS)
        finally:
            consumer.end()
    except ClientFailedError as error:
        return Outcome(what, case, tuple(events), failure=str(error))
    return Outcome(what, case, tuple(events), recovers)


def _given(consumer: Consumer, what: str, data: bytes, patience_s: float) -> Iterator[ClientEvent]:
    """Let a consumer join a group for the first time, and give it the bytes."""
    leads, coordinator = what == "subscription", consumer.coordinator
    consumer.do(ClientInput(SUBSCRIBE), [ClientEvent("FindCoordinator")], patience_s=patience_s)
    found = ClientInput("FindCoordinator", NONE)
    consumer.do(found, [ClientEvent("JoinGroup")], patience_s=patience_s)
    coordinator.subscription = data if leads else None
    synced = ClientEvent("SyncGroup", MEMBER, 1, leader=leads)
    joined = ClientInput("JoinGroup", NONE, MEMBER, 1, leader=leads)
    seen = consumer.do(joined, [synced], patience_s=patience_s)
    if leads:
        yield from seen
    coordinator.subscription, coordinator.assignment = None, None if leads else data
    if coordinator.holds("SyncGroup"):
        yield from consumer.do(ASSIGNS, [GIVEN], patience_s=patience_s)
    coordinator.assignment = None


def _rebalances(consumer: Consumer, generation: int, patience_s: float) -> bool:
    """Let the group rebalance; whether the consumer has partitions in the end."""
    coordinator = consumer.coordinator
    if not coordinator.holds("JoinGroup"):
        beats = [ClientEvent("Heartbeat", MEMBER, generation - 1)]
        consumer.do(ClientInput(HEARTBEAT_INTERVAL), beats, patience_s=patience_s)
        if coordinator.holds("Heartbeat"):
            rebalances = ClientInput("Heartbeat", "REBALANCE_IN_PROGRESS")
            joins = [ClientEvent("JoinGroup", MEMBER)]
            consumer.do(rebalances, joins, patience_s=patience_s)
    if not coordinator.holds("JoinGroup"):
        return False
    synced = [ClientEvent("SyncGroup", MEMBER, generation)]
    joined = ClientInput("JoinGroup", NONE, MEMBER, generation)
    consumer.do(joined, synced, patience_s=patience_s)
    return coordinator.holds("SyncGroup") and GIVEN in consumer.do(
        ASSIGNS, [GIVEN], patience_s=patience_s
    )
