"""One test on one port: send each step, observe, let the oracle judge."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, TypeGuard

from groupcheck.model.canonical import rename
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance
from groupcheck.model.step import Outcome, Profile
from groupcheck.model.transition import Input
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import Request, RequestBody, SyncGroupRequest
from groupcheck.properties.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle, Rejection
from groupcheck.properties.ports.port import Observation, Port, PortFailedError
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.sequence import Sequence, fault_of, step_message, symbols_of

# How late a timer of a coordinator on a real clock may fire, and still be lawful. Kafka's
# purgatory ticks every millisecond and its reaper runs every 200 ms; the rest is for loaded
# machines.
LATE_MS = 1_000


class FoundError(Exception):
    """The test ended in a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.key)
        self.finding = finding


class NotReplayedError(Exception):
    """Nothing can be said of a port by this sequence; the message says why."""


class UnfairError(NotReplayedError):
    """A request uses a member id that the port has not told: no client could send it."""


class Run:
    """A test under way on an open port."""

    def __init__(self, port: Port, profile: Profile, broker: Mapping[str, int]) -> None:
        self.port = port
        self.broker = dict(broker)
        self.oracle = Oracle(profile, broker, LATE_MS if port.real_time else 0)
        self.exchanges: list[Exchange] = []
        try:
            port.open(profile.name, self.broker)
        except PortFailedError as failure:
            raise FoundError(self._finding(failure=failure, during="open")) from failure

    def step(self, given: Input) -> str | None:
        """Do one step; the name of what the port does not support, if that is why it was not done.

        Raises:
            FoundError: the port has left the model, or failed.
            UnfairError: the request uses a member id that nobody was told.
        """
        if isinstance(given, Request):
            given = self._capped(given)
            told = set(self.oracle.names.values())
            # Whom a leader assigns something to is not looked at: only its own members count.
            sender = given.body._replace(assignments=()) if _assigns(given.body) else given.body
            if not told.issuperset(symbols_of(sender)):
                raise UnfairError
        lawful = self.oracle.predict(given)
        try:
            seen = self._send(given, expected(lawful))
        except PortFailedError as failure:
            self.exchanges.append(Exchange(given, Observation()))
            raise FoundError(self._finding(Rejection(tuple(lawful), ()), failure)) from failure
        if seen.unsupported is not None:
            return seen.unsupported
        self.exchanges.append(Exchange(given, seen))
        try:
            self.oracle.accept(given, lawful, seen)
        except DivergedError as diverged:
            raise FoundError(self._finding(diverged.rejection)) from diverged
        return None

    def close(self) -> None:
        """End the test.

        Raises:
            FoundError: the port failed while it did so.
        """
        try:
            self.port.close()
        except PortFailedError as failure:
            raise FoundError(self._finding(failure=failure, during="close")) from failure

    def _capped(self, request: Request) -> Request:
        if self.port.max_versions is None:
            return request
        newest = self.port.max_versions.get(request.api, request.api_version)
        version = min(request.api_version, newest)
        return request._replace(api_version=version, body=trim(request.body, version))

    def _send(self, given: Input, ids: Collection[int]) -> Observation:
        if isinstance(given, Request):
            if self.port.max_versions is not None and given.api not in self.port.max_versions:
                return Observation(unsupported=given.api)
            real = {symbol: member_id for member_id, symbol in self.oracle.names.items()}
            return self.port.request(given._replace(body=rename(given.body, real, 0)), ids)
        if isinstance(given, Advance):
            # On a real clock what is due has surely happened a little later.
            return self.port.advance(given.ms + (LATE_MS if self.port.real_time else 0), ids)
        return self.port.fault(fault_of(given), ids)

    def _finding(
        self,
        rejection: Rejection | None = None,
        failure: PortFailedError | None = None,
        during: str = "",
    ) -> Finding:
        steps = tuple(exchange.given for exchange in self.exchanges)
        return Finding(
            Sequence(self.oracle.profile.name, self.broker, steps),
            tuple(self.exchanges),
            dict(self.oracle.names),
            rejection,
            failure,
            self.oracle.states[0] if len(self.oracle.states) == 1 else None,
            during,
        )


def _assigns(body: RequestBody) -> TypeGuard[SyncGroupRequest]:
    return isinstance(body, SyncGroupRequest)


def expected(lawful: list[Outcome]) -> set[int]:
    """The requests that every lawful outcome answers."""
    answered = [{r.request_id for r in outcome.responses} for outcome in lawful]
    return set.intersection(*answered) if answered else set()


class Replayed(NamedTuple):
    """What came of a sequence: the finding it ends in, if any, and what was not supported."""

    finding: Finding | None
    left_out: tuple[Input, ...]

    @property
    def omission(self) -> str:
        """How many steps were left out, and which; empty if none was."""
        if not self.left_out:
            return ""
        count = "1 step" if len(self.left_out) == 1 else f"{len(self.left_out)} steps"
        return f"{count} left out, not supported: {', '.join(dict.fromkeys(self._names()))}"

    def _names(self) -> Iterator[str]:
        for step in self.left_out:
            if isinstance(step, Request):
                yield f"{step.api} v{step.api_version}"
            else:
                message = step_message(step)
                yield message["fault" if "fault" in message else "type"]


def replay(sequence: Sequence, port: Port) -> Finding | None:
    """Do a sequence on a port; the finding it ends in, if it does.

    Steps that the port does not support are left out, and an unfair one ends it.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    try:
        return _replay(sequence, port).finding
    except UnfairError:
        return None


def _replay(sequence: Sequence, port: Port) -> Replayed:
    left_out: list[Input] = []
    number = 0
    try:
        run = Run(port, PROFILES[sequence.profile], sequence.broker)
        for number, step in enumerate(sequence.steps, 1):  # noqa: B007 - said in the error
            if run.step(step) is not None:
                left_out.append(step)
        run.close()
    except FoundError as found:
        return Replayed(found.finding, tuple(left_out))
    except UnfairError as unfair:
        msg = f"step {number} uses a member id that the port never told"
        raise UnfairError(msg) from unfair
    return Replayed(None, tuple(left_out))


def replay_on(sequence: Sequence, source: PortSource) -> Replayed:
    """Do a sequence on a port that is made for it and let go afterwards.

    Raises:
        NotReplayedError: a step is unfair, or the port supports none of them.
        PortUnavailableError: the port cannot be reached.
    """
    try:
        port = source.connect()
        try:
            replayed = _replay(sequence, port)
        finally:
            port.shutdown()
    finally:
        source.stop()
    if replayed.finding is None and replayed.left_out == sequence.steps != ():
        msg = f"nothing was done: {replayed.omission}"
        raise NotReplayedError(msg)
    return replayed
