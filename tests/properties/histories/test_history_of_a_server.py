"""Clients record a server over the loopback, on a real clock: the history is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.cli import main
from support.noting import noted
from support.overlapping import first_line, spoiled, write
from support.serving import Served

DELAY_MS = 100


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
@pytest.mark.parametrize("kept", [False, True], ids=["in-memory", "in-a-directory"])
def test_the_history_of_a_server_is_accepted_and_a_changed_one_is_rejected(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, kept: bool
) -> None:
    config = (f"group.initial.rebalance.delay.ms={DELAY_MS}",)
    data_dir = tmp_path / "data" if kept else None
    with Served(("t", 1), config=config, profile=profile, data_dir=data_dir) as server:
        lines = noted(server.port, first_line(profile, DELAY_MS), clients=4, for_s=1.5)
    path = write(lines, tmp_path / "history.jsonl")
    status = main(["history", str(path)])
    assert status == 0, capsys.readouterr().out
    answered = [line["id"] for line in lines if line["type"] == "response"]
    assert len(answered) > 100
    assert f"{sum(line['type'] == 'request' for line in lines):,} operations of 1 group" in (
        capsys.readouterr().out
    )
    wrong = write(spoiled(lines, answered[len(answered) // 2]), tmp_path / "wrong.jsonl")
    assert main(["history", str(wrong)]) == 1
    assert "In group 'noted' no order of the operations is allowed" in capsys.readouterr().out
