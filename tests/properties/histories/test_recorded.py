"""Recordings are checked group by group: allowed responses are accepted, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from groupcheck.cli import main
from groupcheck.implementation import PROFILE_4_1, Config, Coordinator
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.implementation.server.recording import Recording
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import Request, RequestBody
from groupcheck.properties.histories.checker import check_groups, load
from groupcheck.properties.histories.group_states import GroupStates
from groupcheck.properties.sequence import MalformedTraceError
from groupcheck.reports.finding_text import text_of
from support.serving import Served, Wire

Line = dict[str, Any]


def joining(group: str, **fields: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout_ms": 1_500,
        "rebalance_timeout_ms": 300,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [("range", b"mine")],
        **fields,
    }


def join(wire: Wire, group: str, **fields: Any) -> Any:
    return wire.ask("JoinGroup", 3, **joining(group, **fields))


def sync(wire: Wire, group: str, member_id: str) -> Any:
    assignments = [(member_id, b"all")]
    fields = {"group_id": group, "generation_id": 1, "member_id": member_id}
    return wire.ask("SyncGroup", 1, **fields, assignments=assignments)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two groups, each with one member that is silent until its session ends."""
    path = tmp_path_factory.mktemp("session") / "recording.jsonl"
    with Served(("topic", 2), record=path) as server, server.connected() as wire:
        one, two = (join(wire, group).member_id for group in ("one", "two"))
        assert sync(wire, "one", one).assignment == sync(wire, "two", two).assignment == b"all"
        wire.ask("DescribeGroups", 0, groups=["one", "two", "three", "one"])
        # Ids of the member of the other group, and of no member.
        leavers = [("nobody-result", None), (two, None), (one, "instance"), (one, None)]
        wire.ask("LeaveGroup", 3, group_id="one", members=leavers[:2])
        wire.ask("Heartbeat", 0, group_id="one", generation_id=1, member_id="nobody-result")
        topics = [("topic", [(0, 5, None)])]
        fields = {"member_id": two, "generation_id_or_member_epoch": 1}
        wire.ask("OffsetCommit", 2, group_id="two", **fields, topics=topics)
        wire.ask("OffsetCommit", 2, group_id="", topics=topics)
        wire.ask("Heartbeat", 0, group_id="", generation_id=1, member_id="x")
        while join(wire, "two", member_id=two).error_code != 25:
            pass
        while wire.ask("DescribeGroups", 0, groups=["one"]).groups[0].group_state != "Empty":
            pass
    return path


def changed(path: Path, to: Path, change: Callable[[list[Line]], None]) -> Path:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(lines)
    to.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return to


