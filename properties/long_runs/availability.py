"""Monitors the availability of a broker under test: downtime is not a finding.

A broker may be killed, stopped or restarted in the middle of a run. The sequences that ran then are
undecided: neither conforming nor findings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Final, NamedTuple, Self

from groupcheck.properties.ports.health_check import HealthCheck, HealthCheckError
from groupcheck.properties.ports.port import PortUnavailableError

INTERVAL_S: Final = 0.25


class Outage(NamedTuple):
    """When a broker was unavailable, in seconds of `monotonic`; the end is None while it lasts.

    The broker may have ended meanwhile if `gone`.
    """

    began_s: float
    ended_s: float | None
    reason: str
    gone: bool = False


class AvailabilityMonitor:
    """Checks a broker's health repeatedly in a thread, inside the context.

    Args:
        health_check: checks the broker; None if it cannot be checked and is always available.
        slow_s: a broker that takes longer to answer is unavailable.
        patience_s: how long to wait for the broker to come back.
        on_return: called when it is back.
        restart: called while it is unavailable, to start it again if it has ended.
    """

    def __init__(
        self,
        health_check: HealthCheck | None,
        slow_s: float,
        patience_s: float,
        on_return: Callable[[], None] = lambda: None,
        restart: Callable[[], None] | None = None,
    ) -> None:
        self._health_check = health_check
        self._slow_s = slow_s
        self._patience_s = patience_s
        self._on_return = on_return
        self._restart = restart
        self._changed = threading.Condition()
        self._stopped = False
        self._good_s = monotonic()  # when the last successful check began
        self.outages: list[Outage] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if self._health_check is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self._health_check is not None:
            self._thread.join(self._slow_s + 1)
            self._health_check.close()

    def stop(self) -> None:
        """End the monitor and every `wait`."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def is_down(self) -> bool:
        """Whether the broker is unavailable now, as far as is known."""
        return bool(self.outages) and self.outages[-1].ended_s is None

    @property
    def is_stable(self) -> bool:
        """Whether the broker never ended: every outage was a delay."""
        return not any(outage.gone for outage in self.outages)

    def wait(self) -> None:
        """Wait until the broker is available.

        Raises:
            PortUnavailableError: it has not come back in time, or the monitor was stopped.
        """
        with self._changed:
            while self.is_down and not self._stopped:
                outage = self.outages[-1]
                left_s = outage.began_s + self._patience_s - monotonic()
                if left_s <= 0:
                    within = f"within {self._patience_s:g} s"
                    msg = f"the broker {outage.reason}, and was not back {within}"
                    raise PortUnavailableError(msg)
                self._changed.wait(left_s)
            if self._stopped:
                msg = "interrupted"
                raise PortUnavailableError(msg)

    def has_ended(self, since_s: float) -> bool:
        """Return whether the broker may have ended since then; see `was_down`."""
        return self.was_down(since_s) and any(
            outage.gone and (outage.ended_s is None or outage.ended_s >= since_s)
            for outage in self.outages
        )

    def was_down(self, since_s: float) -> bool:
        """Return whether the broker was unavailable at any time since then; waits for a check."""
        if self._health_check is None:
            return False
        asked_s = monotonic()
        with self._changed:
            while self._good_s < asked_s and not self.is_down and not self._stopped:
                self._changed.wait(self._slow_s)
            ends = [outage.ended_s for outage in self.outages]
            return self._stopped or any(end is None or end >= since_s for end in ends)

    def _run(self) -> None:
        try:
            self._monitor()
        finally:
            self.stop()  # otherwise `wait` would never return

    def _monitor(self) -> None:
        assert self._health_check is not None  # noqa: S101 - otherwise the thread does not start
        while not self._stopped:
            began_s = monotonic()
            reason, gone = "", False
            # A machine that is suspended between two checks has delayed the broker as well.
            if not self.is_down and began_s - self._good_s > self._slow_s + INTERVAL_S:
                self._record(self._good_s, "was suspended with this machine", answered=True)
            try:
                self._health_check.run(self._slow_s)
            except HealthCheckError as failed:
                reason, gone = str(failed), failed.gone
            except PortUnavailableError:
                return
            late = not reason and monotonic() - began_s > self._slow_s
            why = "did not answer in time" if late else reason
            self._record(began_s, why, answered=not reason, gone=gone)
            if reason and self._restart is not None:
                with suppress(PortUnavailableError):  # it stays unavailable
                    self._restart()
            with self._changed:
                if not self._stopped:
                    self._changed.wait_for(lambda: self._stopped, INTERVAL_S)

    def _record(self, began_s: float, reason: str, *, answered: bool, gone: bool = False) -> None:
        if self.is_down and answered:
            self._on_return()
        with self._changed:
            if reason and not self.is_down:
                self.outages.append(Outage(self._good_s, None, reason))
            if gone:
                self.outages[-1] = self.outages[-1]._replace(gone=True)
            if answered:
                if self.is_down:
                    self.outages[-1] = self.outages[-1]._replace(ended_s=monotonic())
                self._good_s = began_s
            self._changed.notify_all()
