"""One test on one port: send each step, observe, let the oracle check it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from groupcheck.model.classic.config import CLEANUP_INTERVAL
from groupcheck.model.classic.exploring.canonical import rename
from groupcheck.model.classic.state import Advance, Coordinator
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import plain
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle, Rejection
from groupcheck.properties.ports.numbering import numbered
from groupcheck.properties.ports.port import Observation, Port, PortFailedError, tolerances_of
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.sequence import (
    Sequence,
    fault_of,
    is_symbol,
    needed_ids,
    step_message,
)
from groupcheck.properties.tolerances import Tolerances

# Called after an allowed step: with the state before it, its input, and the oracle after it.
Stepped = Callable[[Coordinator, Input, Oracle], None]

# A port may choose at random where Kafka allows several outcomes, such as which of two timers fires
# first, and a finding may depend on it. In virtual time a replay repeats the sequence, so that a
# lucky run does not look like a fixed port.
DRAWS: Final = 20
SLICE_MS: Final = 50  # how often a wait checks for the expected answers


class FoundError(Exception):
    """The test ended in a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.key)
        self.finding = finding


class NotReplayedError(Exception):
    """The sequence cannot check the port; the message says why."""


class UnfairError(NotReplayedError):
    """A request uses a member id that the port has not revealed: no client could send it."""


class Checks:
    """The checks of a test: its exchanges, and the oracle that allows them.

    The profile may be edited: its edits are deviations of the port, which are no findings.
    """

    def __init__(
        self,
        profile: Profile,
        broker: Mapping[str, int],
        tolerances: Tolerances | None = None,
    ) -> None:
        self.broker = dict(broker)
        self.oracle = Oracle(profile, broker, tolerances)
        self.exchanges: list[Exchange] = []
        self._has_failed = False  # in the last exchange

    @property
    def observed(self) -> tuple[Exchange, ...]:
        """The exchanges, without one in which the port failed."""
        return tuple(self.exchanges[:-1] if self._has_failed else self.exchanges)

    def observe(self, given: Input, allowed: list[Outcome], seen: Observation) -> None:
        """Check the observation of an input; `allowed` are the outcomes that the oracle predicts.

        Raises:
            FoundError: it matches none of them.
        """
        self.exchanges.append(Exchange(given, seen))
        try:
            self.oracle.accept(given, allowed, seen)
        except DivergedError as diverged:
            raise FoundError(self._finding(diverged.rejection)) from diverged

    def failed(
        self, failure: PortFailedError, given: Input | None = None, during: str = ""
    ) -> FoundError:
        """The finding that the port failed: at an input, or `during` "open" or "close"."""
        if given is None:
            return FoundError(self._finding(failure=failure, during=during))
        allowed = tuple(self.oracle.predict(given))
        self.exchanges.append(Exchange(given, Observation()))
        self._has_failed = True
        return FoundError(self._finding(Rejection(allowed, ()), failure))

    def _finding(
        self,
        rejection: Rejection | None = None,
        failure: PortFailedError | None = None,
        during: str = "",
    ) -> Finding:
        steps = tuple(exchange.given for exchange in self.exchanges)
        return Finding(
            Sequence(self.oracle.profile.name, self.broker, steps, self.oracle.profile.edits),
            tuple(self.exchanges),
            dict(self.oracle.names),
            rejection,
            failure,
            plain(self.oracle.states[0]) if len(self.oracle.states) == 1 else None,
            during,
        )


