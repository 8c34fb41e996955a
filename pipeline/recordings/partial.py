"""Searches for an allowed order of a group's history in a recording without some responses.

As in `groupcheck history`, the check runs at the end; a missing response may have any value.
"""

from __future__ import annotations

import json
from typing import Final

from groupcheck.model.bodies import MalformedBodyError, encode_record
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.pipeline.history_replay import HistoryReplay, Row, Tables
from groupcheck.properties.histories.events import Event, recording_lines
from groupcheck.properties.histories.history import MOST_POINTS, from_zero
from groupcheck.properties.histories.history_checker import Rejected, check_groups
from groupcheck.properties.histories.history_file import Noted, PartialHistory
from groupcheck.properties.histories.reader import BEFORE
from groupcheck.properties.tolerances import EXACT

MOST_EVENTS: Final = 20_000  # in memory
RULE: Final = "no allowed order"


class PartialReplay(HistoryReplay):
    """The history of one group in one session, without some responses."""

    def __init__(self, opened: Event) -> None:
        super().__init__(opened, Tables())
        self._history = PartialHistory(opened)
        self._lines = [json.dumps({"type": "open", **self.header})]
        self._request_lines: dict[int, int] = {}  # the last line of each request
        self._recorded_ms = 0
        self.undecided = BEFORE if self.header.get("before") else None

    def check(self, event: Event) -> None:
        """Keep the event."""
        if self.undecided is not None or event.kind == "open":
            return
        if event.kind in {"gap", "cut"}:
            self.undecided = f"{event.kind}: {event.body}"
            return
        if self.events > MOST_EVENTS:
            self.undecided = f"more than {MOST_EVENTS} events, and responses are missing"
            self._lines.clear()
            return
        try:
            self._history.take(event)
        except MalformedBodyError as error:
            self.undecided = str(error)
        self._lines += recording_lines(event, self._recorded_ms)
        self._recorded_ms = event.at_ms
        self._request_lines[event.request_id or 0] = event.line

    def finish(self) -> None:
        """Search for an allowed order."""
        if self.undecided is not None:
            return
        groups = from_zero([self._history.history()])
        open_appends, broker = self._history.open_appends, self.header["config"]
        checked = check_groups(
            Noted(EVERY_PROFILE[self.profile], broker, groups, open_appends, exact=True),
            EXACT,
            MOST_POINTS,
        )
        if checked.rejected is not None:
            order = checked.rejected.verdict.order
            self.accepted = sum(step.operation is not None for step in order)
            self.finding = self._finding(checked.rejected)
        elif checked.undecided is not None:
            self.undecided = f"the search stopped after {checked.points} points"
        elif checked.cut:
            self.undecided = checked.cut[0]
        else:
            self.accepted = self.events
        self.steps = self.accepted

    def _finding(self, rejected: Rejected) -> Row:
        verdict = rejected.verdict
        late = (rejected.operations[number] for number in verdict.overdue)
        overdue = next((each for each in late if not each.is_fault), None)
        request, answer = (overdue.request, overdue.answer) if overdue else (None, None)
        number = request.request_id if request else None
        return {
            "reason": RULE,
            "line": self._request_lines.get(number or 0, 0),
            "at_ms": verdict.order[-1].at_ms if verdict.order else 0,
            "kind": RULE,
            "request_id": number,
            "api": request.api if request else None,
            "seen": json.dumps(encode_record(answer)) if answer else None,
            "allowed": sorted(
                {json.dumps(encode_record(r.allowed)) for r in verdict.refusals if r.allowed}
            ),
            "because": self.rule_rows(dict.fromkeys(r.reason for r in verdict.refusals)),
            "refused": [],
            "states": 0,
            "recording": "".join(f"{line}\n" for line in self._lines),
        }
