"""A recording without some responses is checked exactly by the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
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
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:400]
    assert any(line.get("api") == "OffsetCommit" for line in lines)
    return lines


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
    unseen: tuple[str, ...], session: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(without(session, unseen), tmp_path) == 0, capsys.readouterr().out
    result = capsys.readouterr().out
    assert result.endswith("tolerances: none, all times are the coordinator's own\n")


def test_replay_names_the_command_for_it(
    session: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(without(session, ("Heartbeat",)), tmp_path, "replay") == 2
    assert capsys.readouterr().err.endswith(
        "recording:1: it leaves responses out: groupcheck history checks it\n"
    )


def with_line(line: Line, at: float = 0.0) -> Callable[[list[Line]], list[Line]]:
    def change(lines: list[Line]) -> list[Line]:
        place = 1 + int(at * len(lines))
        return [*lines[:place], line, *lines[place:]]

    return change


def without_a_fetch(lines: list[Line]) -> list[Line]:
    fetches = {line["id"] for line in lines if line.get("api") == "OffsetFetch"}
    answers = [x for x in lines if x["type"] == "response" and x["id"] in fetches]
    return [line for line in lines if line is not answers[len(answers) // 2]]


def without_another_api(lines: list[Line]) -> list[Line]:
    return [{**lines[0], "unseen": ["Fetch"]}, *lines[1:]]


@pytest.mark.parametrize(
    ("change", "expected", "text"),
    [
        (without_a_fetch, 1, "    <- no answer\n"),
        (without_another_api, 2, "unseen: not a list of APIs of profile 2.7"),
        (with_line({"type": "fault", "fault": "what"}), 2, "recording:2: not a message of a rec"),
        (with_line({"type": "response", "id": 10**6, "body": {}}), 2, ":2: no request 1000000"),
        (with_line({"type": "fault", "fault": "crash"}, 0.5), 0, "nothing is known after fault "),
        # The cleanup is before the first commit expires, so the offset remains.
        (with_line({"type": "fault", "fault": "cleanup"}, 0.5), 0, "an order that Kafka allows"),
    ],
)
def test_a_changed_recording_is_checked_as_far_as_it_can_be(  # noqa: PLR0913 - a row, and fixtures
    change: Callable[[list[Line]], list[Line]],
    text: str,
    session: list[Line],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    expected: int,
) -> None:
    assert status(change(without(session, ("Heartbeat",))), tmp_path) == expected
    assert text in "".join(capsys.readouterr())
