"""The group ids of one test on a shared broker: each has a prefix that no other test uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast
from uuid import uuid4

from groupcheck.model.vocabulary import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    RequestBody,
    ResponseBody,
)

CLIENT_HOST: Final = "/127.0.0.1"  # the default client host of a test's requests


class GroupNames:
    """Translates group ids between a test and the broker; the prefix is itself an unused group."""

    def __init__(self) -> None:
        self.prefix = f"groupcheck-{uuid4().hex}-"

    def real(self, group_id: str) -> str:
        """Return the broker's group id; an empty one stays empty: its handling is under test."""
        return self.prefix + group_id if group_id else ""

    def request(self, body: RequestBody) -> RequestBody:
        """Return a request with the broker's group ids."""
        if isinstance(body, DescribeGroupsRequest):
            return DescribeGroupsRequest(tuple(map(self.real, body.groups)))
        if isinstance(body, DeleteGroupsRequest):
            return DeleteGroupsRequest(tuple(map(self.real, body.groups_names)))
        if isinstance(body, ListGroupsRequest):
            return body
        named = cast("HeartbeatRequest", body)  # every other request has a `group_id`
        return named._replace(group_id=self.real(named.group_id))

    def response(self, body: ResponseBody) -> ResponseBody:
        """Return a response with the test's group ids and client host, without other tests."""
        if isinstance(body, DeleteGroupsResponse):
            return DeleteGroupsResponse(self._renamed(body.results))
        if isinstance(body, ListGroupsResponse):
            ours = (group for group in body.groups if group.group_id.startswith(self.prefix))
            return body._replace(groups=self._renamed(ours))
        if not isinstance(body, DescribeGroupsResponse):
            return body
        groups = []
        for group in self._renamed(body.groups):
            members = (m._replace(client_host=m.client_host and CLIENT_HOST) for m in group.members)
            groups.append(group._replace(members=tuple(members)))
        return DescribeGroupsResponse(tuple(groups))

    def _renamed(self, groups: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(g._replace(group_id=g.group_id.removeprefix(self.prefix)) for g in groups)
