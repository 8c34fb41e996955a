"""What is asked before a group is looked at: its name, and who serves it. Nothing changes here.

A group that is there is served: whoever has found one need not ask.
"""

from __future__ import annotations

from typing import Final

from groupcheck.implementation.core.groups import Groups
from groupcheck.implementation.core.partitions import Serving
from groupcheck.implementation.core.traits import Traits
from groupcheck.model.vocabulary import (
    EndTxnRequest,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetDeleteRequest,
    Request,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

_ERRORS: Final = {
    Serving.SERVED: ErrorCode.NONE,
    Serving.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    Serving.UNLOADED: ErrorCode.NOT_COORDINATOR,
}

# For the others the group without a name is one more group.
_NEED_A_NAME: Final = (
    JoinGroupRequest,
    SyncGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    TxnOffsetCommitRequest,
    EndTxnRequest,
    OffsetDeleteRequest,
)

# The version from which SyncGroup has to say which protocol it is about (KIP-559).
_PROTOCOL_REQUIRED_SINCE: Final = 5


class Gate:
    """Which error wins before the group is looked at."""

    __slots__ = ("_groups", "_traits")

    def __init__(self, groups: Groups, traits: Traits) -> None:
        self._groups = groups
        self._traits = traits

    def unserved(self, group_id: str) -> ErrorCode:
        """Why a group cannot be looked for here; NONE if it can."""
        return _ERRORS[self._groups.serving[self._groups.partition_of(group_id)]]

    def closed(self, request: Request) -> ErrorCode:
        """Why a coordinator that is shut down refuses a request."""
        body = request.body
        if isinstance(body, SyncGroupRequest) and lacks_protocol(request, body):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        nameless = isinstance(body, _NEED_A_NAME) and not body.group_id
        if nameless and not self._traits.active_first:
            return ErrorCode.INVALID_GROUP_ID
        if isinstance(body, EndTxnRequest):
            # Whoever writes the marker is told, or finds nobody to tell of it.
            markers = self._traits.writes_markers
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if markers else ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.COORDINATOR_NOT_AVAILABLE


def lacks_protocol(request: Request, body: SyncGroupRequest) -> bool:
    """Whether a SyncGroup does not say which protocol it is about, though it has to."""
    missing = body.protocol_type is None or body.protocol_name is None
    return missing and request.api_version >= _PROTOCOL_REQUIRED_SINCE
