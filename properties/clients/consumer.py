"""A consumer in a client's process, led through a sequence of inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Final

from groupcheck.model.client import (
    ASSIGNED,
    AUTO_COMMIT_INTERVAL,
    CLOSE,
    COMMIT,
    COMMIT_FAILED,
    COMMIT_SYNC,
    COMMITTED,
    DISCONNECT,
    HEARTBEAT_INTERVAL,
    POLL,
    POLL_INTERVAL,
    RAISED,
    REQUESTS,
    SESSION_TIMEOUT,
    SUBSCRIBE,
    UNSUBSCRIBE,
    ClientEvent,
    ClientInput,
)
from groupcheck.properties.clients.control import (
    ACKNOWLEDGED,
    CLOSED,
    FAILED,
    STARTED,
    TAKEN,
    Control,
    Line,
)
from groupcheck.properties.clients.coordinator import Coordinator
from groupcheck.properties.clients.port import ClientFailedError
from groupcheck.properties.clients.settings import AUTO_COMMIT_INTERVAL_MS, ClientSettings
from groupcheck.properties.ports.port import PortFailedError

START_S: Final = 30.0
HANG_S: Final = 15.0  # for reading a command
END_S: Final = 2.0
EXIT_S: Final = 0.5
GRACE_S: Final = 0.05  # for events that are not expected
WAKE_S: Final = 0.2  # how often it checks that the process runs
MAX_REQUESTS: Final = 10_000  # in one step
MAX_LINES: Final = 10_000  # as above

COMMANDS: Final = {
    SUBSCRIBE: "subscribe",
    UNSUBSCRIBE: "unsubscribe",
    COMMIT: "commit",
    COMMIT_SYNC: "commit-sync",
    POLL: "poll",
    POLL_INTERVAL: "stall",
    CLOSE: "close",
}
END: Final = "end"
_RESULTS: Final = (COMMITTED, COMMIT_FAILED)


class Consumer:
    """A consumer and its coordinator, which work in the thread of the caller.

    Args:
        settings: of the client.
        group: the id of its group.
        check: raises `ClientFailedError` if the client's process does not run.
        returns: see `Coordinator`.
    """

    def __init__(
        self,
        settings: ClientSettings,
        group: str,
        check: Callable[[], None],
        *,
        returns: bool = False,
    ) -> None:
        self._settings = settings
        self._check = check
        self.coordinator = Coordinator(
            group, postpones_metadata=settings.postpones_metadata, returns=returns
        )
        self.control = Control(self.coordinator.broker)
        self._events: list[ClientEvent] = []
        self._lines: list[Line] = []  # other than events
        self._commits = 0  # synchronous commits without a result
        self.is_ended = False
        self._next_check = 0.0

    def wait_for_start(self) -> None:
        """Wait until the application has made its consumer.

        Raises:
            ClientFailedError: it did not.
        """
        if not self._until(lambda: bool(self._lines), START_S):
            self._fail(f"no consumer within {START_S:g} s")
        line = self._lines.pop(0)
        if line.word != STARTED:
            self._fail(line.rest if line.word == FAILED else f"a line without a meaning: {line}")

    def do(
        self, given: ClientInput, expected: Sequence[ClientEvent], *, patience_s: float
    ) -> tuple[ClientEvent, ...]:
        """Make the input happen, and return what the consumer did; see `ClientUnderTest`."""
        commits = [event.name for event in expected].count("OffsetCommit")
        self.coordinator.begin(0 if given.name in (COMMIT, COMMIT_SYNC) else commits)
        extra_s = 0.0
        if given.error:
            self._answer(given, patience_s)
        elif given.name == HEARTBEAT_INTERVAL:
            self._add(self.coordinator.hold_heartbeat())
        elif given.name == AUTO_COMMIT_INTERVAL:
            extra_s = AUTO_COMMIT_INTERVAL_MS / 1000
        elif given.name == SESSION_TIMEOUT:
            self.coordinator.mute()
            extra_s = self._settings.session_timeout_ms / 1000
        elif given.name == DISCONNECT:
            self.coordinator.disconnect()
        else:
            self._command(given.name, expected, patience_s)
            if given.name == POLL_INTERVAL:
                extra_s = self._settings.max_poll_interval_ms / 1000
        self._wait(expected, patience_s, extra_s)
        self.coordinator.holding = False
        self.coordinator.unmute()
        events, self._events = self._events, []
        seen = _arranged(events)
        connects = given.name == "FindCoordinator"
        return tuple(expected) if connects and _is_late(seen, expected) else seen

    def end(self) -> None:
        """End the consumer; safe to call twice."""
        if self.is_ended:
            return
        self.is_ended = True
        try:
            self.control.send(END)
            deadline = monotonic() + END_S
            while self.control.is_connected and monotonic() < deadline:
                self.coordinator.release(finding=True)
                self._serve(WAKE_S / 10)
        except (PortFailedError, ClientFailedError, OSError):
            pass  # nothing that it does matters any more
        finally:
            self.control.close()
            self.coordinator.close()

    def _answer(self, given: ClientInput, patience_s: float) -> None:
        """Answer a request; one that is not there yet may come."""
        if self._until(lambda: self.coordinator.holds(given.name), patience_s):
            self.coordinator.answer(given)

    def _command(self, name: str, expected: Sequence[ClientEvent], patience_s: float) -> None:
        """Have the application do something, and wait until it has read the command.

        A consumer that commits when it is closed waits for the answer.
        """
        commits = any(event.name == "OffsetCommit" for event in expected)
        closes = name == CLOSE and not commits
        if closes:
            self.coordinator.release(finding=False)
        waits = self._commits > 0
        if name == COMMIT_SYNC:
            self._commits += 1
        self.control.send(COMMANDS[name])
        taken = self._until(lambda: self._found(TAKEN), patience_s if waits else HANG_S)
        if not taken and not waits:
            self._fail(f"it hangs: within {HANG_S:g} s it did not do this: {name}")
        if closes:
            # A consumer that does nothing may wait for its coordinator.
            limit_s = max(patience_s, END_S) if expected else END_S
            self._until(lambda: self._found(CLOSED), limit_s)

    def _found(self, word: str) -> bool:
        """Remove a line with this word, if there is one."""
        line = next((line for line in self._lines if line.word == word), None)
        if line is not None:
            self._lines.remove(line)
        return line is not None

    def _wait(self, expected: Sequence[ClientEvent], patience_s: float, extra_s: float) -> None:
        """Wait for the expected events, and a short time for others.

        A consumer commits nothing before it has fetched the offsets of what it was assigned.
        """
        wanted = Counter(expected)
        # Without an event to wait for, time itself has to pass.
        least_s = 0.0 if expected else extra_s
        started = monotonic()

        def complete() -> bool:
            return monotonic() - started >= least_s and wanted <= Counter(self._events)

        arrived = self._until(complete, patience_s + extra_s)
        if arrived and expected and expected[-1].name == ASSIGNED and expected[-1].partitions:
            self._until(self._may_have_positions, patience_s)
        self._until(lambda: False, GRACE_S)

    def _may_have_positions(self) -> bool:
        """Whether it fetches, so that it has offsets to commit, or waits behind a Heartbeat."""
        return self.coordinator.fetches > 0 or self.coordinator.holds("Heartbeat")

    def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Serve the consumer until a condition holds, for so many seconds at most."""
        deadline = monotonic() + seconds
        while not (holds := condition()) and (left_s := deadline - monotonic()) > 0:
            self._check_application()
            try:
                self._serve(min(left_s, WAKE_S))
            except PortFailedError as failure:
                self._fail(failure.reason)
        return holds

    def _check_application(self) -> None:
        """Check that the process runs, from time to time, and whether the connection has ended."""
        now = monotonic()
        if now >= self._next_check or self.control.ended:
            self._next_check = now + WAKE_S
            self._check()
        if self.control.ended:
            sleep(EXIT_S)  # the process may be about to end
            self._check()
            self._fail("its application has ended")

    def _serve(self, wait_s: float) -> None:
        """Serve the consumer for up to so many seconds, but return when something happens."""
        self._add(self.coordinator.serve(wait_s))
        lines = self.control.lines()
        if lines:
            # Requests that the consumer sent before these lines have arrived too.
            self._add(self.coordinator.serve(0))
        for line in lines:
            event = line.event
            if event is not None:
                self._add([event])
            if event is None and line.word in (STARTED, FAILED, TAKEN, CLOSED):
                self._lines += [] if self.is_ended else [line]
            else:
                self.control.send(ACKNOWLEDGED)

    def _add(self, events: Sequence[ClientEvent]) -> None:
        for event in events:
            if event.name in _RESULTS:
                self._commits = 0
            self._events.append(event)
        if self.coordinator.requests > MAX_REQUESTS and not self.is_ended:
            self._fail(f"it sent more than {MAX_REQUESTS:,} requests in one step")
        if len(self._events) + len(self._lines) > MAX_LINES and not self.is_ended:
            self._fail(f"it reported more than {MAX_LINES:,} events in one step")

    def _fail(self, reason: str) -> None:
        self.end()
        raise ClientFailedError(" ".join(reason.split()))


def _arranged(events: Sequence[ClientEvent]) -> tuple[ClientEvent, ...]:
    """The events with the results of commits first, and others that have no order in one order.

    Other threads of a client send requests before or after poll raises an error. A poll that raises
    an error again and again is one event.
    """
    arranged: list[ClientEvent] = []
    for event in sorted(events, key=lambda event: event.name not in _RESULTS):
        place = len(arranged)
        while event.name == RAISED and place and arranged[place - 1].name in REQUESTS:
            place -= 1
        if event.name != RAISED or arranged[max(place - 1, 0) : place] != [event]:
            arranged.insert(place, event)
    return tuple(arranged)


def _is_late(seen: Sequence[ClientEvent], expected: Sequence[ClientEvent]) -> bool:
    """Whether the two differ only in requests that arrive later, as the client connects first."""
    for among in (True, False):
        kind = [[e for e in events if (e.name in REQUESTS) == among] for events in (seen, expected)]
        if kind[0] != kind[1]:
            return False
    return all(
        seen.index(event) >= expected.index(event) for event in expected if event.name in REQUESTS
    )