class Run(Checks):
    """A test under way on an open port."""

    def __init__(
        self,
        port: Port,
        profile: Profile,
        broker: Mapping[str, int],
    ) -> None:
        self.port = numbered(port, profile)
        tolerances = tolerances_of(port)
        super().__init__(profile, broker, tolerances)
        self._late_ms = tolerances.late_ms if tolerances else 0
        # A port with code coverage receives each step and its result.
        self._stepped: Stepped | None = getattr(port, "stepped", None)
        try:
            # In virtual time the test says when a cleanup comes.
            kept = {k: v for k, v in self.broker.items() if k != CLEANUP_INTERVAL}
            self.port.open(profile.name, self.broker if port.real_time else kept)
        except PortFailedError as failure:
            raise self.failed(failure, during="open") from failure

    def step(self, given: Input) -> str | None:
        """Do one step; returns the name of an unsupported input, which is not done.

        Raises:
            FoundError: the port has left the model, or failed.
            UnfairError: the request uses a member id that the port has not revealed.
        """
        if isinstance(given, Request):
            asked = supported(given, self.port.max_versions)
            if not self.oracle.has_revealed(filter(is_symbol, needed_ids((asked or given).body))):
                raise UnfairError
            if asked is None:
                return given.api
            given = asked
        allowed = self.oracle.predict(given)
        try:
            seen = self._send(given, expected(allowed))
        except PortFailedError as failure:
            raise self.failed(failure, given) from failure
        if seen.unsupported is not None:
            return seen.unsupported
        before = self.oracle.states[0]
        self.observe(given, allowed, seen)
        if self._stepped is not None:
            self._stepped(before, given, self.oracle)
        return None

    def close(self) -> None:
        """End the test.

        Raises:
            FoundError: the port failed meanwhile.
        """
        try:
            self.port.close()
        except PortFailedError as failure:
            raise self.failed(failure, during="close") from failure

    def _send(self, given: Input, ids: Collection[int]) -> Observation:
        if isinstance(given, Request):
            real = {symbol: member_id for member_id, symbol in self.oracle.names.items()}
            return self.port.request(given._replace(body=rename(given.body, real, 0)), ids)
        if isinstance(given, Advance):
            return self._wait(given.ms, ids)
        return self.port.fault(fault_of(given), ids)

    def _wait(self, ms: int, ids: Collection[int]) -> Observation:
        """Let time pass; on a real clock, until the timers that are due must have fired.

        Once all expected answers have arrived, it waits no longer.
        """
        seen = self.port.advance(ms, ids)
        surely = Advance(ms + self._late_ms)
        if not self._late_ms:
            return seen
        missing = expected(self.oracle.predict(surely))
        slice_ms = SLICE_MS if missing else self._late_ms
        missing -= {response.request_id for response in seen.responses}
        while seen.elapsed_ms < surely.ms and (missing or slice_ms == self._late_ms):
            more = self.port.advance(min(slice_ms, surely.ms - seen.elapsed_ms), ())
            missing -= {response.request_id for response in more.responses}
            seen = seen._replace(
                responses=seen.responses + more.responses,
                elapsed_ms=seen.elapsed_ms + max(more.elapsed_ms, 1),
            )
        return seen


def supported(request: Request, max_versions: Mapping[str, int] | None) -> Request | None:
    """The request in a version that the port supports; None if it does not list the API."""
    if max_versions is None:
        return request
    if request.api not in max_versions:
        return None
    version = min(request.api_version, max_versions[request.api])
    return request._replace(api_version=version, body=trim(request.body, version))


def expected(allowed: list[Outcome]) -> set[int]:
    """The requests that every allowed outcome answers."""
    answered = [{r.request_id for r in outcome.responses} for outcome in allowed]
    return set.intersection(*answered) if answered else set()


class Replayed(NamedTuple):
    """The result of a sequence: the finding it ends in, if any, and the unsupported steps.

    `exchanges` are the inputs and observations; `names` maps the port's ids to symbols. `unfair` is
    the number of the step at which it ended for an unrevealed member id, or 0.
    """

    finding: Finding | None
    left_out: tuple[Input, ...]
    exchanges: tuple[Exchange, ...]
    names: Mapping[str, str]
    unfair: int

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
    """Run a sequence on a port; returns its finding, if any.

    Steps that the port does not support are left out, and an unfair one ends it.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    return replay_seen(sequence, port).finding


def replay_seen(sequence: Sequence, port: Port) -> Replayed:
    """Run a sequence on a port, as `replay` does, and keep all observations.

    Raises:
        PortUnavailableError: the port cannot be reached.
    """
    run: Run | None = None
    finding: Finding | None = None
    left_out: list[Input] = []
    number = unfair = 0
    try:
        run = Run(port, sequence.model, sequence.broker)
        for number, step in enumerate(sequence.steps, 1):  # noqa: B007 - reported if it is unfair
            if run.step(step) is not None:
                left_out.append(step)
        run.close()
    except FoundError as found:
        finding = found.finding
    except UnfairError:
        unfair = number
    exchanges, names = (tuple(run.exchanges), run.oracle.names) if run else ((), {})
    return Replayed(finding, tuple(left_out), exchanges, names, unfair)


def replay_on(sequence: Sequence, source: PortSource) -> Replayed:
    """Run a sequence on a new port, which is shut down afterwards.

    In virtual time it is repeated until it ends in a finding, at most `DRAWS` times.

    Raises:
        NotReplayedError: a step is unfair, or the port supports none of them.
        PortUnavailableError: the port cannot be reached.
    """
    try:
        port = source.connect()
        try:
            replayed = replay_seen(sequence, port)
            if sequence.deviations and replayed.finding is not None:
                # A fixed port does not have the deviations of the trace.
                strict = replay_seen(sequence._replace(deviations=()), port)
                replayed = replayed if strict.finding is not None else strict
            if replayed.unfair:
                msg = f"step {replayed.unfair} uses a member id that the port never returned"
                raise UnfairError(msg)
            for _ in range(0 if source.real_time else DRAWS - 1):
                if replayed.finding is not None:
                    break
                again = replay_seen(sequence, port)
                if not again.unfair:  # as it was not the first time
                    replayed = again
        finally:
            port.shutdown()
    finally:
        source.stop()
    if replayed.finding is None and replayed.left_out == sequence.steps != ():
        msg = f"nothing was done: {replayed.omission}"
        raise NotReplayedError(msg)
    return replayed
