"""A watch over a broker under test: when it was away, which is not held against it.

A broker may be killed, stopped or restarted in the middle of a run. What was under way then can be
neither lawful nor not: it is undecided.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Final, NamedTuple, Self

from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.properties.ports.pulse import MissedBeatError, Pulse

EVERY_S: Final = 0.25


class Outage(NamedTuple):
    """When a broker was away, in seconds of the clock `monotonic`; None if it still is.

    It may have ended meanwhile if it was `gone`.
    """

    began_s: float
    ended_s: float | None
    reason: str
    gone: bool = False


class Watch:
    """Asks a broker again and again in a thread of its own, while the context lasts.

    Args:
        pulse: what asks it; None where there is nothing to be watched, and it is never away.
        slow_s: a broker that takes longer to answer has stopped.
        patience_s: how long one waits for it to come back.
        back: called when it has.
        revive: called while it is away, to start it again if it can be.
    """

    def __init__(
        self,
        pulse: Pulse | None,
        slow_s: float,
        patience_s: float,
        back: Callable[[], None] = lambda: None,
        revive: Callable[[], None] | None = None,
    ) -> None:
        self._pulse = pulse
        self._slow_s = slow_s
        self._patience_s = patience_s
        self._back = back
        self._revive = revive
        self._changed = threading.Condition()
        self._over = False
        self._good_s = monotonic()  # when the last beat began that was answered
        self.outages: list[Outage] = []
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._pulse is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self._pulse is not None:
            self._thread.join(self._slow_s + 1)
            self._pulse.close()

    def stop(self) -> None:
        """End the watch; whoever waits for the broker waits no longer."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    @property
    def away(self) -> bool:
        """Whether the broker is away now, as far as is known."""
        return bool(self.outages) and self.outages[-1].ended_s is None

    def wait(self) -> None:
        """Wait until the broker is there.

        Raises:
            PortUnavailableError: it has not come back, or the watch is over.
        """
        with self._changed:
            while self.away and not self._over:
                outage = self.outages[-1]
                left_s = outage.began_s + self._patience_s - monotonic()
                if left_s <= 0:
                    within = f"within {self._patience_s:g} s"
                    msg = f"the broker {outage.reason}, and was not back {within}"
                    raise PortUnavailableError(msg)
                self._changed.wait(left_s)
            if self._over:
                msg = "interrupted"
                raise PortUnavailableError(msg)

    def gone(self, since_s: float) -> bool:
        """Whether the broker may have ended at any time since then; see `disturbed`."""
        return self.disturbed(since_s) and any(
            outage.gone and (outage.ended_s is None or outage.ended_s >= since_s)
            for outage in self.outages
        )

    def disturbed(self, since_s: float) -> bool:
        """Whether the broker was away at any time since then; takes a moment to be sure."""
        if self._pulse is None:
            return False
        asked_s = monotonic()
        with self._changed:
            while self._good_s < asked_s and not self.away and not self._over:
                self._changed.wait(self._slow_s)
            ends = [outage.ended_s for outage in self.outages]
            return self._over or any(end is None or end >= since_s for end in ends)

    def _watch(self) -> None:
        try:
            self._look()
        finally:
            self.stop()  # nobody waits for what will never be known

    def _look(self) -> None:
        assert self._pulse is not None  # noqa: S101 - the thread is begun for nothing else
        while not self._over:
            began_s = monotonic()
            reason, gone = "", False
            # A machine that stands still between two beats has kept the broker waiting as well.
            if not self.away and began_s - self._good_s > self._slow_s + EVERY_S:
                self._note(self._good_s, "stood still with this machine", answered=True)
            try:
                self._pulse.beat(self._slow_s)
            except MissedBeatError as missed:
                reason, gone = str(missed), missed.gone
            except PortUnavailableError:
                return
            late = not reason and monotonic() - began_s > self._slow_s
            said = "did not answer in time" if late else reason
            self._note(began_s, said, answered=not reason, gone=gone)
            if reason and self._revive is not None:
                with suppress(PortUnavailableError):  # it is away, then
                    self._revive()
            with self._changed:
                if not self._over:
                    self._changed.wait_for(lambda: self._over, EVERY_S)

    def _note(self, began_s: float, reason: str, *, answered: bool, gone: bool = False) -> None:
        if self.away and answered:
            self._back()
        with self._changed:
            if reason and not self.away:
                self.outages.append(Outage(self._good_s, None, reason))
            if gone:
                self.outages[-1] = self.outages[-1]._replace(gone=True)
            if answered:
                if self.away:
                    self.outages[-1] = self.outages[-1]._replace(ended_s=monotonic())
                self._good_s = began_s
            self._changed.notify_all()
