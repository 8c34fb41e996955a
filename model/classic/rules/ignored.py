"""What other implementations ignore in requests: a behaviour for each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from groupcheck.model.classic.sources import at
from groupcheck.model.classic.step import Step
from groupcheck.model.engine.rules import Behaviour
from groupcheck.model.vocabulary import (
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetFetchRequest,
    Request,
)


def _without_instances(body: Any) -> Any:  # noqa: ANN401 - of any API
    if isinstance(body, LeaveGroupRequest):
        members = tuple(each._replace(group_instance_id=None) for each in body.members)
        return body._replace(members=members)
    return body._replace(group_instance_id=None) if hasattr(body, "group_instance_id") else body


def _without_rebalance_timeout(body: Any) -> Any:  # noqa: ANN401
    is_join = isinstance(body, JoinGroupRequest)
    return body._replace(rebalance_timeout_ms=body.session_timeout_ms) if is_join else body


def _without_require_stable(body: Any) -> Any:  # noqa: ANN401
    return body._replace(require_stable=False) if isinstance(body, OffsetFetchRequest) else body


# Each behaviour, and the body of a request with the default of what is ignored.
IGNORED: Final[tuple[tuple[Behaviour, Callable[[Any], Any]], ...]] = (
    (
        Behaviour(
            "instance-ids-are-ignored",
            "requests",
            "the group.instance.id of each request is ignored, in implementations without static "
            "members",
            at(),
        ),
        _without_instances,
    ),
    (
        Behaviour(
            "rebalance-timeouts-are-ignored",
            "requests",
            "the rebalance timeout of a member is its session timeout, as with JoinGroup version 0",
            at(),
        ),
        _without_rebalance_timeout,
    ),
    (
        Behaviour(
            "require-stable-is-ignored",
            "requests",
            "OffsetFetch answers with the committed offsets, also if it requires stable ones",
            at(),
        ),
        _without_require_stable,
    ),
)


def without_ignored(step: Step, request: Request) -> Request:
    """The request without what the version ignores."""
    for behaviour, without in IGNORED:
        if behaviour(step):
            request = request._replace(body=without(request.body))
    return request


PARTS: Final = tuple(behaviour for behaviour, _ in IGNORED)
