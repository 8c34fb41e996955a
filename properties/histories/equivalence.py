"""State equivalence in the search for an order: times in one grain are equal.

Timers may be late, so small differences do not matter. The expiry of an offset is exact to the
millisecond while a cleanup may happen, and does not matter otherwise.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Hashable, Iterable

from groupcheck.model.classic.exploring.canonical import ageless_state
from groupcheck.model.classic.state import (
    Cleanup,
    Coordinator,
    Offset,
    OffsetsAppend,
)
from groupcheck.properties.histories.history import NEVER, NS, Operation


class StateEquivalence:
    """The equivalence for a history, with grains of `grain_ms`."""

    def __init__(self, whole: Iterable[Operation], grain_ms: int) -> None:
        self._grain_ms = grain_ms
        known = list(whole)
        moments = [m for each in known for m in (each.begins, each.ends, each.silent or 0)]
        self._last_ms = max((m for m in moments if m != NEVER), default=0) // NS + 1
        cleanups = [e for e in known if isinstance(e.given, Cleanup)]
        # If an offset expires in none of these spans, its exact expiry affects no cleanup.
        spans = sorted((e.begins // NS, min(e.ends // NS, self._last_ms)) for e in cleanups)
        self._bounds = _bounds(spans)
        self.keeps_ages = bool(cleanups)

    def grain(self, at_ms: int) -> int:
        """The grain of a time; all times after the last one are equal."""
        return min(at_ms, self._last_ms) // self._grain_ms

    def of(self, state: Coordinator, now_ms: int) -> Hashable:
        """A key that is the same for equivalent states."""
        ages = self._ages(state, now_ms) if self.keeps_ages else ()
        return self._coarse(ageless_state(state) if ages else state, now_ms), ages

    def _coarse(self, state: Coordinator, now_ms: int) -> Coordinator:
        """The state with the grain in which each timer ends, instead of the remaining time."""
        group = state.group
        if group is None:
            return state

        def ends(left_ms: int) -> int:
            return self.grain(now_ms + left_ms)

        timer, sync_ms = group.join_timer, group.sync_left_ms
        coarse = group._replace(
            members=tuple(
                m
                if m.session_left_ms is None
                else m._replace(session_left_ms=ends(m.session_left_ms))
                for m in group.members
            ),
            pending=tuple(p._replace(left_ms=ends(p.left_ms)) for p in group.pending),
            orphaned_timers=tuple(map(ends, group.orphaned_timers)),
            join_timer=timer and timer._replace(left_ms=ends(timer.left_ms)),
            sync_left_ms=None if sync_ms is None else ends(sync_ms),
        )
        return state._replace(group=coarse)

    def _ages(self, state: Coordinator, now_ms: int) -> tuple[int | None, ...]:
        """The expiry of each offset and group, if it matters."""
        left = [each.left_ms for each in _retained(state)]
        group, record = state.group, state.log and state.log.group
        left += [holder.empty_left_ms for holder in (group, record) if holder is not None]
        return tuple(None if each is None else self._expiry(each, now_ms) for each in left)

    def _expiry(self, left_ms: int, now_ms: int) -> int:
        if left_ms <= 0:  # expired, or at this moment
            return left_ms - 1
        at = bisect(self._bounds, now_ms + left_ms)
        within = at % 2 == 1
        return now_ms + left_ms if within else -3 - at


def _bounds(spans: Iterable[tuple[int, int]]) -> list[int]:
    """The starts and ends of the union of some spans, alternating."""
    found: list[int] = []
    for begins, ends in spans:
        if found and begins <= found[-1]:
            found[-1] = max(found[-1], ends + 1)
        else:
            found += [begins, ends + 1]
    return found


def _retained(state: Coordinator) -> Iterable[Offset]:
    """The offsets in the group, in the log and in pending appends."""
    for holder in (state.group, state.log):
        if holder is not None:
            yield from (offset for _, offset in holder.offsets)
            yield from (pending.offset for pending in holder.transactions)
    for entry in state.appends:
        if isinstance(entry, OffsetsAppend):
            yield from (offset for _, offset in entry.offsets)
