"""The specification of the whole system: those of the consumer and of the group, and a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.config import Config
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.state import Advance, Coordinator, JoinTimer
from groupcheck.model.classic.transition import successors as answers_of
from groupcheck.model.client import (
    ASSIGNED,
    CLOSE,
    COMMIT,
    DISCONNECT,
    HEARTBEAT_INTERVAL,
    LOST,
    NONE,
    REVOKED,
    SUBSCRIBE,
    ClientEvent,
    ClientInput,
)
from groupcheck.model.engine.specification import Outcome, Specification
from groupcheck.model.member.specification import Consumer as MemberSpecification
from groupcheck.model.member.state import Application, Settings
from groupcheck.model.system.network import PARTITIONS, Owned, request_of, with_answer
from groupcheck.model.system.state import Consumer, InFlight, Progress, System, canonical
from groupcheck.model.versions import trim

# A timer that fires does so after this time, which leaves every other timer running.
FIRES_MS: Final = 1
FIRST_REQUEST_ID: Final = 1_000
# Offsets are committed up to this one.
LAST_OFFSET: Final = 2


Offsets = tuple[tuple[int, int], ...]  # by partition


class SystemInput(NamedTuple):
    """A step of the system.

    Args:
        name: what happens.
        consumer: to which consumer, by its number, from 0; -1 for none.
        member_id: to which member of the group; "" for none.
    """

    name: str
    consumer: int = -1
    member_id: str = ""

    def __str__(self) -> str:
        who = f"consumer {self.consumer + 1}" if self.consumer >= 0 else self.member_id
        return f"{who}: {self.name}" if who else self.name


HANDLE: Final = "the coordinator handles its oldest request"
DELIVER: Final = "it receives the answer to its oldest request"
SESSION: Final = "its session ends"
REBALANCE: Final = "the rebalance timeout passes"
CRASH: Final = "its process ends"


@dataclass(frozen=True)
class WholeSystem(Specification):
    """Consumers of one topic with two partitions, and the coordinator of their group.

    Args:
        profile: the version of Kafka, "2.7" or "4.1", of consumers and coordinator.
        consumers: how many.
        cooperative: whether the assignors are cooperative.
        faults: how many faults may happen: a connection breaks, a process ends, the session of a
            consumer that lives ends, the rebalance timeout passes.
        generations: a limit; behind it nothing happens.
        closes: whether consumers may be closed.
        commits: whether consumers consume two records of each partition, and commit after each.
    """

    profile: str
    consumers: int = 2
    cooperative: bool = False
    faults: int = 0
    generations: int = 6
    closes: bool = False
    commits: bool = False

    @property
    def initial(self) -> System:
        """Consumers that have not subscribed, and no group."""
        return System(Coordinator(), (Consumer(),) * self.consumers, self.faults)

    def inputs(self, state: System) -> Iterator[SystemInput]:
        """What can happen."""
        if state.group().generation_id >= self.generations:
            return
        for number, consumer in enumerate(state.consumers):
            yield from (SystemInput(name, number) for name in self._of(consumer, state.faults))
        known = {each for c in state.consumers if _serves(c) for each in _ids(c)}
        for member in state.group().members:
            waits = member.awaiting_join is not None or member.awaiting_sync is not None
            if not waits and (member.member_id not in known or state.faults):
                yield SystemInput(SESSION, member_id=member.member_id)
        for pending in state.group().pending:
            if pending.member_id not in known or state.faults:
                yield SystemInput(SESSION, member_id=pending.member_id)
        waits = state.group().join_timer is not None
        if waits and (state.faults or not _is_early(state)):
            yield SystemInput(REBALANCE)

    def successors(self, state: System, given: SystemInput) -> Iterator[Outcome]:
        """Every outcome, in canonical form."""
        for outcome in self._outcomes(state, given):
            yield outcome._replace(state=canonical(outcome.state))

    def action(self, given: SystemInput) -> str:
        """What happens, without to which."""
        return given.name

    def _of(self, consumer: Consumer, faults: int) -> Iterator[str]:
        """What can happen to a consumer."""
        member = consumer.member
        if _unhandled(consumer) is not None:
            yield HANDLE
        if consumer.crashed or member.application == Application.CLOSED:
            return
        if member.application == Application.NEW:
            yield SUBSCRIBE
            return
        if consumer.flights and consumer.flights[0].progress == Progress.ANSWERED:
            yield DELIVER
        possible = {given.name for given in self._member.inputs(member) if not given.error}
        yield from sorted(possible & self._calls(consumer))
        if faults:
            yield from possible & {DISCONNECT}
            yield CRASH

    def _calls(self, consumer: Consumer) -> set[str]:
        """What the application and time may do to a consumer."""
        calls = {HEARTBEAT_INTERVAL}
        if self.commits and dict(consumer.positions) != _LAST:
            calls.add(COMMIT)
        if self.closes and not consumer.flights:
            calls.add(CLOSE)
        return calls

    @cached_property
    def _member(self) -> MemberSpecification:
        return MemberSpecification(self.profile, Settings(cooperative=self.cooperative), (), 10**6)

    def _outcomes(self, state: System, given: SystemInput) -> Iterator[Outcome]:
        number = given.consumer
        if given.name == HANDLE:
            yield from self._handled(state, number)
        elif given.name in (SESSION, REBALANCE):
            yield from self._fired(state, given)
        elif given.name == CRASH:
            gone = state.consumers[number]._replace(crashed=True)
            yield Outcome(state.with_consumer(number, gone)._replace(faults=state.faults - 1))
        elif given.name == DELIVER:
            oldest, *later = state.consumers[number].flights
            after = state.with_consumer(
                number, state.consumers[number]._replace(flights=tuple(later))
            )
            if oldest.api == "OffsetCommit" and oldest.answer == _STORED:
                after = after._replace(acknowledged=_highest(after.acknowledged, oldest.offsets))
            yield self._client(after, number, oldest.answer or ClientInput(""), oldest.members)
        else:
            spent = given.name == DISCONNECT
            after = state._replace(faults=state.faults - spent)
            if spent:
                broken = after.consumers[number]._replace(flights=())
                after = after.with_consumer(number, broken)
            yield self._client(after, number, ClientInput(given.name), ())

    def _client(self, state: System, number: int, given: ClientInput, members: Owned) -> Outcome:
        """A step of a consumer; the coordinator is found at once."""
        consumer = state.consumers[number]
        if given.name == COMMIT:
            consumer = consumer._replace(positions=_consumed(consumer.positions))
        member, applied = consumer.member, list[str]()
        done: list[ClientEvent] = []
        while True:
            (outcome,) = self._member.successors(member, given)
            member = outcome.state
            done += outcome.responses[0]
            applied += (f"consumer/{rule}" for rule in outcome.applied)
            if not member.finding:
                break
            given = ClientInput("FindCoordinator", NONE)
        positions = _positions(state, consumer, done) if self.commits else ()
        sent = [
            InFlight(
                event.name,
                event.member_id,
                event.generation,
                event.partitions,
                members if event.leader else (),
                positions if event.name == "OffsetCommit" else (),
            )
            for event in done
            if event.name in _SENT
        ]
        flights = consumer.flights if member.coordinator else ()
        after = Consumer(member, (*flights, *sent), positions=positions)
        return Outcome(state.with_consumer(number, after), (tuple(done),), tuple(applied))

    def _handled(self, state: System, number: int) -> Iterator[Outcome]:
        """The coordinator handles the oldest request that it has not handled."""
        consumer = state.consumers[number]
        place = _unhandled(consumer)
        if place is None:
            return
        flight = consumer.flights[place]
        request_id = FIRST_REQUEST_ID
        flights = list(consumer.flights)
        if flight.api == "LeaveGroup":  # no answer to it has an effect
            del flights[place]
        else:
            flights[place] = flight._replace(progress=Progress.PARKED, request_id=request_id)
        before = state.with_consumer(number, consumer._replace(flights=tuple(flights)))
        body = request_of(flight, cooperative=self.cooperative)
        version = PROFILES[self.profile].max_versions[flight.api]
        request = kafka.Request(request_id, version, trim(body, version))
        yield from self._coordinator(before, before.coordinator, request)

    def _fired(self, state: System, given: SystemInput) -> Iterator[Outcome]:
        """A timer of the coordinator fires."""
        group = state.group()
        if given.name == REBALANCE:
            changed = group._replace(join_timer=JoinTimer(FIRES_MS))
            faults = state.faults - _is_early(state)
        else:
            changed = group._replace(
                members=tuple(
                    m._replace(session_left_ms=FIRES_MS) if m.member_id == given.member_id else m
                    for m in group.members
                ),
                pending=tuple(
                    p._replace(left_ms=FIRES_MS) if p.member_id == given.member_id else p
                    for p in group.pending
                ),
            )
            lives = any(_serves(c) and given.member_id in _ids(c) for c in state.consumers)
            faults = state.faults - lives
        coordinator = state.coordinator._replace(group=changed)
        yield from self._coordinator(state._replace(faults=faults), coordinator, Advance(FIRES_MS))

    def _coordinator(self, state: System, before: Coordinator, given: Any) -> Iterator[Outcome]:  # noqa: ANN401
        """A step of the coordinator; its answers are on their way."""
        profile = PROFILES[self.profile]
        for outcome in answers_of(before, given, profile, _CONFIG):
            after = state._replace(coordinator=outcome.coordinator)
            for response in outcome.responses:
                after = _answered(after, response)
            yield Outcome(after, (), outcome.applied)


_SENT: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup")
_CONFIG: Final = Config(group_initial_rebalance_delay_ms=0)
_STORED: Final = ClientInput("OffsetCommit", NONE)
_LAST: Final = dict.fromkeys(PARTITIONS, LAST_OFFSET)


def _consumed(positions: Offsets) -> Offsets:
    """The positions after one more record of each partition."""
    return tuple((each, min(offset + 1, LAST_OFFSET)) for each, offset in positions)


def first_positions(state: System) -> dict[int, int]:
    """Where a consumer begins: at the committed offset of each partition, else at 0."""
    return state.committed()


def _positions(state: System, consumer: Consumer, done: Sequence[ClientEvent]) -> Offsets:
    """The positions after calls of the listener: new partitions begin at the committed offset."""
    positions = dict(consumer.positions)
    first = first_positions(state)
    for event in done:
        if event.name == ASSIGNED:
            positions |= {each: first.get(each, 0) for each in event.partitions}
        elif event.name in (REVOKED, LOST):
            positions = {k: v for k, v in positions.items() if k not in event.partitions}
    return tuple(sorted(positions.items()))


def _highest(one: Offsets, other: Offsets) -> Offsets:
    found = dict(one)
    for partition, offset in other:
        found[partition] = max(offset, found.get(partition, 0))
    return tuple(sorted(found.items()))


def _serves(consumer: Consumer) -> bool:
    """Whether a consumer lives and polls."""
    return not consumer.crashed and consumer.member.application == Application.POLLING


def _is_early(state: System) -> bool:
    """Whether a consumer that lives, and has not rejoined, would lose its place in the group."""
    rejoined = {m.member_id for m in state.group().members if m.awaiting_join is not None}
    return any(
        _serves(c) and m.member_id in _ids(c) and m.member_id not in rejoined
        for m in state.group().members
        for c in state.consumers
    )


def _ids(consumer: Consumer) -> list[str]:
    """The member ids that a consumer has or is about to receive."""
    answers = [flight.answer.member_id for flight in consumer.flights if flight.answer is not None]
    return [consumer.member.member_id, *answers]


def _unhandled(consumer: Consumer) -> int | None:
    """The place of the request that the coordinator handles next: one at a time."""
    for place, flight in enumerate(consumer.flights):
        if flight.progress == Progress.PARKED:
            return None
        if flight.progress == Progress.SENT:
            return place
    return None


def _answered(state: System, response: kafka.Response) -> System:
    """The answer is on its way to the consumer whose request is parked."""
    for number, consumer in enumerate(state.consumers):
        for place, flight in enumerate(consumer.flights):
            if flight.progress == Progress.PARKED and flight.request_id == response.request_id:
                flights = list(consumer.flights)
                if consumer.crashed or consumer.member.application == Application.CLOSED:
                    del flights[place]
                else:
                    flights[place] = with_answer(flight, response.body)
                return state.with_consumer(number, consumer._replace(flights=tuple(flights)))
    return state  # the connection has broken meanwhile
