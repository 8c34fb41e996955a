"""The history of a group in a recording that leaves some responses out.

A recording has everything in order, so each request takes effect, and each response is sent, at
its place. The first line names the APIs without responses (`unseen`); of all other APIs every
response is there.
"""

from __future__ import annotations

import json

from groupcheck.model.bodies import Json
from groupcheck.model.state import Cleanup
from groupcheck.model.vocabulary import Request
from groupcheck.properties.histories.bodies import request_body, response_body
from groupcheck.properties.histories.events import Event as Recorded
from groupcheck.properties.histories.history import NS, Event, GroupHistory, Operation
from groupcheck.properties.histories.one_group import part, parts


class PartialHistory:
    """The history so far; a moment is the ms of the recording's clock, and the event within it.

    Responses that timers cause are recorded after the time has passed: all that is known is that
    they were not given before it began to pass.
    """

    def __init__(self, opened: Recorded) -> None:
        header: Json = json.loads(opened.body or "{}")
        self._group_id = opened.group_id
        self._unseen = frozenset(header["unseen"])
        self._moment = self._passing = 0
        self._operations: dict[int, Operation] = {}
        self._events: list[Event] = []
        self._cut: str | None = None
        self.open_appends = False

    def take(self, event: Recorded) -> None:
        """Take the next event.

        Raises:
            MalformedBodyError: a body does not fit its API.
        """
        if self._cut is not None:
            return
        self._moment += 1
        if event.at_ms > self._moment // NS:
            self._passing = self._moment
            self._moment = event.at_ms * NS + 1
        number, moment = int(event.request_id or 0), self._moment
        match event.kind:
            case "request":
                self._operations[number] = Operation(self._request(event), moment, by=moment)
            case "response":
                asked = self._operations[number]
                answer = response_body(str(event.api), event.api_version or 0, event.body or "")
                silent = max(self._passing, asked.begins)
                own = part(answer, self._group_id)
                self._operations[number] = asked._replace(ends=moment, silent=silent, answer=own)
            case "hold" | "release":
                self.open_appends = True
            case "fault" if json.loads(event.body or "{}").get("fault") == "cleanup":
                self._events.append(Event(Cleanup(), moment, moment))
            case "fault":
                self._cut = f"nothing is known after {event.kind} {event.body}"
            case "cut":
                self._cut = str(event.body)

    def history(self, quiet_ms: int = 0) -> GroupHistory:
        """All operations; up to `quiet_ms` no further response arrived."""
        passing = max(self._passing, quiet_ms * NS)
        found = []
        for each in self._operations.values():
            if each.is_over:
                found.append(each)
            elif self._cut is not None:  # an event that was cut off may have caused the response
                found.append(Operation(each.request, each.begins))
            elif each.request.api in self._unseen:
                found.append(each)
            else:
                found.append(each._replace(silent=max(passing, each.begins)))
        return GroupHistory(self._group_id, tuple(found), self._cut, tuple(self._events))

    def _request(self, event: Recorded) -> Request:
        api, version = str(event.api), int(event.api_version or 0)
        body = request_body(api, version, event.body or "null")
        own = parts(body, (self._group_id,))[self._group_id]
        client = (event.client_id or "", event.client_host or "")
        return Request(int(event.request_id or 0), version, own, *client)
