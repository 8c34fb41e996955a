"""Formats requests, answers and durations as text.

Text of a port may be anything: control characters are escaped, and long text is cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Final

from groupcheck.model.state import (
    Advance,
    Cleanup,
    Crash,
    FailAppends,
    HoldAppends,
    Load,
    Loading,
    ReleaseAppends,
    Shutdown,
    Unload,
)
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    NO_RETENTION,
    DeleteGroupsResponse,
    DescribedGroupMember,
    DescribeGroupsResponse,
    EndTxnRequest,
    ErrorCode,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    Request,
    RequestBody,
    ResponseBody,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
)

Names = Mapping[str, str]

A_CLIENT: Final = "a client"  # one that names no member

MOST_OF_A_VALUE: Final = 200
MOST_OF_A_LINE: Final = 2_000

# Names that need no quotes.
PLAIN: Final = re.compile(r"(?!null$)[A-Za-z0-9._-]{1,80}")


def bounded(line: str) -> str:
    """A line of at most 2,000 characters, control characters and lone surrogates escaped."""
    shown = line[:MOST_OF_A_LINE]
    cut = len(line) - len(shown)
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)
    return f"{shown} ... ({counted(cut, 'more character')})" if cut else shown


def counted(number: int, what: str, several: str = "") -> str:
    """`1 edge`, `2,039 edges`."""
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def percent(part: int, whole: int) -> str:
    """A share, never rounded up to 100 %."""
    share = 100 * part / whole if whole else 100.0
    return "100 %" if part == whole else f"{min(share, 99.9):.1f} %"


def value(said: str | bytes | None) -> str:
    """A value in quotes, or `null`."""
    if said is None:
        return "null"
    cut = len(said) - MOST_OF_A_VALUE
    unit = "more byte" if isinstance(said, bytes) else "more character"
    more = f"... ({counted(cut, unit)})" if cut > 0 else ""
    return repr(said[:MOST_OF_A_VALUE]) + more


def word(said: str | None) -> str:
    """A name, in quotes where it has other characters than a plain name."""
    return said if said is not None and PLAIN.fullmatch(said) else value(said)


def member(member_id: str, names: Names) -> str:
    """The letter of a member, or its id in quotes."""
    return names.get(member_id) or value(member_id)


def letters(steps: tuple[Input, ...]) -> dict[str, str]:
    """A letter for each member, in the order of their first JoinGroup."""
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
    if ms < 0:
        return f"-{duration(-ms)}"
    minutes, rest = divmod(ms, 60_000)
    parts = [f"{minutes} min"] if minutes else []
    if 0 < rest < 1_000:
        parts.append(f"{rest} ms")
    elif rest or not parts:
        parts.append(f"{rest / 1000:g} s")
    return " ".join(parts)


def passing(ms: int) -> str:
    """`1 ms passes`, `1 min 30 s pass`."""
    words = duration(ms)
    return f"{words} {'passes' if re.fullmatch('1 [a-z]+', words) else 'pass'}"


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


def step_in_words(step: Input, names: Names) -> str:
    """A request with its sender, the passing of time, or a fault."""
    if isinstance(step, Request):
        return f"{sender(step, names)} sends {request_in_words(step, names)}"
    if isinstance(step, Advance):
        return passing(step.ms)
    if isinstance(step, FailAppends):
        return f"the next {counted(step.number, 'append')} will fail with {error_name(step.error)}"
    return FAULTS[type(step)]


def request_in_words(request: Request, names: Names) -> str:
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
    if isinstance(body, JoinGroupRequest) and not body.member_id:
        return names.get(f"#{request.request_id}", A_CLIENT)
    if isinstance(body, LeaveGroupRequest):
        return _members([m.member_id for m in body.members], names)
    member_id = getattr(body, "member_id", None)
    return _members([member_id] if member_id else [], names)


def _members(member_ids: list[str], names: Names) -> str:
    return ", ".join(names.get(m, f"unknown member {value(m)}") for m in member_ids) or A_CLIENT


def _details(request: Request, names: Names) -> str:
    body: RequestBody = request.body
    if isinstance(body, JoinGroupRequest):
        return _join_details(body)
    if isinstance(body, SyncGroupRequest):
        given = ", ".join(member(a.member_id, names) for a in body.assignments)
        assigning = f", with assignments for {given}" if given else ""
        return f" for generation {body.generation_id}{assigning}{_said_protocol(body)}"
    if isinstance(body, HeartbeatRequest):
        return f" for generation {body.generation_id}"
    if isinstance(body, OffsetCommitRequest):
        return _committed(body)
    if isinstance(body, OffsetFetchRequest):
        stable = " (stable offsets required)" if body.require_stable else ""
        return f"{stable}: {_fetched(body)}"
    return _offset_details(body)


def _committed(body: OffsetCommitRequest | TxnOffsetCommitRequest) -> str:
    offsets = ", ".join(
        f"{word(t.name)}/{p.partition_index} = {p.committed_offset}{_with(p)}"
        for t in body.topics
        for p in t.partitions
    )
    generation = f" for generation {body.generation_id}" if body.generation_id >= 0 else ""
    return f"{generation}: {offsets or 'no partition'}{_retained(body)}"


def _retained(body: OffsetCommitRequest | TxnOffsetCommitRequest) -> str:
    said_ms: int = getattr(body, "retention_time_ms", NO_RETENTION)
    return "" if said_ms == NO_RETENTION else f", retained for {duration(said_ms)}"


def _offset_details(body: RequestBody) -> str:
    if isinstance(body, TxnOffsetCommitRequest):
        return f" in a transaction of producer {body.producer_id}{_committed(body)}"
    if isinstance(body, EndTxnRequest):
        return f": {'commit' if body.committed else 'abort'} of producer {body.producer_id}"
    if isinstance(body, ListGroupsRequest):
        return _filters(body)
    if isinstance(body, OffsetDeleteRequest):
        named = [f"{word(t.name)}/{p.partition_index}" for t in body.topics for p in t.partitions]
        return f": {', '.join(named) or 'no partition'}"
    return ""


def _filters(body: ListGroupsRequest) -> str:
    asked = (("in state", body.states_filter), ("of type", body.types_filter))
    return "".join(f" {what} {' or '.join(map(word, each))}" for what, each in asked if each)


def _join_details(body: JoinGroupRequest) -> str:
    offered = ", ".join(f"{word(p.name)} {value(p.metadata)}" for p in body.protocols)
    kind = f" of type {word(body.protocol_type)}" if body.protocol_type != "consumer" else ""
    timeouts = [f"session timeout {duration(body.session_timeout_ms)}"]
    if body.rebalance_timeout_ms != -1:
        timeouts.append(f"rebalance timeout {duration(body.rebalance_timeout_ms)}")
    return (
        f" {with_member_id(body)}, offering {offered or 'no protocol'}{kind}"
        f" ({', '.join(timeouts)})"
    )


def with_member_id(body: JoinGroupRequest) -> str:
    """Whether a JoinGroup names a member."""
    return "with its member id" if body.member_id else "without a member id"


def _said_protocol(body: SyncGroupRequest) -> str:
    if body.protocol_type in (None, "consumer") and body.protocol_name in (None, "range"):
        return ""
    return f", with protocol {word(body.protocol_type)}/{word(body.protocol_name)}"


def _with(partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition) -> str:
    metadata, epoch = partition.committed_metadata, partition.committed_leader_epoch
    said = [f"leader epoch {epoch}"] if epoch != NO_LEADER_EPOCH else []
    if metadata is None:
        said.append("null metadata")
    elif metadata:
        said.append(f"{counted(len(metadata), 'character')} of metadata")
    return f" with {' and '.join(said)}" if said else ""


def _fetched(body: OffsetFetchRequest) -> str:
    if body.topics is None:
        return "every partition"
    asked = [f"{word(t.name)}/{i}" for t in body.topics for i in t.partition_indexes]
    return ", ".join(asked) or "no partition"


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
        case OffsetCommitResponse() | TxnOffsetCommitResponse():
            words = _commit_answer(body)
        case OffsetFetchResponse():
            words = _fetch_answer(body)
        case DescribeGroupsResponse():
            words = _describe_answer(body, names)
        case ListGroupsResponse() | DeleteGroupsResponse() | OffsetDeleteResponse():
            words = _administration_answer(body)
        case _:
            words = error_name(body.error_code)
    return words


def _administration_answer(
    body: ListGroupsResponse | DeleteGroupsResponse | OffsetDeleteResponse,
) -> str:
    if isinstance(body, DeleteGroupsResponse):
        results = [f"{word(r.group_id)}: {error_name(r.error_code)}" for r in body.results]
        return ", ".join(results) or "an empty answer"
    if isinstance(body, ListGroupsResponse):
        found = [
            f"{word(g.group_id)} of type {value(g.protocol_type)}"
            + (f" in {word(g.group_state)}" if g.group_state else "")
            for g in body.groups
        ]
        return f"{error_name(body.error_code)}, groups: {', '.join(found) or 'none'}"
    found = [
        f"{word(t.name)}/{p.partition_index}: {error_name(p.error_code)}"
        for t in body.topics
        for p in t.partitions
    ]
    return ", ".join([error_name(body.error_code), *found])


def _sync_answer(body: SyncGroupResponse) -> str:
    fields = f", assignment {value(body.assignment)}" if body.error_code == 0 else ""
    if body.protocol_type is not None or body.protocol_name is not None:
        fields += f", protocol {word(body.protocol_type)}/{word(body.protocol_name)}"
    return error_name(body.error_code) + fields


def _leave_answer(body: LeaveGroupResponse, names: Names) -> str:
    members = ", ".join(
        f"{member(m.member_id, names)}: {error_name(m.error_code)}" for m in body.members
    )
    return error_name(body.error_code) + (f" ({members})" if members else "")


def _commit_answer(body: OffsetCommitResponse | TxnOffsetCommitResponse) -> str:
    partitions = ", ".join(
        f"{word(t.name)}/{p.partition_index}: {error_name(p.error_code)}"
        for t in body.topics
        for p in t.partitions
    )
    return partitions or "an empty answer"


def _join_answer(body: JoinGroupResponse, names: Names) -> str:
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
        listed = (f"{member(m.member_id, names)} {value(m.metadata)}" for m in body.members)
        parts.append(f"members {', '.join(listed)}")
    elif body.error_code == 0:
        parts.append("no member list")
    if body.skip_assignment:
        parts.append("skip assignment")
    return ", ".join(parts)


def _fetch_answer(body: OffsetFetchResponse) -> str:
    found = [
        f"{word(topic.name)}/{partition.partition_index}: {_fetched_offset(partition)}"
        for topic in body.topics
        for partition in topic.partitions
    ]
    return ", ".join([error_name(body.error_code), *found])


def _fetched_offset(partition: OffsetFetchResponsePartition) -> str:
    if partition.error_code:
        return error_name(partition.error_code)
    offset, epoch = partition.committed_offset, partition.committed_leader_epoch
    what = "none" if offset == NO_OFFSET else str(offset)
    return f"{what} (leader epoch {epoch}, metadata {value(partition.metadata)})"


def _describe_answer(body: DescribeGroupsResponse, names: Names) -> str:
    return "; ".join(
        f"{error_name(g.error_code)}, {word(g.group_state) if g.group_state else 'no state'},"
        f" protocol {value(g.protocol_type)}/{value(g.protocol_data)},"
        f" members: {', '.join(_described(m, names) for m in g.members) or 'none'}"
        for g in body.groups
    )


def _described(described: DescribedGroupMember, names: Names) -> str:
    return (
        f"{member(described.member_id, names)}"
        f" (client {value(described.client_id)} at {value(described.client_host)},"
        f" metadata {value(described.member_metadata)},"
        f" assignment {value(described.member_assignment)})"
    )
