"""Sequences: the same to every port, and the same after the way to a file and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.model.explorer import explore
from groupcheck.model.graph import StateGraph
from groupcheck.model.instance import GROUP_ID, virtual_spaces
from groupcheck.model.path import realise
from groupcheck.model.profiles import PROFILES
from groupcheck.model.state import Advance, HoldAppends, ReleaseAppends
from groupcheck.model.vocabulary import (
    Assignment,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    Protocol,
    Request,
    SyncGroupRequest,
)
from groupcheck.properties.sequence import (
    MalformedTraceError,
    Sequence,
    dump,
    load,
    parse,
    well_formed,
)

JOIN = JoinGroupRequest(GROUP_ID, 10_000, 20_000, protocols=(Protocol("range", b"\0\xff"),))
SEQUENCE = Sequence(
    "2.7",
    {"group.initial.rebalance.delay.ms": 0},
    (
        Request(4, 3, JOIN),
        HoldAppends(),
        Request(
            9,
            5,
            SyncGroupRequest(
                GROUP_ID, 1, "#4", None, "consumer", "range", (Assignment("#4", b"a"),)
            ),
        ),
        ReleaseAppends(),
        Advance(10_000),
        Request(12, 1, LeaveGroupRequest(GROUP_ID, (MemberIdentity("#4"),))),
    ),
)
HEARTBEAT = '{"type":"request","id":1,"api":"Heartbeat","apiVersion":4,"body":%s}'
HEADER = '{"type":"open","trace":1,"profile":"2.7","config":{}}'


def test_a_sequence_survives_the_way_to_a_file_and_back(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(dump(SEQUENCE), encoding="utf-8")
    assert load(path) == SEQUENCE


def test_every_path_of_a_space_survives_the_way_to_json_lines_and_back() -> None:
    space = explore(virtual_spaces(PROFILES["2.7"], 2)["storing"])
    graph = StateGraph(space)
    for node in range(0, len(space.nodes), 25):
        _, steps = realise(space, graph.path(node))
        sequence = Sequence("2.7", space.instance.broker, steps)
        assert parse(dump(sequence).splitlines(), "trace") == sequence


def test_renumbering_counts_requests_from_one_and_takes_member_ids_along() -> None:
    join, _, sync, _, _, leave = SEQUENCE.renumbered().steps
    assert isinstance(join, Request)
    assert isinstance(sync, Request)
    assert isinstance(leave, Request)
    assert (join.request_id, sync.request_id, leave.request_id) == (1, 2, 3)
    assert isinstance(sync.body, SyncGroupRequest)
    assert sync.body.member_id == "#1"
    assert sync.body.assignments[0].member_id == "#1"
    assert leave.body == LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1"),))


def test_a_member_id_is_known_only_after_the_join_group_that_told_it() -> None:
    heartbeat = Request(2, 4, HeartbeatRequest(GROUP_ID, 1, "#1"))
    assert well_formed([Request(1, 3, JOIN), heartbeat])
    assert not well_formed([heartbeat, Request(1, 3, JOIN)])
    assert well_formed([Request(2, 4, HeartbeatRequest(GROUP_ID, 1, "nobody"))])


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "empty, not a trace"),
        (["what"], "t:1: not a JSON object"),
        (["[1]"], "t:1: not the first line of a trace of format 1"),
        (['{"trace":1,"profile":"9.9","config":{}}'], "t:1: unknown profile '9.9'"),
        (['{"trace":1,"profile":"2.7","config":{"x":1}}'], "t:1: config must map broker settings"),
        ([HEADER, "[]"], "t:2: not a JSON object"),
        ([HEADER, '{"type":"advance","ms":-1}'], "t:2: not a step that this version can replay"),
        ([HEADER, '{"type":"fault","fault":"crash"}'], "t:2: not a step"),
        (
            [HEADER, '{"type":"request","id":1,"api":"Heartbeat","apiVersion":4,"body":{}}'],
            "t:2: Heartbeat: expected a field 'groupId'",
        ),
        (
            [HEADER, HEARTBEAT % '{"groupId":"other","generationId":1,"memberId":"m"}'],
            "t:2: a trace is about the one group 'group', not 'other'",
        ),
        (
            [
                HEADER,
                HEARTBEAT
                % '{"groupId":"group","generationId":1,"memberId":"m","groupInstanceId":"i"}',
            ],
            "t:2: static members",
        ),
        (
            [HEADER, HEARTBEAT % '{"groupId":"group","generationId":1,"memberId":"#7"}'],
            "t: a step uses the member id of a JoinGroup that is not before it",
        ),
    ],
)
def test_what_is_not_a_trace_is_refused_with_the_line(lines: list[str], complaint: str) -> None:
    with pytest.raises(MalformedTraceError, match=complaint):
        parse(lines, "t")


def test_a_binary_file_is_refused_as_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MalformedTraceError, match="not a text file in UTF-8"):
        load(path)
