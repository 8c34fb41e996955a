"""The server verified by groupcheck like any broker: over the wire, on a real clock."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from groupcheck.cli import main
from support.client_processes import eventually
from support.serving import JOIN, Served


@pytest.mark.slow
def test_server_conforms_and_so_does_its_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    delay = "group.initial.rebalance.delay.ms=0"
    with Served(config=(delay,), record=tmp_path / "recording") as server:
        assert main(["verify", f"kafka://{server.address}", "--members", "1"]) == 0
        assert "100 % of the transitions covered" in capsys.readouterr().out
        checked = server.checked()
    assert checked.finding is None
    assert checked.groups > 40


@pytest.mark.parametrize("asked_at_once", [1, 3])
def test_pipelined_requests_are_recorded_in_the_right_order(
    asked_at_once: int, tmp_path: Path
) -> None:
    with Served(record=tmp_path / "recording") as server, ExitStack() as stack:
        first, second, third = (stack.enter_context(server.connected()) for _ in range(3))
        leader = first.join()
        for wire in (second, third):
            wire.request("JoinGroup", 3, **{**JOIN, "protocols": [("range", b"other")]})
            for _ in range(asked_at_once):
                fields = {"group_id": "group", "generation_id": 2, "member_id": leader.member_id}
                wire.request("Heartbeat", 0, **fields)

        def members() -> int:
            return len(first.ask("DescribeGroups", 0, groups=["group"]).groups[0].members)

        eventually(lambda: members() == 3)
        assert first.join(member_id=leader.member_id).generation_id == 2
        for wire in (second, third):
            assert wire.answer("JoinGroup", 3).generation_id == 2
            for _ in range(asked_at_once):
                assert wire.answer("Heartbeat", 0).error_code == 0
        assert server.checked().finding is None
