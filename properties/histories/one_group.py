"""The part of a request or response that is about one group.

A recording or history has many groups, with their real ids. The model has one group, with one name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from groupcheck.model.instances.inputs import GROUP_ID, NOBODY
from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    RequestBody,
    ResponseBody,
)
from groupcheck.properties.sequence import NEED_A_NAME


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
