"""A row of the events table, and the lines of a recording that it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa


class Event(NamedTuple):
    """A row of the events table; columns in its order."""

    group_id: str
    source: str
    session: int
    seq: int
    line: int
    at_ms: int
    kind: str
    request_id: int | None
    api: str | None
    api_version: int | None
    client_id: str | None
    client_host: str | None
    body: str | None

    @property
    def history(self) -> tuple[str, str, int]:
        """Whose it is: what is judged by itself."""
        return self[:3]


def rows(batch: pa.RecordBatch) -> Iterator[Event]:
    """The events of a batch."""
    return map(Event._make, zip(*map(pa.Array.to_pylist, batch.columns), strict=True))


def recorded(event: Event, now_ms: int) -> Iterator[str]:
    """The lines of a recording that an event is, at that time."""
    if event.at_ms > now_ms:
        yield f'{{"type":"advance","ms":{event.at_ms - now_ms}}}'
    if event.kind in {"hold", "release"}:
        yield f'{{"type":"fault","fault":"{event.kind}Appends"}}'
    elif event.kind == "fault":
        yield str(event.body)
    elif event.kind == "request":
        told = {
            "type": "request",
            "id": event.request_id,
            "api": event.api,
            "apiVersion": event.api_version,
            "clientId": event.client_id,
            "clientHost": event.client_host,
        }
        yield f'{json.dumps(told)[:-1]},"body":{_own(event)}}}'
    else:
        yield f'{{"type":"response","id":{event.request_id},"body":{_own(event)}}}'


# The fields of bodies that are about many groups: in a request, and in an answer.
OF_MANY: Final = {
    "DescribeGroups": ("groups", "groups"),
    "DeleteGroups": ("groupsNames", "results"),
    "ListGroups": ("", "groups"),
}


def _own(event: Event) -> str:
    """The body, as far as it is about the group."""
    fields = OF_MANY.get(event.api or "")
    if fields is None:
        return str(event.body)
    body = json.loads(event.body or "{}")
    if event.kind == "response":
        told = [each for each in body[fields[1]] if each["groupId"] == event.group_id]
        body[fields[1]] = told
    elif fields[0]:
        body[fields[0]] = [event.group_id]
    return json.dumps(body, separators=(",", ":"))
