"""A port on a real clock whose waits take no time, and random walks on it."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Final

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.vocabulary import Request
from groupcheck.properties.long_runs.live_walk import Pace, walk_live
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault, Observation, PortFailedError, PortInFront
from groupcheck.properties.run import Checks
from groupcheck.properties.tolerances import Tolerances

TOLERANCES: Final = Tolerances(late_ms=300, early_ms=20)
BROKER: Final = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 100}


class ClockPort(PortInFront):
    """The built-in coordinator as a port on a real clock, on which waits take no time.

    It crashes at its request `crash`.
    """

    real_time = True

    def __init__(self, crash: int = 0) -> None:
        super().__init__(BuiltinPort(0))
        self.tolerances = TOLERANCES
        self._left = crash

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        self._left -= 1
        if self._left == 0:
            kind = "port crashed"
            raise PortFailedError(kind, "it ended")
        return super().request(request, expected)._replace(groups=None)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass."""
        return super().advance(ms, expected)._replace(groups=None, elapsed_ms=ms)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Apply a fault to the coordinator."""
        return super().fault(fault, expected)._replace(groups=None)


def walked(seed: int, profile: str = "2.7", crash: int = 0) -> Checks:
    """The checks of a random walk."""
    random = Random(seed)
    pace = Pace(random.random() < 0.5, BROKER)
    checks = walk_live(ClockPort(crash), PROFILES[profile], pace, random, 20).checks
    assert checks is not None
    return checks
