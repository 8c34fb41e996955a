"""Sequences: the same for every port, and unchanged after a round trip through a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.instances.instance import virtual_time_instances
from groupcheck.model.classic.profiles import PROFILES
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
from groupcheck.model.engine.graph import StateGraph
from groupcheck.model.engine.trace import inputs_to
from groupcheck.model.vocabulary import Assignment, ErrorCode, MemberIdentity, Protocol, Request
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import (
    MalformedTraceError,
    Sequence,
    dump,
    load,
    parse,
    well_formed,
)
from support.scenario import Broker
from support.spaces import explored_once

JOIN = kafka.JoinGroupRequest(GROUP_ID, 10_000, 20_000, protocols=(Protocol("range", b"\0\xff"),))
SEQUENCE = Sequence(
    "2.7",
    {"group.initial.rebalance.delay.ms": 0},
    (
        Request(4, 3, JOIN),
        HoldAppends(),
        Request(
            9,
            5,
            kafka.SyncGroupRequest(
                GROUP_ID, 1, "#4", None, "consumer", "range", (Assignment("#4", b"a"),)
            ),
        ),
        ReleaseAppends(),
        FailAppends(2, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        Crash(),
        Unload(),
        Loading(),
        Configure(1),
        Load(),
        Cleanup(),
        Shutdown(),
        Advance(10_000),
        Request(12, 1, kafka.LeaveGroupRequest(GROUP_ID, (MemberIdentity("#4"),))),
    ),
)


def test_sequence_is_unchanged_after_saving_and_loading(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(dump(SEQUENCE), encoding="utf-8")
    assert load(path) == SEQUENCE


def test_no_trace_of_a_version_without_a_maximum_size_changes_it() -> None:
    steps = (Unload(), Configure(1), Load())
    assert parse(dump(Sequence("2.7", {}, steps)), "trace").steps == steps
    with pytest.raises(MalformedTraceError, match="not a step that this version can replay"):
        parse(dump(Sequence("0.10.2", {}, steps)), "trace")


def test_every_path_of_an_instance_is_unchanged_after_saving_and_loading() -> None:
    space = explored_once(virtual_time_instances(PROFILES["2.7"], 2)["storing"])
    graph = StateGraph(space)
    for node in range(0, len(space.nodes), 25):
        _, steps = inputs_to(space, graph.path(node))
        sequence = Sequence("2.7", space.instance.broker, steps)
        assert parse(dump(sequence), "trace") == sequence


def test_renumbering_counts_requests_from_one_and_renames_member_ids() -> None:
    join, sync, leave = (s for s in SEQUENCE.renumbered().steps if isinstance(s, Request))
    assert (join.request_id, sync.request_id, leave.request_id) == (1, 2, 3)
    assert isinstance(sync.body, kafka.SyncGroupRequest)
    assert sync.body.member_id == "#1"
    assert sync.body.assignments[0].member_id == "#1"
    assert leave.body == kafka.LeaveGroupRequest(GROUP_ID, (MemberIdentity("#1"),))


def test_member_id_is_known_only_after_the_join_group_that_revealed_it() -> None:
    heartbeat = Request(2, 4, kafka.HeartbeatRequest(GROUP_ID, 1, "#1"))
    assert well_formed([Request(1, 3, JOIN), heartbeat])
    assert not well_formed([heartbeat, Request(1, 3, JOIN)])
    assert well_formed([Request(2, 4, kafka.HeartbeatRequest(GROUP_ID, 1, "nobody"))])


def _request(api: str, version: object, body: str, number: str = "1") -> str:
    return f'{{"type":"request","id":{number},"api":"{api}","apiVersion":{version},"body":{body}}}'


def _heartbeat(generation: object, member_id: str = '"nobody"') -> str:
    return f'{{"groupId":"group","generationId":{generation},"memberId":{member_id}}}'


def _join(protocols: str = "[]", group: str = "group", timeout: str = "10000") -> str:
    return (
        f'{{"groupId":"{group}","sessionTimeoutMs":{timeout},"rebalanceTimeoutMs":1,"memberId":"",'
        f'"protocolType":"consumer","protocols":{protocols}}}'
    )


def _header(profile: str = '"2.7"', config: str = "{}", trace: str = "1") -> str:
    return f'{{"type":"open","trace":{trace},"profile":{profile},"config":{config}}}'


HEADER = _header()
RANGE = '{"name":"range","metadata":""}'
OFFSET = '{"partitionIndex":%s,"committedOffset":%s,"committedLeaderEpoch":%s}'
COMMIT = '{"groupId":"group","topics":[{"name":"t","partitions":[%s]}]}'


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "t: empty, not a trace"),
        (["what"], "t:1: not a JSON object"),
        (["[1]"], "t:1: not a JSON object"),
        (["{}"], "t:1: not the first line of a trace of format 1"),
        ([_header(trace="true")], "t:1: not the first line of a trace of format 1"),
        (
            [_header('"9.9"')],
            r"t:1: unknown profile '9.9' \(known: 0.10.0, 0.10.2, 2.4, 2.5, .*4.1\)",
        ),
        ([_header("[]")], r"t:1: unknown profile \[\]"),
        ([_header(config="[]")], "t:1: config must map broker settings"),
        ([_header(config='{"x":1}')], "t:1: config must map broker settings"),
        ([_header(config='{"timer.late.ms":1}')], "t:1: config must map broker settings"),
        ([_header(config='{"new.member.join.timeout.ms":1}')], "t:1: config must map broker"),
        *(
            ([_header(config=f'{{"offset.metadata.max.bytes":{value}}}')], complaint)
            for value, complaint in (
                ("1.0", "t:1: config: offset.metadata.max.bytes: expected an integer, got 1.0"),
                ("true", "expected an integer, got True"),
                ("null", "expected an integer, got None"),
                ('"1"', "expected an integer, got '1'"),
                ("-1", "expected at least 0, got -1"),
                (str(2**31), "expected an integer of 32 bits"),
            )
        ),
        ([HEADER, "", ""], "t:2: not a JSON object"),
        ([HEADER, "[]"], "t:2: not a JSON object"),
        ([HEADER, "[" * 100_000], "t:2: nested too deep"),
        ([HEADER, '{"type":"advance","ms":' + "9" * 5_000 + "}"], "t:2: a number of 5000 digits"),
        ([HEADER, '{"type":"advance","ms":-1}'], "t:2: ms: expected at least 0, got -1"),
        ([HEADER, '{"type":"advance","ms":true}'], "t:2: ms: expected an integer, got True"),
        ([HEADER, '{"type":"advance","ms":2147483648}'], "t:2: ms: expected an integer of 32 bits"),
        ([HEADER, '{"type":"fault","fault":"explode"}'], "t:2: not a step"),
        ([HEADER, '{"type":"fault","fault":[]}'], "t:2: not a step"),
        ([HEADER, _request("FindCoordinator", 0, "{}")], "t:2: not a step"),
        ([HEADER, _request("Heartbeat", 4, "{}")], "t:2: Heartbeat: expected a field 'groupId'"),
        (
            [HEADER, _request("Heartbeat", 5, _heartbeat(1))],
            "t:2: Heartbeat has versions 0 to 4 in profile 2.7, not 5",
        ),
        (
            [_header('"0.10.2"'), _request("Heartbeat", 1, _heartbeat(1))],
            "t:2: Heartbeat has versions 0 to 0 in profile 0.10.2, not 1",
        ),
        ([HEADER, _request("Heartbeat", "true", _heartbeat(1))], "apiVersion: expected an integer"),
        (
            [HEADER, _request("OffsetCommit", 0, '{"groupId":"group"}')],
            "t:2: OffsetCommit has versions 1 to 8",
        ),
        (
            [_header('"4.1"'), _request("OffsetCommit", 1, '{"groupId":"group"}')],
            "t:2: OffsetCommit has versions 2 to 9 in profile 4.1, not 1",
        ),
        (
            [HEADER, _request("OffsetFetch", 0, '{"groupId":"group","topics":[]}')],
            "t:2: OffsetFetch has versions 1 to 7",
        ),
        (
            [HEADER, _request("OffsetFetch", 1, '{"groupId":"group","topics":null}')],
            "t:2: OffsetFetch.topics: it may be null only from version 2 on",
        ),
        ([HEADER, _request("Heartbeat", 4, _heartbeat(1), "true")], "t:2: id: expected an integer"),
        ([HEADER, _request("Heartbeat", 4, _heartbeat(1), "-1")], "t:2: id: expected at least 0"),
        (
            [HEADER, *[_request("Heartbeat", 4, _heartbeat(1))] * 2],
            "t:3: a second request with the id 1",
        ),
        (
            [HEADER, _request("Heartbeat", 4, _heartbeat(2**31))],
            "t:2: Heartbeat.generationId: expected an integer of 32 bits, got 2147483648",
        ),
        ([HEADER, _request("Heartbeat", 4, _heartbeat("false"))], "expected an integer, got False"),
        (
            [HEADER, _request("Heartbeat", 4, _heartbeat(1, r'"\ud800"'))],
            r"Heartbeat.memberId: expected a string that can be encoded in UTF-8, got '\\ud800'",
        ),
        (
            [HEADER, _request("Heartbeat", 4, _heartbeat(1, f'"{"m" * 2**15}"'))],
            "t:2: Heartbeat.memberId: expected at most 32767 bytes, got 'mmm",
        ),
        (
            [HEADER, _request("JoinGroup", 3, _join(timeout=str(-(2**31) - 1)))],
            "t:2: JoinGroup.sessionTimeoutMs: expected an integer of 32 bits",
        ),
        (
            [HEADER, _request("JoinGroup", 3, _join(f"[{RANGE},{RANGE}]"))],
            "t:2: a JoinGroup that names a protocol twice",
        ),
        (
            [HEADER, _request("JoinGroup", 3, _join('[{"name":"","metadata":""}]'))],
            "t:2: a JoinGroup that names a protocol twice, or '', is not part",
        ),
        (
            [HEADER, _request("OffsetCommit", 8, COMMIT % (OFFSET % (2**31, 1, 1)))],
            "partitionIndex: expected an integer of 32 bits",
        ),
        (
            [HEADER, _request("OffsetCommit", 8, COMMIT % (OFFSET % (1, 2**63, 1)))],
            "committedOffset: expected an integer of 64 bits",
        ),
        (
            [HEADER, _request("OffsetCommit", 8, COMMIT % (OFFSET % (1, 1, 2**31)))],
            "committedLeaderEpoch: expected an integer of 32 bits",
        ),
        (
            [HEADER, _request("JoinGroup", 3, _join(group="other"))],
            "t:2: a trace is about the one group 'group', not 'other'",
        ),
        *(
            (
                [HEADER, _request(api, 5, body)],
                f"t:2: a trace is about the one group 'group', {what}",
            )
            for api, body, what in (
                ("OffsetCommit", '{"groupId":""}', "not ''"),
                ("DescribeGroups", '{"groups":["other"]}', "not 'other'"),
                ("DescribeGroups", '{"groups":[]}', r"not \[\]"),
                ("DescribeGroups", '{"groups":["group","group"]}', r"not \['group', 'group'\]"),
            )
        ),
        (
            [HEADER, _request("Heartbeat", 4, _heartbeat(1, '"client-1"'))],
            r"t:2: a member id is that of a JoinGroup \('#7'\) or 'nobody', not 'client-1'",
        ),
        (
            [HEADER, _request("Heartbeat", 4, _heartbeat(1, '"#7"'))],
            "t: a step uses the member id of a JoinGroup that is not before it",
        ),
        (
            [HEADER, _request("Heartbeat", 4, _heartbeat(1))[:-1] + ',"clientId":null}'],
            "t:2: clientId: expected a string, got None",
        ),
    ],
)
def test_invalid_trace_is_refused_with_its_line_number(lines: list[str], complaint: str) -> None:
    with pytest.raises(MalformedTraceError, match=complaint) as refused:
        parse("\n".join(lines), "t")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_largest_values_of_kafkas_fields_are_accepted() -> None:
    commit = COMMIT % (OFFSET % (2**31 - 1, 2**63 - 1, -(2**31)))
    lines = [
        _header(config='{"group.max.session.timeout.ms":2147483647}'),
        _request("OffsetCommit", 8, commit),
        '{"type":"advance","ms":2147483647}',
    ]
    assert replay(parse("\n".join(lines), "t"), BuiltinPort()) is None


def test_version_without_held_appends_allows_all_other_faults() -> None:
    names = ["crash", "unload", "load", "loading", "shutdown"]
    lines = [_header('"4.1"'), *(f'{{"type":"fault","fault":"{name}"}}' for name in names)]
    steps = parse("\n".join(lines), "t").steps
    assert [type(step).__name__.lower() for step in steps] == names


@pytest.mark.parametrize("version", [0, 3])
def test_empty_group_id_is_accepted_only_where_no_group_is_created(version: int) -> None:
    lines = [
        HEADER,
        _request("JoinGroup", version, _join(group="")),
        _request("SyncGroup", version, _heartbeat(1).replace('"group"', '""'), "2"),
        _request("Heartbeat", version, _heartbeat(1).replace('"group"', '""'), "3"),
        _request("LeaveGroup", 0, '{"groupId":"","memberId":"nobody"}', "4"),
        _request("OffsetCommit", 8, COMMIT % (OFFSET % (1, 1, 1)), "5"),
        _request("OffsetFetch", 5, '{"groupId":"","topics":null}', "6"),
        _request("OffsetCommit", 5, '{"groupId":"","generationId":1,"memberId":"nobody"}', "7"),
    ]
    assert replay(parse("\n".join(lines), "t"), BuiltinPort()) is None


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_the_group_with_the_empty_id_is_described_and_deleted_apart_from_the_other(
    profile: str,
) -> None:
    commit = COMMIT % (OFFSET % (1, 1, 1))
    lines = [
        _header(f'"{profile}"'),
        _request("OffsetCommit", 8, commit),
        '{"type":"fault","fault":"holdAppends"}',
        _request("OffsetCommit", 8, commit, "2"),
        _request("DescribeGroups", 5, '{"groups":[""]}', "3"),
        _request("DeleteGroups", 2, '{"groupsNames":[""]}', "4"),
        '{"type":"fault","fault":"releaseAppends"}',
        _request("OffsetFetch", 5, '{"groupId":"group","topics":null}', "5"),
    ]
    sequence = parse("\n".join(lines), "t")
    assert replay(sequence, BuiltinPort()) is None
    broker = Broker(PROFILES[profile])
    broker.do(*sequence.steps)
    assert [(g.group_state, g.group_id) for g in broker.answers[3].groups] == [("Dead", "")]
    assert broker.answers[4].results == (("", ErrorCode.GROUP_ID_NOT_FOUND),)
    assert broker.group.offsets


@pytest.mark.parametrize("odd", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_only_a_newline_ends_a_line_of_a_trace(odd: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    offset = kafka.OffsetCommitRequestPartition(0, 1, committed_metadata=f"a{odd}b")
    commit = kafka.OffsetCommitRequest(
        GROUP_ID, topics=(kafka.OffsetCommitRequestTopic("t", (offset,)),)
    )
    sequence = Sequence("2.7", {}, (Request(1, 8, commit),))
    raw = dump(sequence)
    if odd >= " ":
        raw = raw.replace(json.dumps(odd)[1:-1], odd)
    path.write_bytes(raw.encode())
    assert load(path) == sequence
    path.write_bytes(raw.replace("\n", "\r\n").encode())
    assert load(path) == sequence


def test_binary_file_is_refused_as_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MalformedTraceError, match="not a text file in UTF-8"):
        load(path)


def test_endless_file_is_refused_as_a_trace() -> None:
    with pytest.raises(MalformedTraceError, match="longer than 67108864 bytes"):
        load(Path("/dev/zero"))
