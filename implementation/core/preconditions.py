"""Checks before a group is looked up: the group id, and whether its partition is served.

A group that exists is served: a handler that has found it skips these checks.
"""

from __future__ import annotations

from typing import Final

from groupcheck.implementation.core.groups import Groups, Serving
from groupcheck.implementation.core.profiles import Behaviour
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, Request

_ERRORS: Final = {
    Serving.SERVED: ErrorCode.NONE,
    Serving.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    Serving.UNLOADED: ErrorCode.NOT_COORDINATOR,
}

# For the other APIs an empty group id is valid.
_NEED_GROUP_ID: Final = (
    kafka.JoinGroupRequest,
    kafka.SyncGroupRequest,
    kafka.HeartbeatRequest,
    kafka.LeaveGroupRequest,
    kafka.TxnOffsetCommitRequest,
    kafka.EndTxnRequest,
    kafka.OffsetDeleteRequest,
)

# The first version of SyncGroup that requires the protocol type and name (KIP-559).
_PROTOCOL_REQUIRED_SINCE: Final = 5


class Preconditions:
    """The errors of the checks before the group is looked up."""

    __slots__ = ("_behaviour", "_groups")

    def __init__(self, groups: Groups, behaviour: Behaviour) -> None:
        self._groups = groups
        self._behaviour = behaviour

    def partition_error(self, group_id: str) -> ErrorCode:
        """The error if the partition of a group is not served."""
        return _ERRORS[self._groups.serving[self._groups.partition_of(group_id)]]

    def shutdown_error(self, request: Request) -> ErrorCode:
        """The error of a coordinator that is shut down."""
        body = request.body
        if isinstance(body, kafka.SyncGroupRequest) and lacks_protocol(request, body):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        is_empty = isinstance(body, _NEED_GROUP_ID) and not body.group_id
        if is_empty and not self._behaviour.shutdown_before_group_id:
            return ErrorCode.INVALID_GROUP_ID
        if isinstance(body, kafka.EndTxnRequest):
            # The broker that writes the markers returns an error, or finds no coordinator.
            markers = self._behaviour.appends_markers
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if markers else ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.COORDINATOR_NOT_AVAILABLE


def lacks_protocol(request: Request, body: kafka.SyncGroupRequest) -> bool:
    """Whether a SyncGroup lacks the protocol type or name that its version requires."""
    missing = body.protocol_type is None or body.protocol_name is None
    return missing and request.api_version >= _PROTOCOL_REQUIRED_SINCE