@pytest.mark.slow
def test_the_recording_of_a_server_with_several_groups_is_accepted(
    session: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = check_groups(load(session))
    assert (checked.groups, checked.finding, checked.cut) == (4, None, ())
    assert checked.steps > 20
    assert main(["replay", str(session)]) == 0
    result = f"{checked.steps:,} steps of 4 groups, each answered as Kafka would\n"
    assert capsys.readouterr().out == result


def test_the_states_of_a_group_are_observed_in_order_each_once(session: Path) -> None:
    recorded = load(session)
    observers = [GroupStates() for _ in recorded]
    check_groups(recorded, observers)
    groups = {each.group_id: seen.phases for each, seen in zip(recorded, observers, strict=True)}
    assert [phase[1:] for phase in groups["one"]] == [
        ("CompletingRebalance", 1),
        ("Stable", 1),
        ("Empty", 2),
    ]
    assert groups["three"] == []
    times = [phase.at_ms for phase in groups["one"]]
    assert times == sorted(times)


@pytest.mark.slow
def test_each_session_of_a_file_is_checked_on_its_own(session: Path, tmp_path: Path) -> None:
    path = tmp_path / "twice"
    path.write_bytes(session.read_bytes() * 2)
    assert check_groups(load(path)).groups == 8
    assert check_groups(load(path)).finding is None


def test_a_wrong_response_is_a_finding_of_its_group(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(lines: list[Line]) -> None:
        (asked,) = (
            line["id"]
            for line in lines
            if line.get("api") == "SyncGroup" and line["body"]["groupId"] == "two"
        )
        (answer,) = (x for x in lines if x["type"] == "response" and x["id"] == asked)
        answer["body"]["errorCode"] = 22

    path = changed(session, tmp_path / "changed", change)
    checked = check_groups(load(path))
    assert checked.group_id == "two"
    assert checked.finding is not None
    assert main(["replay", str(path)]) == 1
    assert ": group 'two': differs from" in capsys.readouterr().out


def with_another_setting(lines: list[Line]) -> None:
    lines[0]["config"]["offsets.topic.num.partitions"] = 50  # that no rule reads


def without_time(lines: list[Line]) -> None:
    for line in lines:
        line["ms"] = 0  # no session ends when no time passes


def without_a_response(lines: list[Line]) -> None:
    lines.remove(next(line for line in lines if line["type"] == "response"))


@pytest.mark.parametrize(
    ("change", "is_good"),
    [(with_another_setting, True), (without_time, False), (without_a_response, False)],
)
def test_a_response_that_is_missing_or_at_the_wrong_time_is_a_finding(
    change: Callable[[list[Line]], None], session: Path, tmp_path: Path, *, is_good: bool
) -> None:
    path = changed(session, tmp_path / "changed", change)
    assert (check_groups(load(path)).finding is None) is is_good


def test_a_request_outside_the_model_cuts_off_the_rest_of_its_group(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recording"
    with Served(record=path) as server, server.connected() as wire:
        member = join(wire, "odd").member_id
        wire.ask("Heartbeat", 0, group_id="odd", generation_id=1, member_id=member)
        twice = [("range", b"a"), ("range", b"b")]
        wire.request("JoinGroup", 3, **joining("odd", protocols=twice))
        join(wire, "plain")
    checked = check_groups(load(path))
    assert (checked.groups, checked.finding) == (2, None)
    cut = "group 'odd': a JoinGroup that names a protocol twice, or '', is not part of the model"
    assert checked.cut == (cut,)
    assert main(["replay", str(path)]) == 0
    assert capsys.readouterr().out.endswith(cut + "\n")


def test_a_body_that_is_too_long_cuts_off_its_group_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    long = "x" * 40_000
    with Served(record=path) as server, server.connected() as wire:
        join(wire, "plain")
        fields = {"generation_id": 1, "member_id": long}
        assert wire.ask("Heartbeat", 4, group_id="odd", **fields).error_code == 25
        assert wire.ask("Heartbeat", 4, group_id=long, **fields).error_code == 25
    checked = check_groups(load(path))
    assert (checked.groups, checked.finding) == (3, None)
    first, second = checked.cut
    assert first.startswith("group 'odd': Heartbeat.memberId: expected at most 32767 bytes, got ")
    assert second.startswith("group 'xxx")
    assert len(second) < 300


@pytest.mark.slow
def test_only_the_last_line_of_a_session_may_be_torn(session: Path, tmp_path: Path) -> None:
    path = tmp_path / "torn"
    whole = session.read_bytes()
    path.write_bytes(whole + b'{"type":"adv')
    assert check_groups(load(path)) == check_groups(load(session))
    path.write_bytes(whole + b'{"type":"adv\n' + whole)
    assert len(load(path)) == 2 * len(load(session))
    rest = whole.partition(b"\n")[2]
    for bad in (b'{"type":"adv\n', b'{"type":"adv\n' + rest, b"x\nx\n" + whole):
        path.write_bytes(whole + bad)
        with pytest.raises(MalformedTraceError, match=r"torn:\d+: not a JSON object"):
            load(path)


OPEN = '{"type":"open","trace":1,"profile":"2.7","config":{}}'
ASK = '{"type":"request","id":1,"api":"Heartbeat","apiVersion":0,"body":%s}'
BODY = '{"groupId":"g","generationId":1,"memberId":"m"}'


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "it has no response, so it is no recording; name a PORT"),
        ([OPEN, ASK % BODY], "it has no response"),
        (["[1]"], ":1: not a JSON object"),
        (["nonsense"], ":1: not a JSON object"),
        (['{"type":"advance","ms":1}'], ":1: before the first line of a recording"),
        (['{"type":"open","trace":2}'], ":1: not the first line of a trace of format 1"),
        ([OPEN, '{"type":"advance","ms":-1}'], ":2: not a message of a recording"),
        ([OPEN, '{"type":"response","id":1,"body":{}}'], ":2: no request 1"),
        ([OPEN, ASK % "{}"], ":2: Heartbeat: expected a field 'groupId'"),
        ([OPEN, ASK % BODY, ASK % BODY], ":3: a second request with the id 1"),
        ([OPEN, ASK.replace("Heartbeat", "Fetch") % BODY], ":2: api: not one of profile 2.7"),
    ],
)
def test_an_invalid_recording_is_an_error_with_the_line(
    lines: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(MalformedTraceError) as error:
        load(path)
    assert complaint in str(error.value)
    assert main(["replay", str(path)]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.slow
@settings(
    max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(at=st.integers(0, 10**6), put=st.binary(max_size=4), cut=st.integers(0, 4))
def test_a_damaged_recording_is_checked_or_an_error(
    at: int, put: bytes, cut: int, session: Path, tmp_path: Path
) -> None:
    data = bytearray(session.read_bytes())
    at %= len(data)
    data[at : at + cut] = put
    (tmp_path / "damaged").write_bytes(data)
    with suppress(MalformedTraceError):
        check_groups(load(tmp_path / "damaged"))


def test_a_missing_file_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.endswith("none: No such file or directory\n")


def _committed(group: str) -> kafka.OffsetCommitRequest:
    partition = kafka.OffsetCommitRequestPartition(0, 5)
    return kafka.OffsetCommitRequest(
        group, topics=(kafka.OffsetCommitRequestTopic("topic", (partition,)),)
    )


def _record(path: Path, *steps: RequestBody | str) -> None:
    """Record requests to groups of one partition, whose log is to "hold" or to "release"."""
    log = ControlledLog(MemoryLog())
    config = Config(offsets_topic_num_partitions=1)
    coordinator = Coordinator(config, profile=PROFILE_4_1, log=log)
    recording = Recording(path, "4.1", {}, pytest.fail)
    for number, step in enumerate(steps):
        if isinstance(step, str):
            recording.fault(f"{step}Appends")
            getattr(log, step)()
            answers = coordinator.take()
        else:
            request = Request(number, 7, step)
            recording.request(request)
            answers = coordinator.receive(request)
        for answer in answers:
            recording.response(answer)
    recording.close()


def test_a_response_may_wait_for_appends_of_other_groups_and_no_longer(tmp_path: Path) -> None:
    _record(
        tmp_path / "file",
        "hold",
        _committed("one"),
        kafka.OffsetFetchRequest("two", require_stable=True),
        "release",
    )
    recorded = load(tmp_path / "file")
    for _ in range(2):  # checking does not change the file
        assert check_groups(recorded).finding is None

    def ask_again(lines: list[Line]) -> None:
        lines += [lines[1], lines[3] | {"id": 3}, lines[4], lines[6] | {"id": 3}]

    def answer_late(lines: list[Line]) -> None:
        answer = lines.pop()
        lines += [lines[1], lines[3] | {"id": 3}, lines[4], answer | {"id": 3}, answer]

    for change, is_good in ((ask_again, True), (answer_late, False)):
        path = changed(tmp_path / "file", tmp_path / change.__name__, change)
        assert (check_groups(load(path)).finding is None) is is_good


@pytest.mark.parametrize(
    ("steps", "results"),
    [
        # It waits for the append of another group, and is processed after it.
        (("hold", _committed("two"), kafka.DeleteGroupsRequest(("one",)), _committed("one")), [0]),
        # It is processed at once, and waits with the tombstone of another group.
        (
            (
                _committed("two"),
                "hold",
                kafka.DeleteGroupsRequest(("two", "one")),
                _committed("one"),
            ),
            [0, 69],
        ),
    ],
)
def test_a_deletion_may_wait_for_what_another_group_of_the_partition_writes(
    tmp_path: Path, steps: tuple[RequestBody | str, ...], results: list[int]
) -> None:
    _record(tmp_path / "file", *steps, "release", kafka.OffsetFetchRequest("one"))
    lines = (tmp_path / "file").read_text().splitlines()
    answers = [json.loads(line).get("body", {}) for line in lines]
    (deleted,) = [each["results"] for each in answers if "results" in each]
    assert [each["errorCode"] for each in deleted] == results
    assert (answers[-1]["topics"] == []) is (results == [0])
    assert check_groups(load(tmp_path / "file")).finding is None

    def answer_otherwise(lines: list[Line]) -> None:
        for line in lines:
            for result in line.get("body", {}).get("results", ()):
                result["errorCode"] = 68

    path = changed(tmp_path / "file", tmp_path / "changed", answer_otherwise)
    assert check_groups(load(path)).finding is not None


GROUPS = st.sampled_from(["one", "two"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(
    parts=[
        [_committed("one")],
        [
            _committed("two"),
            kafka.DeleteGroupsRequest(("one",)),
            kafka.OffsetFetchRequest("one", require_stable=True),
        ],
    ],
    ends_held=False,
)
@example(  # the last request is outside the model, and cuts the group off
    parts=[
        [
            _committed("one"),
            kafka.OffsetFetchRequest("two", require_stable=True),
            kafka.OffsetFetchRequest("two", (kafka.OffsetFetchRequestTopic("topic", (2**31,)),)),
        ]
    ],
    ends_held=False,
)
@given(
    ends_held=st.booleans(),
    parts=st.lists(
        st.lists(
            st.builds(_committed, GROUPS)
            | st.builds(kafka.OffsetFetchRequest, GROUPS, require_stable=st.booleans())
            | st.builds(
                kafka.DeleteGroupsRequest,
                st.lists(GROUPS, min_size=1, max_size=2, unique=True).map(tuple),
            ),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_any_order_in_which_two_groups_of_a_partition_write_and_read_is_accepted(
    parts: list[list[RequestBody]], tmp_path: Path, *, ends_held: bool
) -> None:
    steps = [each for part in parts for each in ("hold", *part, "release")]
    steps = [kafka.OffsetFetchRequest("one"), *steps[: -1 if ends_held else None]]
    (tmp_path / "file").unlink(missing_ok=True)  # a recording continues a file
    _record(tmp_path / "file", *steps)
    checked = check_groups(load(tmp_path / "file"))
    assert checked.finding is None, text_of(checked.finding)
