"""Requests, faults and answers as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from string import ascii_uppercase
from typing import Any, Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.state import (
    Advance,
    Cleanup,
    Configure,
    Crash,
    FailAppends,
    HoldAppends,
    Load,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import plain
from groupcheck.model.vocabulary import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    NO_RETENTION,
    ErrorCode,
    Request,
    RequestBody,
    ResponseBody,
)
from groupcheck.reports.consumer_bytes import assignment_text, metadata_text
from groupcheck.reports.formatting import counted, duration, passing, value, word

Names = Mapping[str, str]

A_CLIENT: Final = "a client"  # one that names no member
LETTER: Final = re.compile("[A-Z][0-9]*")  # of a member


def member(member_id: str, names: Names) -> str:
    """The letter of a member, or its id in quotes."""
    return names.get(member_id) or value(member_id)


def letters(steps: tuple[Input, ...]) -> dict[str, str]:
    """A letter for each member, in the order of their first JoinGroup."""
    symbols = [
        f"#{step.request_id}"
        for step in steps
        if isinstance(step, Request)
        and isinstance(step.body, kafka.JoinGroupRequest)
        and not step.body.member_id
    ]
    return {symbol: _letter(number) for number, symbol in enumerate(symbols)}


def _letter(number: int) -> str:
    more, place = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(more) if more else "")


FAULTS: Final[dict[type, str]] = {
    HoldAppends: "appends to the log are held from here on",
    ReleaseAppends: "the held appends complete",
    Crash: "the coordinator crashes and restarts from the log",
    Unload: "the coordinator unloads the group's partition",
    Loading: "the coordinator starts to load the group's partition",
    Load: "the coordinator has loaded the group's partition",
    Shutdown: "the coordinator shuts down",
    Cleanup: "the coordinator removes expired offsets",
}


def step_text(step: Input, names: Names) -> str:
    """A request with its sender, the passing of time, or a fault."""
    if isinstance(step, Request):
        return f"{sender(step, names)} sends {request_text(step, names)}"
    if isinstance(step, Advance):
        return passing(step.ms)
    if isinstance(step, FailAppends):
        return f"the next {counted(step.number, 'append')} will fail with {error_name(step.error)}"
    if isinstance(step, Configure):
        return f"the broker that loads the partition next has group.max.size={step.max_size}"
    return FAULTS[type(step)]


def request_text(request: Request, names: Names) -> str:
    """A request without its sender."""
    what = f"{request.api} v{request.api_version}"
    where = ", to the empty group id" if getattr(request.body, "group_id", None) == "" else ""
    static = "".join(f", as static member {word(i)}" for i in _instances(request.body))
    return f"{what}{static}{_details(request, names)}{where}"


def _instances(body: RequestBody) -> list[str]:
    """Each group.instance.id that a request names."""
    entries = (body, *getattr(body, "members", ()))
    named = (getattr(entry, "group_instance_id", None) for entry in entries)
    return list(dict.fromkeys(name for name in named if name is not None))


def sender(request: Request, names: Names) -> str:
    """The sender: the letters of members, unknown members, or a client."""
    body = request.body
    if isinstance(body, kafka.JoinGroupRequest) and not body.member_id:
        return names.get(f"#{request.request_id}", A_CLIENT)
    if isinstance(body, kafka.LeaveGroupRequest):
        return _members([m.member_id for m in body.members], names)
    member_id = getattr(body, "member_id", None)
    return _members([member_id] if member_id else [], names)


def _members(member_ids: list[str], names: Names) -> str:
    return ", ".join(names.get(m, f"unknown member {value(m)}") for m in member_ids) or A_CLIENT


def _details(request: Request, names: Names) -> str:
    body: RequestBody = request.body
    match body:
        case kafka.JoinGroupRequest():
            words = _join_details(body)
        case kafka.SyncGroupRequest():
            given = ", ".join(_given(each, names) for each in body.assignments)
            assigning = f", with assignments for {given}" if given else ""
            words = f" for generation {body.generation_id}{assigning}{_said_protocol(body)}"
        case kafka.HeartbeatRequest():
            words = f" for generation {body.generation_id}"
        case kafka.OffsetCommitRequest():
            words = _committed(body)
        case kafka.TxnOffsetCommitRequest():
            words = f" in a transaction of producer {body.producer_id}{_committed(body)}"
        case kafka.EndTxnRequest():
            words = f": {'commit' if body.committed else 'abort'} of producer {body.producer_id}"
        case kafka.OffsetFetchRequest():
            stable = " (stable offsets required)" if body.require_stable else ""
            words = f"{stable}: {_fetched(body)}"
        case kafka.ListGroupsRequest():
            words = _filters(body)
        case kafka.OffsetDeleteRequest():
            words = f": {_partitions(body.topics) or 'no partition'}"
        case _:
            words = ""
    return words


def _partitions(topics: Iterable[Any], text: Callable[[Any], str] = lambda _partition: "") -> str:
    """The partitions of topics, each followed by its text."""
    return _by_topic(
        (topic.name, [f"{each.partition_index}{text(each)}" for each in topic.partitions])
        for topic in topics
    )


def _by_topic(topics: Iterable[tuple[str, list[str]]]) -> str:
    """`topic/0, topic/1, other without partitions`."""
    return ", ".join(
        f"{word(name)}{each}"
        for name, partitions in topics
        for each in [f"/{p}" for p in partitions] or [" without partitions"]
    )


def _with_error(partition: Any) -> str:  # noqa: ANN401 - of any response
    return f": {error_name(partition.error_code)}"


def offsets_text(topics: Iterable[Any]) -> str:
    """The committed offsets of topics."""
    return _partitions(topics, lambda p: f" = {p.committed_offset}{_with(p)}")


def _committed(body: kafka.OffsetCommitRequest | kafka.TxnOffsetCommitRequest) -> str:
    offsets = offsets_text(body.topics)
    generation = f" for generation {body.generation_id}" if body.generation_id >= 0 else ""
    return f"{generation}: {offsets or 'no partition'}{_retained(body)}"


def _retained(body: kafka.OffsetCommitRequest | kafka.TxnOffsetCommitRequest) -> str:
    said_ms: int = getattr(body, "retention_time_ms", NO_RETENTION)
    return "" if said_ms == NO_RETENTION else f", retained for {duration(said_ms)}"


def _given(given: kafka.Assignment, names: Names) -> str:
    """A member, and its partitions if the bytes of its assignment say them."""
    shown = assignment_text(given.assignment)
    return member(given.member_id, names) + (f" {shown}" if shown.startswith("(") else "")


def _filters(body: kafka.ListGroupsRequest) -> str:
    asked = (("in state", body.states_filter), ("of type", body.types_filter))
    return "".join(f" {what} {' or '.join(map(word, each))}" for what, each in asked if each)


def _join_details(body: kafka.JoinGroupRequest) -> str:
    offered = ", ".join(f"{word(p.name)} {metadata_text(p.metadata)}" for p in body.protocols)
    kind = f" of type {word(body.protocol_type)}" if body.protocol_type != "consumer" else ""
    timeouts = [f"session timeout {duration(body.session_timeout_ms)}"]
    if body.rebalance_timeout_ms != -1:
        timeouts.append(f"rebalance timeout {duration(body.rebalance_timeout_ms)}")
    return (
        f" {with_member_id(body)}, offering {offered or 'no protocol'}{kind}"
        f" ({', '.join(timeouts)})"
    )


def with_member_id(body: kafka.JoinGroupRequest) -> str:
    """Whether a JoinGroup names a member."""
    return "with its member id" if body.member_id else "without a member id"


def _said_protocol(body: kafka.SyncGroupRequest) -> str:
    if body.protocol_type in (None, "consumer") and body.protocol_name in (None, "range"):
        return ""
    return f", with protocol {word(body.protocol_type)}/{word(body.protocol_name)}"


def _with(
    partition: kafka.OffsetCommitRequestPartition | kafka.TxnOffsetCommitRequestPartition,
) -> str:
    metadata, epoch = partition.committed_metadata, partition.committed_leader_epoch
    parts = [f"leader epoch {epoch}"] if epoch != NO_LEADER_EPOCH else []
    if metadata is None:
        parts.append("null metadata")
    elif metadata:
        parts.append(f"{counted(len(metadata), 'character')} of metadata")
    return (f" with {' and '.join(parts)}" if parts else "") + _said_age(partition)


def _said_age(
    partition: kafka.OffsetCommitRequestPartition | kafka.TxnOffsetCommitRequestPartition,
) -> str:
    """When the request says that the offset was committed, if it says so."""
    age_ms: int = getattr(partition, "commit_age_ms", 0)
    when = "before" if age_ms > 0 else "after"
    return f", dated {duration(abs(age_ms))} {when} the request" if age_ms else ""


def _fetched(body: kafka.OffsetFetchRequest) -> str:
    if body.topics is None:
        return "every partition"
    asked = _by_topic((topic.name, [*map(str, topic.partition_indexes)]) for topic in body.topics)
    return asked or "no partition"


def error_name(code: ErrorCode) -> str:
    """`UNKNOWN_MEMBER_ID (25)`, or "no error"."""
    return "no error" if code is ErrorCode.NONE else f"{code.name} ({int(code)})"


def answer_text(body: ResponseBody, names: Names) -> str:
    """An answer; `names` are the members' letters."""
    body = plain(body)
    match body:
        case kafka.JoinGroupResponse():
            words = _join_answer(body, names)
        case kafka.SyncGroupResponse():
            words = _sync_answer(body)
        case kafka.LeaveGroupResponse():
            words = _leave_answer(body, names)
        case kafka.OffsetCommitResponse() | kafka.TxnOffsetCommitResponse():
            words = _partitions(body.topics, _with_error) or "an empty answer"
        case kafka.OffsetFetchResponse():
            words = _listed(error_name(body.error_code), _partitions(body.topics, _fetched_offset))
        case kafka.OffsetDeleteResponse():
            words = _listed(error_name(body.error_code), _partitions(body.topics, _with_error))
        case kafka.DescribeGroupsResponse():
            words = _describe_answer(body, names)
        case kafka.ListGroupsResponse():
            groups = ", ".join(map(_listed_group, body.groups)) or "none"
            words = f"{error_name(body.error_code)}, groups: {groups}"
        case kafka.DeleteGroupsResponse():
            results = (f"{word(each.group_id)}{_with_error(each)}" for each in body.results)
            words = ", ".join(results) or "an empty answer"
        case _:
            words = error_name(body.error_code)
    return words


