"""Recorded replay: checks a recorded test with the oracle, without the port."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from groupcheck.model.exploring.canonical import rename
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Exchange
from groupcheck.properties.ports.port import Fault, Observation, PortFailedError, PortInfo
from groupcheck.properties.run import Run


class End(NamedTuple):
    """How a test ended, if the port failed: at which step, or `during` "open" or "close"."""

    failure: PortFailedError | None = None
    given: Input | None = None
    during: str = ""


WELL: Final = End()


class Playback:
    """A port that returns recorded observations, and fails at the end as the recorded port did."""

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, seen: Iterable[Observation], end: End = WELL) -> None:
        self._seen = iter(seen)
        self._end = end

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Begin."""
        del config
        self._fail("open")
        return PortInfo("a recording", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """The observation after a request."""
        del request, expected
        return self._next()

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """The observation after that time."""
        del ms, expected
        return self._next()

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """The observation after a fault."""
        del fault, expected
        return self._next()

    def close(self) -> None:
        """End."""
        self._fail("close")

    def shutdown(self) -> None:
        """It has no resources."""

    def _fail(self, where: str) -> None:
        if self._end.failure is not None and self._end.during == where:
            raise self._end.failure

    def _next(self) -> Observation:
        for seen in self._seen:
            return seen
        if self._end.failure is None:
            msg = "the recording ends here"
            raise LookupError(msg)
        raise self._end.failure


def replay_recorded(
    profile: Profile, broker: Mapping[str, int], exchanges: Iterable[Exchange], end: End = WELL
) -> Run:
    """Check recorded exchanges, which have the port's own member ids, with the oracle.

    Raises:
        FoundError: the model does not allow them, or the port failed in the end.
    """
    recorded = list(exchanges)
    run = Run(Playback((e.seen for e in recorded), end), profile, broker)
    for given in [e.given for e in recorded] + ([] if end.given is None else [end.given]):
        symbolic = given
        if isinstance(given, Request):
            symbolic = given._replace(body=rename(given.body, run.oracle.names, 0))
        run.step(symbolic)
    run.close()
    return run
