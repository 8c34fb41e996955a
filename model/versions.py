"""The fields of each version of an API: trims a record to a version."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_type_hints

from groupcheck.model import vocabulary as kafka

R = TypeVar("R")

# The version of its API from which a field is on the wire (Kafka's message definitions,
# "versions" of each field). Fields not listed are in every version of the profiles.
FIELD_SINCE: Final[dict[type, dict[str, int]]] = {
    kafka.JoinGroupRequest: {"rebalance_timeout_ms": 1, "group_instance_id": 5},
    kafka.JoinGroupResponse: {"protocol_type": 7, "skip_assignment": 9},
    kafka.JoinGroupResponseMember: {"group_instance_id": 5},
    kafka.SyncGroupRequest: {"group_instance_id": 3, "protocol_type": 5, "protocol_name": 5},
    kafka.SyncGroupResponse: {"protocol_type": 5, "protocol_name": 5},
    kafka.HeartbeatRequest: {"group_instance_id": 3},
    kafka.MemberIdentity: {"group_instance_id": 3},
    kafka.OffsetCommitRequest: {
        "generation_id": 1,
        "member_id": 1,
        "group_instance_id": 7,
        "retention_time_ms": 2,
    },
    kafka.OffsetCommitRequestPartition: {"committed_leader_epoch": 6, "commit_age_ms": 1},
    kafka.OffsetFetchRequest: {"require_stable": 7},
    kafka.OffsetFetchResponse: {"error_code": 2},
    kafka.OffsetFetchResponsePartition: {"committed_leader_epoch": 5},
    kafka.DescribedGroupMember: {"group_instance_id": 4},
    kafka.TxnOffsetCommitRequest: {"generation_id": 3, "member_id": 3, "group_instance_id": 3},
    kafka.TxnOffsetCommitRequestPartition: {"committed_leader_epoch": 2},
    kafka.ListGroupsRequest: {"states_filter": 4, "types_filter": 5},
    kafka.ListedGroup: {"group_state": 4, "group_type": 5},
}

# The last version with a field that newer ones lack.
FIELD_UNTIL: Final[dict[type, dict[str, int]]] = {
    kafka.OffsetCommitRequest: {"retention_time_ms": 4},
    kafka.OffsetCommitRequestPartition: {"commit_age_ms": 1},
}


def carries(cls: type, field: str, version: int) -> bool:
    """Whether a field is on the wire in that version of its API."""
    since, until = FIELD_SINCE.get(cls, {}), FIELD_UNTIL.get(cls, {})
    return since.get(field, 0) <= version <= until.get(field, version)


def _trim_join_request(record: kafka.JoinGroupRequest, version: int) -> kafka.JoinGroupRequest:
    # Version 0 has one timeout for both (JoinGroupRequest.java, the constructor's maybeOverride).
    if version == 0:
        return record._replace(rebalance_timeout_ms=record.session_timeout_ms)
    return record


def _trim_join_response(record: kafka.JoinGroupResponse, version: int) -> kafka.JoinGroupResponse:
    # protocolName became nullable in version 7 (KafkaApis.handleJoinGroupRequest).
    if version < 7 and record.protocol_name is None:
        return record._replace(protocol_name="")
    return record


def _trim_leave_response(
    record: kafka.LeaveGroupResponse, version: int
) -> kafka.LeaveGroupResponse:
    # Before batches, the one member's error was the response's (LeaveGroupResponse.java).
    if version < 3:
        error = record.error_code or next((m.error_code for m in record.members), record.error_code)
        return kafka.LeaveGroupResponse(error)
    return record


_SPECIAL: Final[dict[type, Callable[[Any, int], Any]]] = {
    kafka.JoinGroupRequest: _trim_join_request,
    kafka.JoinGroupResponse: _trim_join_response,
    kafka.LeaveGroupResponse: _trim_leave_response,
}


def record_in(hint: object) -> type | None:
    """The record class that a field of type `tuple[Record, ...]` (or `| None`) holds, if any."""
    for arg in get_args(hint):
        found = arg if isinstance(arg, type) and hasattr(arg, "_fields") else record_in(arg)
        if found is not None:
            return found
    return None


@cache
def _trimmer(cls: type[Any], version: int) -> Callable[[Any], Any] | None:
    """The function that trims records of `cls` to `version`; None if nothing changes."""
    reset = {
        field: cls._field_defaults.get(field)
        for field in FIELD_SINCE.get(cls, {})
        if not carries(cls, field, version)
    }
    inner = {}
    for field, hint in get_type_hints(cls).items():
        nested = record_in(hint)
        trimmer = _trimmer(nested, version) if nested is not None else None
        if trimmer is not None:
            inner[field] = trimmer
    special = _SPECIAL.get(cls)
    if not (reset or inner or special):
        return None

    def apply(record: Any) -> Any:  # noqa: ANN401 - records of any class
        changes = dict(reset)
        for field, trimmer in inner.items():
            changes[field] = tuple(map(trimmer, getattr(record, field) or ()))
        record = record._replace(**changes) if changes else record
        return record if special is None else special(record, version)

    return apply


def oldest_version(body: object) -> int:
    """The oldest version of its API that has a message for a record, perhaps without some fields.

    Only from version 3 on a LeaveGroup names several members (LeaveGroupRequest.json), and from
    version 2 on an OffsetFetch may ask for every partition (OffsetFetchRequest.json).
    """
    if isinstance(body, kafka.LeaveGroupRequest):
        return 0 if len(body.members) == 1 else 3
    return 2 if isinstance(body, kafka.OffsetFetchRequest) and body.topics is None else 0


def trim(record: R, api_version: int) -> R:
    """The record with the fields of version `api_version` of its API.

    Fields that the version lacks have their defaults. A value that an older version has in another
    field (LeaveGroup's error, JoinGroup's timeout) moves there.
    """
    cls: Any = type(record)
    trimmer = _trimmer(cls, api_version)
    if trimmer is None:
        return record
    trimmed: R = trimmer(record)
    return trimmed