def _listed(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _listed_group(group: kafka.ListedGroup) -> str:
    state = f" in {word(group.group_state)}" if group.group_state else ""
    return f"{word(group.group_id)} of type {value(group.protocol_type)}{state}"


def _sync_answer(body: kafka.SyncGroupResponse) -> str:
    fields = f", assignment {assignment_text(body.assignment)}" if body.error_code == 0 else ""
    if body.protocol_type is not None or body.protocol_name is not None:
        fields += f", protocol {word(body.protocol_type)}/{word(body.protocol_name)}"
    return error_name(body.error_code) + fields


def _leave_answer(body: kafka.LeaveGroupResponse, names: Names) -> str:
    members = ", ".join(
        f"{member(m.member_id, names)}: {error_name(m.error_code)}" for m in body.members
    )
    return error_name(body.error_code) + (f" ({members})" if members else "")


def _join_answer(body: kafka.JoinGroupResponse, names: Names) -> str:
    parts = [error_name(body.error_code)]
    if body.generation_id >= 0:
        parts.append(f"generation {body.generation_id}")
    if body.member_id:
        parts.append(f"member id {member(body.member_id, names)}")
    if body.leader:
        parts.append(f"leader {member(body.leader, names)}")
    if body.protocol_type or body.protocol_name:
        kind = f"{word(body.protocol_type)}/" if body.protocol_type else ""
        parts.append(f"protocol {kind}{word(body.protocol_name)}")
    if body.members:
        listed = (f"{member(m.member_id, names)} {metadata_text(m.metadata)}" for m in body.members)
        parts.append(f"members {', '.join(listed)}")
    elif body.error_code == 0:
        parts.append("no member list")
    if body.skip_assignment:
        parts.append("skip assignment")
    return ", ".join(parts)


def _fetched_offset(partition: kafka.OffsetFetchResponsePartition) -> str:
    error = _with_error(partition) if partition.error_code else ""
    index, offset, epoch, metadata, code = partition
    if error and partition == kafka.OffsetFetchResponsePartition(index, error_code=code):
        return error
    what = "none" if offset == NO_OFFSET else str(offset)
    return f"{error}: {what} (leader epoch {epoch}, metadata {value(metadata)})"


def _describe_answer(body: kafka.DescribeGroupsResponse, names: Names) -> str:
    return "; ".join(
        f"{error_name(g.error_code)}, {word(g.group_state) if g.group_state else 'no state'},"
        f" protocol {value(g.protocol_type)}/{value(g.protocol_data)},"
        f" members: {', '.join(_described(m, names) for m in g.members) or 'none'}"
        for g in body.groups
    )


def _described(described: kafka.DescribedGroupMember, names: Names) -> str:
    return (
        f"{member(described.member_id, names)}"
        f" (client {value(described.client_id)} at {value(described.client_host)},"
        f" metadata {metadata_text(described.member_metadata)},"
        f" assignment {assignment_text(described.member_assignment)})"
    )
