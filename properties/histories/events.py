"""An event of a group in a recording: a row of the pipeline's `events` table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple


class Event(NamedTuple):
    """A row of the events table; the fields are its columns, in its order."""

    group_id: str
    source: str
    session: int
    seq: int
    line: int
    at_ms: int
    kind: str
    request_id: int | None = None
    api: str | None = None
    api_version: int | None = None
    client_id: str | None = None
    client_host: str | None = None
    body: str | None = None

    @property
    def fault(self) -> str | None:
        """What happened to the coordinator, as the port protocol names it."""
        fault: str | None = json.loads(self.body or "{}").get("fault")
        return fault

    @property
    def history(self) -> tuple[str, str, int]:
        """The history that the event is part of: group, source and session."""
        return self[:3]


def recording_lines(event: Event, now_ms: int) -> Iterator[str]:
    """The lines of a recording for an event, if the time before it is `now_ms`."""
    if event.at_ms > now_ms:
        yield f'{{"type":"advance","ms":{event.at_ms - now_ms}}}'
    if event.kind in {"hold", "release"}:
        yield f'{{"type":"fault","fault":"{event.kind}Appends"}}'
    elif event.kind == "fault":
        yield str(event.body)
    elif event.kind == "request":
        head = {
            "type": "request",
            "id": event.request_id,
            "api": event.api,
            "apiVersion": event.api_version,
            "clientId": event.client_id,
            "clientHost": event.client_host,
        }
        yield f'{json.dumps(head)[:-1]},"body":{_own(event)}}}'
    else:
        yield f'{{"type":"response","id":{event.request_id},"body":{_own(event)}}}'


# The fields of a request and of its response that list groups.
LISTS: Final = {
    "DescribeGroups": ("groups", "groups"),
    "DeleteGroups": ("groupsNames", "results"),
    "ListGroups": ("", "groups"),
}


def _own(event: Event) -> str:
    """The body, without the entries of other groups."""
    fields = LISTS.get(event.api or "")
    if fields is None:
        return str(event.body)
    body = json.loads(event.body or "{}")
    if event.kind == "response":
        entries = [each for each in body[fields[1]] if each["groupId"] == event.group_id]
        body[fields[1]] = entries
    elif fields[0]:
        body[fields[0]] = [event.group_id]
    return json.dumps(body, separators=(",", ":"))
