"""A recording that leaves responses out is checked exactly by the others."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from groupcheck.cli import main
from support.noting import noted
from support.overlapping import first_line
from support.serving import Served

Line = dict[str, Any]
MOST = ("Heartbeat", "JoinGroup", "SyncGroup", "LeaveGroup", "OffsetCommit")


@pytest.fixture(scope="module", params=[False, True], ids=["in-memory", "in-a-directory"])
def session(tmp_path_factory: pytest.TempPathFactory, request: Any) -> list[Line]:
    """What a server recorded of four clients of one group."""
    directory = tmp_path_factory.mktemp("session")
    path = directory / "recording.jsonl"
    config = ("group.initial.rebalance.delay.ms=100",)
    data_dir = directory / "data" if request.param else None
    with Served(("t", 1), config=config, record=path, data_dir=data_dir) as server:
        noted(server.port, first_line("2.7", 100), clients=4, for_s=0.8, least=400)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:400]


def without(lines: list[Line], unseen: Collection[str]) -> list[Line]:
    """The recording without the answers of some APIs."""
    asked = {line["id"]: line["api"] for line in lines if line["type"] == "request"}
    kept = [x for x in lines if x["type"] != "response" or asked[x["id"]] not in unseen]
    return [{**kept[0], "unseen": list(unseen)}, *kept[1:]]


def status(lines: list[Line], directory: Path, command: str = "history") -> int:
    path = directory / "recording"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return main([command, str(path)])


@pytest.mark.parametrize("unseen", [("Heartbeat",), ("JoinGroup",), MOST], ids="-".join)
def test_responses_that_are_left_out_are_not_expected(
    unseen: tuple[str, ...],
    session: list[Line],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert status(without(session, unseen), tmp_path) == 0, capsys.readouterr().out
    result = capsys.readouterr().out
    assert result.endswith("tolerances: none, all times are the coordinator's own\n")


def test_responses_of_other_apis_are_expected(
    session: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = without(session, ("Heartbeat",))
    fetches = {line["id"] for line in lines if line.get("api") == "OffsetFetch"}
    answers = [x for x in lines if x["type"] == "response" and x["id"] in fetches]
    lines.remove(answers[len(answers) // 2])
    assert status(lines, tmp_path) == 1
    assert "    <- no answer\n" in capsys.readouterr().out


def test_replay_names_the_command_for_it(
    session: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(without(session, ("Heartbeat",)), tmp_path, "replay") == 2
    assert capsys.readouterr().err.endswith(
        "recording:1: it leaves responses out: groupcheck history checks it\n"
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"type": "fault", "fault": "what"}, "not a message of a recording"),
        ({"type": "response", "id": 10**6, "body": {}}, "no request 1000000"),
    ],
)
def test_an_invalid_line_is_an_error_with_its_number(
    line: Line,
    complaint: str,
    session: list[Line],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = without(session, ("Heartbeat",))
    lines.insert(1, line)
    assert status(lines, tmp_path) == 2
    assert f"recording:2: {complaint}" in capsys.readouterr().err


def test_after_a_crash_the_rest_of_the_group_is_not_checked(
    session: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = without(session, ("Heartbeat",))
    lines.insert(len(lines) // 2, {"type": "fault", "fault": "crash"})
    assert status(lines, tmp_path) == 0
    assert "nothing is known after fault " in capsys.readouterr().out


def test_a_cleanup_takes_effect_at_its_place_in_the_recording(
    session: list[Line], tmp_path: Path
) -> None:
    lines = without(session, ("Heartbeat",))
    lines.insert(len(lines) // 2, {"type": "fault", "fault": "cleanup"})
    assert status(lines, tmp_path) == 0
    # It comes before the first commit has expired, and that is there in the end.
    assert any(line.get("api") == "OffsetCommit" for line in lines)


def test_unseen_lists_apis(
    session: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status([{**session[0], "unseen": ["Fetch"]}, *session[1:]], tmp_path) == 2
    assert "unseen: not a list of APIs of profile 2.7" in capsys.readouterr().err
