"""A virtual clock and its timers.

Nearly every timer is a session that the next heartbeat restarts, so setting a timer to a later time
must cost nothing: it changes only the timer's deadline. Its one heap entry stays in place; when
that entry reaches the top, it moves to the current deadline. A session thus costs one heap
operation each time its timeout, less the time between two heartbeats, has passed. Cancelled timers
are removed from the heap in the same lazy way.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace
from sys import maxsize
from typing import Final

from groupcheck.implementation.core.config import Choose, first

NEVER: Final = maxsize


class Timer:
    """One deadline; its class decides what happens when it is reached.

    Timers of different `owner`s commute: the order in which they fire does not matter.
    """

    __slots__ = ("deadline_ms", "queued_at_ms", "ticket")

    def __init__(self) -> None:
        self.deadline_ms = NEVER
        # The timer's one valid heap entry; an entry with another ticket is invalid.
        self.queued_at_ms = NEVER
        self.ticket = 0

    @property
    def owner(self) -> str:
        """The id of the group whose timer it is."""
        return ""


class Timers:
    """The clock, which the coordinator advances, and the timers on it."""

    __slots__ = ("_heap", "_last", "_stopped", "_tickets", "now_ms")

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._heap: list[tuple[int, int, Timer]] = []
        self._tickets = 0
        self._stopped = False
        self._last = (now_ms, 0, now_ms)

    def __len__(self) -> int:
        """The number of heap entries, invalid ones included."""
        return len(self._heap)

    def set(self, timer: Timer, delay_ms: int) -> None:
        """Set the timer to fire in `delay_ms` (at least 0), instead of its earlier deadline."""
        now_ms, last_ms, deadline_ms = self._last
        if now_ms != self.now_ms or last_ms != delay_ms:
            # Most timers that are set at one time have the same delay: they share one int object.
            deadline_ms = self.now_ms + delay_ms
            self._last = (self.now_ms, delay_ms, deadline_ms)
        timer.deadline_ms = deadline_ms
        if deadline_ms < timer.queued_at_ms and not self._stopped:
            heappush(self._heap, self._entry(timer))

    def stop(self) -> None:
        """Stop all timers, including those that are set later."""
        self._heap.clear()
        self._stopped = True

    @staticmethod
    def cancel(timer: Timer | None) -> None:
        """Cancel the timer, if there is one."""
        if timer is not None:
            timer.deadline_ms = NEVER

    @property
    def earliest_ms(self) -> int:
        """A lower bound of the next deadline, at no cost."""
        return self._heap[0][0] if self._heap else NEVER

    @property
    def next_deadline_ms(self) -> int:
        """When the next timer is due; `NEVER` if none is set."""
        return self.next_due_ms(NEVER)

    def next_due_ms(self, end_ms: int) -> int:
        """When the next timer is due, if by `end_ms`; otherwise `NEVER`.

        Later entries are not updated: that would cost a heap operation for each heartbeat.
        """
        heap = self._heap
        while heap and heap[0][0] <= end_ms:
            queued_at_ms, ticket, timer = heap[0]
            if ticket != timer.ticket:
                heappop(heap)
            elif timer.deadline_ms == queued_at_ms:
                return queued_at_ms
            elif timer.deadline_ms == NEVER:
                heappop(heap)
                timer.queued_at_ms = NEVER
            else:
                heapreplace(heap, self._entry(timer))
        return NEVER

    def pop(self, choose: Choose) -> Timer:
        """Remove and return a timer due at `next_deadline_ms`; there must be one.

        `choose` picks among the timers of the first owner that are due at that instant.
        """
        due_ms = self.next_deadline_ms
        entry = heappop(self._heap)
        if choose is not first:
            entry = self._choose_among_equals(entry, due_ms, choose)
        timer = entry[2]
        timer.deadline_ms = timer.queued_at_ms = NEVER
        return timer

    def _choose_among_equals(
        self, entry: tuple[int, int, Timer], due_ms: int, choose: Choose
    ) -> tuple[int, int, Timer]:
        """Choose among the entries that are due at this instant for the entry's owner."""
        entries = [entry]
        while self.next_due_ms(due_ms) == due_ms:
            entries.append(heappop(self._heap))
        options = {other[2]: other for other in entries if other[2].owner == entry[2].owner}
        if len(options) > 1:
            entry = options[choose(tuple(options))]
        for other in entries:
            if other is not entry:
                heappush(self._heap, other)
        return entry

    def _entry(self, timer: Timer) -> tuple[int, int, Timer]:
        self._tickets += 1
        timer.ticket = self._tickets
        timer.queued_at_ms = timer.deadline_ms
        return timer.deadline_ms, self._tickets, timer
