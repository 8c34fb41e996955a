"""Minimises the recording of a finding: without the heartbeats and commits that change nothing.

To understand a finding, or to reproduce it on a port, the rebalances of the group are enough. So
the runs of known pairs (see `steady_state`) are omitted, with their time, and the rest is checked.
If it does not end in the same finding, runs are put back one by one, because the finding needs a
silence or the last committed offset. Nothing but such runs is omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final, NamedTuple

from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.checker import check_text
from groupcheck.properties.histories.events import Event, recording_lines
from groupcheck.properties.sequence import MalformedTraceError, dump

Parts = list[list[Event]]  # an event by itself, or those of a run
LAST_MS: Final = 60_000  # of a run that are put back first: longer than most sessions
WHOLE_MS: Final = 2**62
MOST_TRIES: Final = 20


class Minimised(NamedTuple):
    """The lines of a recording, how many events it omits, and its requests as a trace."""

    text: str
    omitted: int = 0
    trace: str | None = None


def whole(header: str, parts: Parts) -> Minimised:
    """The recording with every event."""
    return Minimised(_text(header, chain.from_iterable(parts)))


def minimised(header: str, parts: Parts, same: Callable[[Finding], bool]) -> Minimised:
    """The recording without the runs that the same finding does not need."""
    most = {at: 0 for at, part in enumerate(parts) if len(part) > 1}
    for tried in range(MOST_TRIES):
        events, omitted = _without(parts, most)
        text = _text(header, events)
        try:
            found = check_text(text).finding
        except MalformedTraceError:  # no response is left, so it is no recording
            break
        if found is not None and same(found):
            return Minimised(text, omitted, dump(found.sequence.renumbered()))
        if tried == MOST_TRIES // 2:
            most = {at: max(ms, LAST_MS) for at, ms in most.items()}
        elif not _put_back(parts, most, found):
            break
    return whole(header, parts)


def _put_back(parts: Parts, most: dict[int, int], found: Finding | None) -> bool:
    """Put back more of the last run before the finding, or the end; False if nothing is omitted."""
    steps = found.sequence.steps if found else ()
    last = next((s.request_id for s in reversed(steps) if isinstance(s, Request)), None)
    cut = [at for at, ms in most.items() if ms < WHOLE_MS]
    if not cut:
        return False
    asks = (at for at, part in enumerate(parts) if at not in most and part[0].request_id == last)
    end = len(parts) if last is None else next(asks, len(parts))
    at = max((at for at in cut if at < end), default=cut[-1])
    most[at] = WHOLE_MS if most[at] else LAST_MS
    return True


def _without(parts: Parts, most: dict[int, int]) -> tuple[list[Event], int]:
    """The events, only the last `most` ms of each run, and how many are omitted."""
    found: list[Event] = []
    omitted = omitted_ms = last_ms = 0
    for at, events in enumerate(parts):
        since_ms = events[-1].at_ms - most[at] if at in most else -1
        for event in events:
            if at in most and event.at_ms <= since_ms:
                omitted += 1
                omitted_ms += event.at_ms - last_ms
            else:
                found.append(event._replace(at_ms=event.at_ms - omitted_ms))
            last_ms = event.at_ms
    return found, omitted


def _text(header: str, events: Iterable[Event]) -> str:
    lines, now_ms = [header], 0
    for event in events:
        lines += recording_lines(event, now_ms)
        now_ms = event.at_ms
    return "".join(f"{line}\n" for line in lines)
