"""Requests, answers and time in words, for people who never saw the model."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase

from groupcheck.model.state import Advance, HoldAppends
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    NO_OFFSET,
    DescribedGroupMember,
    DescribeGroupsResponse,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    Request,
    RequestBody,
    ResponseBody,
    SyncGroupRequest,
    SyncGroupResponse,
)

Names = Mapping[str, str]


def letters(steps: tuple[Input, ...]) -> dict[str, str]:
    """A letter for each member, in the order in which they first ask to join."""
    symbols = [
        f"#{step.request_id}"
        for step in steps
        if isinstance(step, Request)
        and isinstance(step.body, JoinGroupRequest)
        and not step.body.member_id
    ]
    return {symbol: _letter(number) for number, symbol in enumerate(symbols)}


def _letter(number: int) -> str:
    more, place = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(more) if more else "")


def duration(ms: int) -> str:
    """`90000` as "1 min 30 s"."""
    minutes, rest = divmod(ms, 60_000)
    parts = [f"{minutes} min"] if minutes else []
    if rest or not parts:
        parts.append(f"{rest / 1000:g} s")
    return " ".join(parts)


def step_in_words(step: Input, names: Names) -> str:
    """Who sends what, or what happens."""
    if isinstance(step, Request):
        what = f"{step.api} v{step.api_version}"
        where = ", to a group without a name" if getattr(step.body, "group_id", None) == "" else ""
        return f"{_sender(step, names)} sends {what}{_details(step, names)}{where}"
    if isinstance(step, Advance):
        return f"{duration(step.ms)} pass"
    if isinstance(step, HoldAppends):
        return "appends to the log stay incomplete from here on"
    return "the appends held back complete"


def _sender(request: Request, names: Names) -> str:
    body = request.body
    if isinstance(body, JoinGroupRequest) and not body.member_id:
        return names.get(f"#{request.request_id}", "somebody")
    if isinstance(body, LeaveGroupRequest):
        return _who([m.member_id for m in body.members], names)
    member_id = getattr(body, "member_id", None)
    return "somebody" if not member_id else _who([member_id], names)


def _who(member_ids: list[str], names: Names) -> str:
    return ", ".join(names.get(m, f"nobody known ({m!r})") for m in member_ids) or "nobody"


def _details(request: Request, names: Names) -> str:
    body: RequestBody = request.body
    if isinstance(body, JoinGroupRequest):
        return _join_details(body)
    if isinstance(body, SyncGroupRequest):
        given = ", ".join(names.get(a.member_id, a.member_id) for a in body.assignments)
        assigning = f", with assignments for {given}" if given else ""
        return f" for generation {body.generation_id}{assigning}{_said_protocol(body)}"
    if isinstance(body, HeartbeatRequest):
        return f" for generation {body.generation_id}"
    if isinstance(body, OffsetCommitRequest):
        offsets = ", ".join(
            f"{t.name}/{p.partition_index} = {p.committed_offset}{_long(p.committed_metadata)}"
            for t in body.topics
            for p in t.partitions
        )
        generation = f" for generation {body.generation_id}" if body.generation_id >= 0 else ""
        return f"{generation}: {offsets or 'no partition'}"
    if isinstance(body, OffsetFetchRequest):
        stable = " (stable offsets required)" if body.require_stable else ""
        return f"{stable}: {_fetched(body)}"
    return ""


def _join_details(body: JoinGroupRequest) -> str:
    offered = ", ".join(f"{p.name} {p.metadata!r}" for p in body.protocols) or "no protocol"
    if body.member_id:
        return f" with its member id, offering {offered}"
    return (
        f" without a member id, offering {offered}"
        f" (session timeout {duration(body.session_timeout_ms)},"
        f" rebalance timeout {duration(body.rebalance_timeout_ms)})"
    )


def _said_protocol(body: SyncGroupRequest) -> str:
    if body.protocol_type in (None, "consumer") and body.protocol_name in (None, "range"):
        return ""
    return f", saying protocol {body.protocol_type}/{body.protocol_name}"


def _long(metadata: str | None) -> str:
    return f" with {len(metadata)} characters of metadata" if metadata else ""


def _fetched(body: OffsetFetchRequest) -> str:
    if body.topics is None:
        return "every partition"
    return ", ".join(f"{t.name}/{i}" for t in body.topics for i in t.partition_indexes)


def error_name(code: ErrorCode) -> str:
    """`UNKNOWN_MEMBER_ID (25)`, or "no error"."""
    return "no error" if code is ErrorCode.NONE else f"{code.name} ({int(code)})"


def answer_in_words(body: ResponseBody, names: Names) -> str:
    """An answer; `names` are the members' letters."""
    match body:
        case JoinGroupResponse():
            words = _join_answer(body, names)
        case SyncGroupResponse():
            words = _sync_answer(body)
        case LeaveGroupResponse():
            words = _leave_answer(body, names)
        case OffsetCommitResponse():
            words = _commit_answer(body)
        case OffsetFetchResponse():
            words = _fetch_answer(body)
        case DescribeGroupsResponse():
            words = _describe_answer(body, names)
        case _:
            words = error_name(body.error_code)
    return words


