"""Runs a sequence on a broker that may be unavailable, and decides whether the result counts."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Final, NamedTuple

from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.long_runs.availability import AvailabilityMonitor
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.run import Checks

TRIES: Final = 3
RETRY_S: Final = 1.0


class DisturbedError(Exception):
    """The broker was unavailable during an attempt, so its result is invalid."""

    def __init__(self, ran: Ran) -> None:
        super().__init__()
        self.ran = ran


class Ran(NamedTuple):
    """The result of one sequence: steps, finding, rules, the model instance toured, the checks."""

    steps: int
    finding: Finding | None = None
    applied: frozenset[str] = frozenset()
    space: str = ""
    checks: Checks | None = None


# Runs a sequence; its argument says whether the broker has been available since the start.
Attempt = Callable[[Callable[[], bool]], Ran]


def attempted(broker: AvailabilityMonitor, attempt: Attempt) -> Ran:
    """Run an attempt, several times if a busy broker cannot be reached.

    Raises:
        DisturbedError: the broker was unavailable meanwhile, and there is no valid result.
        PortUnavailableError: the broker is available but cannot be reached.
    """
    began_s = monotonic()

    def valid() -> bool:
        return not broker.was_down(began_s)

    for tries in range(1, TRIES + 1):
        try:
            ran = attempt(valid)
        except PortUnavailableError as error:
            if not valid():
                raise DisturbedError(Ran(0)) from error
            if tries == TRIES:
                msg = f"{error} ({TRIES} times, though the broker is available)"
                raise PortUnavailableError(msg) from error
        else:
            if ran.finding is not None and not valid():
                raise DisturbedError(ran)
            return ran
        sleep(RETRY_S)
        broker.wait()
    raise AssertionError  # the last attempt has returned or raised
