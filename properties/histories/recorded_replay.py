"""Checks recorded exchanges with the oracle, without the port."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from groupcheck.model.exploring.canonical import rename
from groupcheck.model.instances.inputs import NOBODY
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.histories.bodies import without
from groupcheck.properties.ports.port import Fault, Observation, PortFailedError, PortInfo
from groupcheck.properties.run import Run
from groupcheck.properties.sequence import member_ids


class End(NamedTuple):
    """How a test ended, if the port failed: at which step, or `during` "open" or "close"."""

    failure: PortFailedError | None = None
    given: Input | None = None
    during: str = ""


WELL: Final = End()


def replay_recorded(
    profile: Profile, broker: Mapping[str, int], exchanges: Iterable[Exchange], end: End = WELL
) -> Run:
    """Check recorded exchanges, which have the port's own member ids, with the oracle.

    Raises:
        FoundError: the model does not allow them, or the port failed in the end.
    """
    port = RecordedPort(end)
    run = Run(port, profile, broker)
    steps: list[tuple[Input, Observation | None]] = [(e.given, e.seen) for e in exchanges]
    if end.given is not None:
        steps.append((end.given, None))
    for given, port.next in steps:
        symbolic = given
        if isinstance(given, Request):
            symbolic = given._replace(body=rename(given.body, run.oracle.names, 0))
        run.step(symbolic)
    run.close()
    return run


class ExchangeChecker:
    """Checks the exchanges of one group with the oracle."""

    def __init__(self, profile: str, broker: Mapping[str, int]) -> None:
        self.checked = True  # whether the last exchange was
        self.begin(profile, broker)

    def begin(self, profile: str, broker: Mapping[str, int]) -> None:
        """Start, or restart, without a group."""
        self._port = RecordedPort()
        self.run = Run(self._port, PROFILES[profile], broker)

    def take(self, given: Input, answers: list[Response], held: list[Response]) -> None:
        """Check the next exchange.

        Args:
            given: the request, or another input.
            answers: the responses to it.
            held: the responses at the release of the appends that the exchange may wait for.

        Raises:
            FoundError: the model does not allow it.

        """
        self._port.held = held
        if isinstance(given, Request):
            # An id that no response revealed is from before the recording: no member has it.
            known = self.run.oracle.names
            names = {name: known.get(name, NOBODY) for name in member_ids(given.body) if name}
            strangers = names.keys() - known.keys()
            answers = [a._replace(body=without(a.body, strangers)) for a in answers]
            given = given._replace(body=rename(given.body, names, 0))
        self._port.next = Observation(tuple(answers))
        self.run.step(given)

    def forget(self, most: int) -> None:
        """Keep `most` to 2 `most` of the last exchanges, with which a finding then begins.

        Of the earlier exchanges the requests without a response are kept.
        """
        run = self.run
        if len(run.exchanges) < 2 * most:
            return
        for exchange in run.exchanges[:-most]:
            for response in exchange.seen.responses:
                run.oracle.requests.pop(response.request_id, None)
        del run.exchanges[:-most]


class RecordedPort:
    """A port that returns `next` for every input; with None it fails as the recorded port did."""

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, end: End = WELL) -> None:
        self.next: Observation | None = None
        self.held: list[Response] = []  # responses that may wait for appends of other groups
        self._end = end

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Begin."""
        del config
        self._fail("open")
        return PortInfo("a recording", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """The responses of this exchange, and those of the release that are expected now."""
        seen = self._observed(request, expected)
        answered = {answer.request_id for answer in seen.responses}
        early = [answer for answer in self.held if answer.request_id in {*expected} - answered]
        for answer in early:
            self.held.remove(answer)
        return seen._replace(responses=(*seen.responses, *early)) if early else seen

    def _observed(self, given: Request | Fault | int, expected: Collection[int]) -> Observation:
        """The observation after an input."""
        del given, expected
        if self.next is None:
            raise self._end.failure or LookupError
        return self.next

    advance = fault = _observed

    def close(self) -> None:
        """End."""
        self._fail("close")

    def shutdown(self) -> None:
        """It has no resources."""

    def _fail(self, during: str) -> None:
        if self._end.failure is not None and self._end.during == during:
            raise self._end.failure