def _sync_answer(body: SyncGroupResponse) -> str:
    told = f", assignment {body.assignment!r}" if body.error_code == 0 else ""
    if body.protocol_type is not None or body.protocol_name is not None:
        told += f", protocol {body.protocol_type}/{body.protocol_name}"
    return error_name(body.error_code) + told


def _leave_answer(body: LeaveGroupResponse, names: Names) -> str:
    members = ", ".join(
        f"{names.get(m.member_id, m.member_id)}: {error_name(m.error_code)}" for m in body.members
    )
    return error_name(body.error_code) + (f" ({members})" if members else "")


def _commit_answer(body: OffsetCommitResponse) -> str:
    partitions = ", ".join(
        f"{t.name}/{p.partition_index}: {error_name(p.error_code)}"
        for t in body.topics
        for p in t.partitions
    )
    return partitions or "an empty answer"


def _join_answer(body: JoinGroupResponse, names: Names) -> str:
    parts = [error_name(body.error_code)]
    if body.generation_id >= 0:
        parts.append(f"generation {body.generation_id}")
    if body.member_id:
        parts.append(f"member id {names.get(body.member_id, body.member_id)}")
    if body.leader:
        parts.append(f"leader {names.get(body.leader, body.leader)}")
    if body.protocol_type or body.protocol_name:
        kind = f"{body.protocol_type}/" if body.protocol_type else ""
        parts.append(f"protocol {kind}{body.protocol_name}")
    if body.members:
        listed = (f"{names.get(m.member_id, m.member_id)} {m.metadata!r}" for m in body.members)
        parts.append(f"members {', '.join(listed)}")
    elif body.error_code == 0:
        parts.append("no member list")
    return ", ".join(parts)


def _fetch_answer(body: OffsetFetchResponse) -> str:
    found = [
        f"{topic.name}/{partition.partition_index}: {_fetched_offset(partition)}"
        for topic in body.topics
        for partition in topic.partitions
    ]
    return ", ".join([error_name(body.error_code), *found])


def _fetched_offset(partition: OffsetFetchResponsePartition) -> str:
    if partition.error_code:
        return error_name(partition.error_code)
    offset, epoch = partition.committed_offset, partition.committed_leader_epoch
    metadata = "null" if partition.metadata is None else repr(partition.metadata)
    what = "none" if offset == NO_OFFSET else str(offset)
    return f"{what} (leader epoch {epoch}, metadata {metadata})"


def _describe_answer(body: DescribeGroupsResponse, names: Names) -> str:
    return "; ".join(
        f"{error_name(g.error_code)}, {g.group_state or 'no state'},"
        f" protocol {g.protocol_type!r}/{g.protocol_data!r},"
        f" members: {', '.join(_described(m, names) for m in g.members) or 'none'}"
        for g in body.groups
    )


def _described(member: DescribedGroupMember, names: Names) -> str:
    return (
        f"{names.get(member.member_id, member.member_id)}"
        f" (client {member.client_id!r} at {member.client_host!r},"
        f" metadata {member.member_metadata!r}, assignment {member.member_assignment!r})"
    )
