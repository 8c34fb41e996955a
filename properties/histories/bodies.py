"""Decodes the bodies of recorded messages, and selects the part for one group.

A recording or history has many groups, with their real ids. The model has one group, with one name.
The members of a group send the same bodies again and again, so a cache has the decoded ones. Two
commits have the same entry if only the committed offsets differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, Final, TypeVar

from groupcheck.model.bodies import decode_request, decode_response
from groupcheck.model.classic.instances.inputs import GROUP_ID, NOBODY
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    Request,
    RequestBody,
    ResponseBody,
)
from groupcheck.properties.histories.events import Event
from groupcheck.properties.sequence import NEED_A_NAME, outside_the_model

ENTRIES: Final = 32_768
LONGEST: Final = 1_000  # characters: bodies that repeat are short
COMMIT: Final = "OffsetCommit"
# A committed offset as clients usually write it (at most 64 bits, not negative), and what follows.
# RE2, which Arrow uses, reads it too.
OFFSET: Final = re.compile(r'"committedOffset":(0|[1-9][0-9]{0,17})([,}])')
T = TypeVar("T")


def _cached(decode: Callable[[str, int, Any], T]) -> Callable[[str, int, str], T]:
    """A function that decodes a body's JSON; it caches short bodies."""

    def parse(api: str, version: int, text: str) -> T:
        return decode(api, version, json.loads(text))

    cached = lru_cache(ENTRIES)(parse)

    def body(api: str, version: int, text: str) -> T:
        return (cached if len(text) <= LONGEST else parse)(api, version, text)

    return body


# Both raise MalformedBodyError if the body does not fit the API at that version.
request_body: Final[Callable[[str, int, str], RequestBody]] = _cached(decode_request)
response_body: Final[Callable[[str, int, str], ResponseBody]] = _cached(decode_response)

Groups = tuple[tuple[str, str | None], ...]


def _groups(body: RequestBody, known: Iterable[str]) -> Groups:
    return tuple((name, outside_the_model(part)) for name, part in parts(body, known).items())


_groups_named = _cached(lambda *body: _groups(decode_request(*body), ()))


def groups_of(api: str, version: int, text: str, known: Iterable[str]) -> Groups:
    """The groups of a request, each with the reason why the model does not cover it, if any.

    Raises:
        MalformedBodyError: the body does not fit the API at that version.
    """
    if api == "ListGroups":  # about all groups that are known
        return _groups(request_body(api, version, text), known)
    if api == COMMIT:
        text = OFFSET.sub(r'"committedOffset":0\2', text)
    return _groups_named(api, version, text)


def own_request(event: Event) -> Request:
    """The part of an event's request for the event's group.

    Raises:
        MalformedBodyError: the body does not fit the API at that version.
    """
    api, version = str(event.api), int(event.api_version or 0)
    body = request_body(api, version, event.body or "null")
    own = parts(body, (event.group_id,))[event.group_id]
    client = event.client_id or "", event.client_host or ""
    return Request(int(event.request_id or 0), version, own, *client)


def own_response(event: Event) -> ResponseBody:
    """The part of an event's response for the event's group.

    Raises:
        MalformedBodyError: the body does not fit the API at that version.
    """
    api, version = str(event.api), int(event.api_version or 0)
    return part(response_body(api, version, event.body or "null"), event.group_id)


def parts(body: RequestBody, known: Iterable[str]) -> dict[str, RequestBody]:
    """The part of a request for each group; ListGroups is about all that are `known`."""
    match body:
        case DescribeGroupsRequest():
            return dict.fromkeys(body.groups, DescribeGroupsRequest((GROUP_ID,)))
        case DeleteGroupsRequest():
            return dict.fromkeys(body.groups_names, DeleteGroupsRequest((GROUP_ID,)))
        case ListGroupsRequest():
            return dict.fromkeys(known, body)
        case _:
            unnamed = not body.group_id and isinstance(body, NEED_A_NAME)
            return {body.group_id: body if unnamed else body._replace(group_id=GROUP_ID)}


def part(body: ResponseBody, group_id: str) -> ResponseBody:
    """The part of a response for one group."""
    match body:
        case DescribeGroupsResponse():
            return DescribeGroupsResponse(_named(body.groups, group_id))
        case DeleteGroupsResponse():
            return DeleteGroupsResponse(_named(body.results, group_id))
        case ListGroupsResponse():
            return body._replace(groups=_named(body.groups, group_id))
        case _:
            return body


def _named(entries: Iterable[Any], group_id: str) -> tuple[Any, ...]:
    """The entry of one group, or none."""
    found = [each._replace(group_id=GROUP_ID) for each in entries if each.group_id == group_id]
    return tuple(found[:1])


def without(body: ResponseBody, strangers: Collection[str]) -> ResponseBody:
    """A response without the ids of unknown members."""
    if not strangers:
        return body
    changes: dict[str, Any] = {}
    if getattr(body, "member_id", None) in strangers:
        changes["member_id"] = NOBODY
    if "members" in body._fields:
        members: Any = body.members  # type: ignore[union-attr] # as just checked
        changes["members"] = tuple(
            m._replace(member_id=NOBODY) if m.member_id in strangers else m for m in members
        )
    return body._replace(**changes) if changes else body
