"""The recording of a finding without what is the same again and again.

Hours of heartbeats and commits lead nowhere: to read how a group came to a finding, or to do it
again on a port, its rebalances are enough. So the runs of what was known again (see `calm`) are
left out, with the time that they took. The rest is judged: what the finding needs after all (that
somebody was silent for so long, or the offset that was committed last) is put back, run by run,
until it ends in the very finding. Nothing that might be its cause is left out but those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final, NamedTuple

import pyarrow as pa

from groupcheck.model.vocabulary import Request
from groupcheck.pipeline.recordings.events import Event, recorded, rows
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.recorded import judge_text
from groupcheck.properties.sequence import MalformedTraceError, dump

Kept = list[Event | pa.RecordBatch]
Parts = list[list[Event]]  # an event by itself, or those of a run
LAST_MS: Final = 60_000  # of a run, which are put back first: longer than most sessions
WHOLE_MS: Final = 2**62
MOST_TRIES: Final = 20


class Condensed(NamedTuple):
    """The lines of a recording, how many events were left out, and what was asked as a trace."""

    text: str
    left_out: int = 0
    trace: str | None = None


def whole(header: str, kept: Kept) -> Condensed:
    """The recording with every event; `kept` are events, and runs of what was known again."""
    return Condensed(_text(header, chain.from_iterable(_parts(kept))))


def condensed(header: str, kept: Kept, same: Callable[[Finding], bool]) -> Condensed:
    """The recording without the runs that are not needed, so that it ends in the same finding."""
    parts = _parts(kept)
    most = {at: 0 for at, each in enumerate(kept) if not isinstance(each, Event)}
    for tried in range(MOST_TRIES):
        events, left_out = _without(parts, most)
        text = _text(header, events)
        try:
            found = judge_text(text).finding
        except MalformedTraceError:  # nothing is answered, so that it is no recording
            break
        if found is not None and same(found):
            return Condensed(text, left_out, dump(found.sequence.renumbered()))
        if tried == MOST_TRIES // 2:
            most = {at: max(ms, LAST_MS) for at, ms in most.items()}
        elif not _put_back(parts, most, found):
            break
    return whole(header, kept)


def _put_back(parts: Parts, most: dict[int, int], found: Finding | None) -> bool:
    """Leave more of the run before what was found, or before the end; False if all is there."""
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
    """The events, of each run so many milliseconds alone, and how many are left out."""
    found: list[Event] = []
    left_out = left_out_ms = last_ms = 0
    for at, events in enumerate(parts):
        since_ms = events[-1].at_ms - most[at] if at in most else -1
        for event in events:
            if at in most and event.at_ms <= since_ms:
                left_out += 1
                left_out_ms += event.at_ms - last_ms
            else:
                found.append(event._replace(at_ms=event.at_ms - left_out_ms))
            last_ms = event.at_ms
    return found, left_out


def _parts(kept: Kept) -> Parts:
    return [[each] if isinstance(each, Event) else [*rows(each)] for each in kept]


def _text(header: str, events: Iterable[Event]) -> str:
    lines, now_ms = [header], 0
    for event in events:
        lines += recorded(event, now_ms)
        now_ms = event.at_ms
    return "".join(f"{line}\n" for line in lines)
