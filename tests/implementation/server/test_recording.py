"""Recordings: what is written, when, and what happens if it cannot be written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from groupcheck.implementation.server import recording
from groupcheck.implementation.server.recording import Recording
from groupcheck.implementation.server.server import CannotServeError
from groupcheck.model import vocabulary as kafka
from groupcheck.model.vocabulary import ErrorCode, MemberIdentity, Protocol, Request, Response
from support.serving import Served

HEARTBEAT = Request(1, 4, kafka.HeartbeatRequest("group", 1, "member"))
ANSWER = Response(1, kafka.HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def begun(path: Path, failed: list[str] | None = None) -> Recording:
    reasons: list[str] = [] if failed is None else failed
    return Recording(path, "2.7", {"group.max.session.timeout.ms": 5}, reasons.append)


def test_a_recording_has_the_messages_of_the_port_protocol_both_ways(tmp_path: Path) -> None:
    record = begun(tmp_path / "file")
    record.advance(5)
    record.advance(7)
    record.request(HEARTBEAT)
    record.response(ANSWER)
    record.close()
    body = {"groupId": "group", "generationId": 1, "memberId": "member", "groupInstanceId": None}
    config = {"group.max.session.timeout.ms": 5}
    assert lines(tmp_path / "file") == [
        {"type": "open", "trace": 1, "profile": "2.7", "config": config},
        {"type": "advance", "ms": 12},
        {
            "type": "request",
            "id": 1,
            "api": "Heartbeat",
            "apiVersion": 4,
            "clientId": "client",
            "clientHost": "/127.0.0.1",
            "body": body,
        },
        {"type": "response", "id": 1, "body": {"errorCode": 25}},
    ]


def test_bytes_are_base64_and_leave_group_has_the_shape_of_its_version(tmp_path: Path) -> None:
    record = begun(tmp_path / "file")
    join = kafka.JoinGroupRequest("group", 1, protocols=(Protocol("range", b"\0\xff"),))
    record.request(Request(1, 0, join))
    record.request(Request(2, 2, kafka.LeaveGroupRequest("group", (MemberIdentity("m"),))))
    record.request(Request(3, 3, kafka.LeaveGroupRequest("group", (MemberIdentity("m"),))))
    record.close()
    bodies = [line["body"] for line in lines(tmp_path / "file")[1:]]
    assert bodies[0]["protocols"] == [{"name": "range", "metadata": "AP8="}]
    assert bodies[1] == {"groupId": "group", "memberId": "m"}
    members = [{"memberId": "m", "groupInstanceId": None}]
    assert bodies[2] == {"groupId": "group", "members": members}


def test_faults_and_earlier_groups_are_recorded(tmp_path: Path) -> None:
    record = Recording(tmp_path / "file", "2.7", {}, print, ["old"])
    record.fault("cleanup")
    record.close()
    header, fault = lines(tmp_path / "file")
    assert header["groups"] == ["old"]
    assert fault == {"type": "fault", "fault": "cleanup"}


def test_every_line_is_in_the_file_when_the_call_returns(tmp_path: Path) -> None:
    record = begun(tmp_path / "file")
    record.request(HEARTBEAT)
    assert len(lines(tmp_path / "file")) == 2
    record.response(ANSWER)
    assert len(lines(tmp_path / "file")) == 3
    record.close()


def test_another_session_is_appended_even_after_an_incomplete_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'{"type":"open"}\n{"type":"adv')
    begun(path).close()
    first, torn, second = path.read_bytes().splitlines()
    assert (first, torn) == (b'{"type":"open"}', b'{"type":"adv')
    assert json.loads(second)["trace"] == 1


def test_full_disk_leaves_complete_lines_and_stops_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[str] = []
    record = begun(tmp_path / "file", failed)
    record.request(HEARTBEAT)
    before = (tmp_path / "file").read_bytes()
    write, room = os.write, [10]

    def full(file: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        record.response(ANSWER)
    record.request(HEARTBEAT)
    assert (tmp_path / "file").read_bytes() == before
    assert failed == ["No space left on device"]


def test_server_continues_when_the_recording_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Served(record=tmp_path / "file") as server, server.connected() as wire:
        monkeypatch.setattr(recording, "write_whole", full)
        for _ in range(3):
            fields = {"group_id": "g", "generation_id": 1, "member_id": "m"}
            assert wire.ask("Heartbeat", 0, **fields).error_code == 25
        why = "No space left on device"
        assert server.notes == [f"recording stopped: {why}; the file is complete up to then"]


@pytest.mark.parametrize("where", ["/dev/full", "/nonexistent/file", "/"])
def test_recording_file_that_cannot_be_written_is_rejected_at_the_start(where: str) -> None:
    server = Served(record=Path(where))
    with pytest.raises(CannotServeError, match=f"cannot record to {where}: "), server:
        pass
