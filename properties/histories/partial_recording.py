"""Recordings in which some answers are left out, as histories: nothing is judged here.

A recording tells in which order everything happened, so each request takes effect, and each answer
is given, where it stands. Of the APIs that its first line names as `unseen` no answer is in it; of
the others every answer is.
"""

from __future__ import annotations

from collections.abc import Collection

from groupcheck.model.bodies import Json, check_integer, decode_response, shown
from groupcheck.model.state import Cleanup
from groupcheck.model.step import Profile
from groupcheck.properties.histories.history import NEVER, NS, Event, Operation
from groupcheck.properties.sequence import MalformedTraceError, new_request


class PartialRecording:
    """What has been read of one; a moment is the ms of its clock, and the line within that.

    What timers bring about while time passes is told when it has passed: of an answer it is known
    that it was not given before the time began to pass.
    """

    def __init__(self, profile: Profile, unseen: Collection[str]) -> None:
        self._profile = profile
        self._unseen = unseen
        self._moment = self._passing = 0
        self._found: dict[int, Operation] = {}
        self.open_appends = False
        self.events: list[Event] = []

    def take(self, message: Json) -> None:
        """Take in a line that is not the first.

        Raises:
            MalformedTraceError: it is none of a recording, or of one that cannot be judged.
            MalformedBodyError: its body is not what its API has.
        """
        self._moment += 1
        match message:
            case {"type": "advance", "ms": int(ms)} if ms >= 0:
                self._passing = self._moment
                self._moment = (self._moment // NS + ms) * NS
            case {"type": "fault", "fault": "holdAppends" | "releaseAppends"}:
                self.open_appends = True
            case {"type": "fault", "fault": "cleanup"}:
                self.events.append(Event(Cleanup(), self._moment, self._moment))
            case {"type": "request"}:
                self._request(message)
            case {"type": "response"}:
                self._response(message)
            case _:
                msg = f"not a line of a recording that leaves answers out: {shown(message)}"
                raise MalformedTraceError(msg)

    def operations(self) -> dict[int, Operation]:
        """What was asked; who was not answered, and should have been seen to be, was not."""
        return {
            number: each
            if each.is_over or each.request.api in self._unseen
            else each._replace(silent=max(self._passing, each.begins))
            for number, each in self._found.items()
        }

    def _request(self, message: Json) -> None:
        number = check_integer(message.get("id"), "id")
        request = new_request(message, number, self._found, self._profile)
        self._found[number] = Operation(request, self._moment, by=self._moment)

    def _response(self, message: Json) -> None:
        number = check_integer(message.get("id"), "id")
        asked = self._found.get(number)
        if asked is None or asked.ends != NEVER:
            msg = f"no request before it has the id {number}, or it is answered twice"
            raise MalformedTraceError(msg)
        request = asked.request
        answer = decode_response(request.api, request.api_version, message.get("body"))
        silent = max(self._passing, asked.begins)
        self._found[number] = asked._replace(ends=self._moment, silent=silent, answer=answer)
