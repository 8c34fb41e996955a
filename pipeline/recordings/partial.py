"""The history of a group in a recording that leaves answers out, searched for a lawful order.

It is judged as by `groupcheck history`, whole and at its end: what is not seen may have been any.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from groupcheck.model.bodies import Json, MalformedBodyError, encode_record
from groupcheck.model.profiles import PROFILES
from groupcheck.pipeline.recordings.columns import Columns
from groupcheck.pipeline.recordings.events import Event, recorded
from groupcheck.pipeline.recordings.observed import Observed
from groupcheck.properties.histories.history import Operation
from groupcheck.properties.histories.history_file import Noted, from_zero
from groupcheck.properties.histories.many_groups import Rejected, judge
from groupcheck.properties.histories.partial_recording import PartialRecording
from groupcheck.properties.histories.recorded import BEFORE
from groupcheck.properties.sequence import MalformedTraceError
from groupcheck.properties.windows import EXACT

Row = dict[str, Any]
MOST_EVENTS: Final = 20_000  # which are in memory
MOST_POINTS: Final = 200_000  # of the search, as by groupcheck history
RULE: Final = "no lawful order"


class PartialReplay:
    """The history of one group in one session, of which some answers were not seen."""

    def __init__(self, opened: Event) -> None:
        header: Json = json.loads(opened.body or "{}")
        self.key = opened.history
        self.profile: str = header["profile"]
        self.observed = Observed()
        self._broker: dict[str, int] = header["config"]
        self._unseen: list[str] = header["unseen"]
        self._recording = PartialRecording(PROFILES[self.profile], self._unseen)
        self._lines = [json.dumps({"type": "open", **header})]
        self._places: dict[int, int] = {}  # the last line of each request
        self._events = self._last_ms = 0
        self._undecided: str | None = BEFORE if header.get("before") else None

    @property
    def rejected(self) -> bool:
        """Whether something was not lawful: before the end nobody knows."""
        return False

    def take(self, event: Event) -> None:
        """Go on by an event."""
        self._events += 1
        if self._undecided is not None or event.kind == "open":
            return
        if event.kind in {"gap", "cut"}:
            self._undecided = f"{event.kind}: {event.body}"
            return
        if self._events > MOST_EVENTS:
            self._undecided = f"more than {MOST_EVENTS} events, with answers left out"
            self._lines.clear()
            return
        try:
            for line in recorded(event, self._last_ms):
                self._recording.take(json.loads(line))
                self._lines.append(line)
        except (MalformedTraceError, MalformedBodyError) as error:
            self._undecided = str(error)
        self._places[event.request_id or 0] = event.line
        self._last_ms = event.at_ms

    def run(self, events: Columns, start: int, stop: int) -> None:
        """Go on by events, which are all of this history."""
        for at in range(start, stop):
            self.take(events.event(at))

    def over(self) -> Iterator[tuple[str, Row]]:
        """Nothing is known before the end."""
        return iter(())

    def end(self) -> Iterator[tuple[str, Row]]:
        """The history is over: each row that comes of it, with the name of its table."""
        whose = dict(zip(("group_id", "source", "session"), self.key, strict=True))
        rejected, accepted = self._judged() if self._undecided is None else (None, 0)
        verdict = "accepted"
        if self._undecided is not None:
            verdict = "undecided"
        elif rejected is not None:
            verdict = "rejected"
        finding = self._finding(rejected, accepted) if rejected else None
        told = {"profile": self.profile, "events": self._events, "accepted": accepted}
        yield (
            "verdict",
            {
                **whose,
                **told,
                "verdict": verdict,
                "reason": RULE if finding else self._undecided,
                "steps": accepted,
                "line": finding["line"] if finding else None,
                "at_ms": finding["at_ms"] if finding else self._last_ms,
            },
        )
        if finding is not None:
            yield "finding", {**whose, **finding}

    def _judged(self) -> tuple[Rejected | None, int]:
        """What is not lawful, and how many requests are in the longest lawful order."""
        operations = self._recording.operations()
        if not operations:
            return None, 0
        begun, events = from_zero(operations, self._recording.events)
        noted = Noted(
            PROFILES[self.profile],
            self._broker,
            (),
            self._recording.open_appends,
            begun,
            events,
            tuple(self._unseen),
            exact=True,
        )
        judged = judge(noted, EXACT, MOST_POINTS)
        if judged.rejected is not None:
            moves = judged.rejected.verdict.order
            return judged.rejected, sum(move.operation is not None for move in moves)
        if judged.undecided is not None:
            self._undecided = f"the search was given up after {judged.points} points"
        elif judged.cut:
            self._undecided = judged.cut[0]
        return None, self._events if self._undecided is None else 0

    def _finding(self, rejected: Rejected, accepted: int) -> Row:
        verdict = rejected.verdict
        late = (rejected.operations[number] for number in verdict.overdue)
        overdue = next((each for each in late if isinstance(each, Operation)), None)
        number = overdue.request.request_id if overdue else None
        rules = PROFILES[self.profile].rules
        lawful = {json.dumps(encode_record(r.lawful)) for r in verdict.refusals if r.lawful}
        because = dict.fromkeys(r.reason for r in verdict.refusals if r.reason in rules)
        return {
            "profile": self.profile,
            "line": self._places.get(number or 0, 0),
            "at_ms": verdict.order[-1].at_ms if verdict.order else 0,
            "accepted": accepted,
            "kind": RULE,
            "request_id": number,
            "api": overdue.request.api if overdue else None,
            "seen": json.dumps(encode_record(overdue.answer))
            if overdue and overdue.answer
            else None,
            "lawful": sorted(lawful),
            "because": [
                {"rule": name, "says": rules[name].says, "source": rules[name].source}
                for name in because
            ],
            "refused": [],
            "states": 0,
            "recording": "".join(f"{line}\n" for line in self._lines),
        }
