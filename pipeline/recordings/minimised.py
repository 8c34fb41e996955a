"""Minimises the recording of a finding: omits the heartbeats and commits that change nothing.

The rebalances of the group are enough to understand a finding, or to reproduce it on a port. So the
runs of known pairs (see `steady_state`) are omitted, with their time, and the other events are
checked. If these do not end in the same finding, runs are restored one by one, because the finding
depends on elapsed time or on the last committed offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from groupcheck.model.vocabulary import Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.checker import check_text
from groupcheck.properties.histories.events import Event, recording_lines
from groupcheck.properties.sequence import MalformedTraceError, dump

Runs = list[Sequence[Event]]  # a single event, or a run of known pairs
LAST_MS: Final = 60_000  # of a run that are restored first: longer than most sessions
ALL_MS: Final = 2**62
MOST_TRIES: Final = 20


class Minimised(NamedTuple):
    """The lines of a recording, how many events it omits, and its requests as a trace."""

    text: str
    omitted: int = 0
    trace: str | None = None


def complete(header: str, runs: Runs) -> Minimised:
    """The recording with every event."""
    return Minimised(_text(header, chain.from_iterable(runs)))


def minimised(header: str, runs: Runs, same: Callable[[Finding], bool]) -> Minimised:
    """The recording without the runs that the same finding does not need."""
    kept_ms = {at: 0 for at, run in enumerate(runs) if len(run) > 1}
    for tried in range(MOST_TRIES):
        events, omitted = _without_runs(runs, kept_ms)
        text = _text(header, events)
        try:
            found = check_text(text).finding
        except MalformedTraceError:  # a file without a response is no recording
            break
        if found is not None and same(found):
            return Minimised(text, omitted, dump(found.sequence.renumbered()))
        if tried == MOST_TRIES // 2:
            kept_ms = {at: max(ms, LAST_MS) for at, ms in kept_ms.items()}
        elif not _restore_more(runs, kept_ms, found):
            break
    return complete(header, runs)


def _restore_more(runs: Runs, kept_ms: dict[int, int], found: Finding | None) -> bool:
    """Restore more of the last run before the finding, or the end; False if nothing is omitted."""
    steps = found.sequence.steps if found else ()
    last = next((s.request_id for s in reversed(steps) if isinstance(s, Request)), None)
    shortened = [at for at, ms in kept_ms.items() if ms < ALL_MS]
    if not shortened:
        return False
    requests = (
        at for at, run in enumerate(runs) if at not in kept_ms and run[0].request_id == last
    )
    end = len(runs) if last is None else next(requests, len(runs))
    at = max((at for at in shortened if at < end), default=shortened[-1])
    kept_ms[at] = ALL_MS if kept_ms[at] else LAST_MS
    return True


def _without_runs(runs: Runs, kept_ms: dict[int, int]) -> tuple[list[Event], int]:
    """The events, with the last `kept_ms` of each run, and how many are omitted."""
    kept: list[Event] = []
    omitted = omitted_ms = last_ms = 0
    for at, events in enumerate(runs):
        since_ms = events[-1].at_ms - kept_ms[at] if at in kept_ms else -1
        for event in events:
            if at in kept_ms and event.at_ms <= since_ms:
                omitted += 1
                omitted_ms += event.at_ms - last_ms
            else:
                kept.append(event._replace(at_ms=event.at_ms - omitted_ms))
            last_ms = event.at_ms
    return kept, omitted


def _text(header: str, events: Iterable[Event]) -> str:
    lines, now_ms = [header], 0
    for event in events:
        lines += recording_lines(event, now_ms)
        now_ms = event.at_ms
    return "".join(f"{line}\n" for line in lines)
