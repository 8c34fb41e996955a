"""Recordings are read in bounded memory; unreadable lines are quarantined with their reason."""

from __future__ import annotations

import bz2
import gzip
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from groupcheck.properties.histories.checker import load
from support.made_recordings import Wanted, recordings
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from groupcheck.pipeline import sources  # noqa: E402
from groupcheck.pipeline.errors import PipelineError  # noqa: E402
from groupcheck.pipeline.kernels import begun  # noqa: E402
from groupcheck.pipeline.readers import rows_of_recording  # noqa: E402
from groupcheck.pipeline.recordings.replay import Replay  # noqa: E402
from groupcheck.properties.histories.events import Event  # noqa: E402

Rows = dict[str, list[dict[str, Any]]]
OPEN = b'{"type":"open","trace":1,"profile":"2.7","config":{}}\n'
BODY = b'{"groupId":"g","generationId":1,"memberId":"m"}'
ASK = b'{"type":"request","id":%d,"api":"Heartbeat","apiVersion":0,"body":' + BODY + b"}\n"
KINDS = ("open", "request", "response")
ANSWER = b'{"type":"response","id":%d,"body":{"errorCode":25}}\n'


def rows(path: Path) -> Rows:
    """All rows of a file, by table."""
    found: Rows = {"event": [], "quarantined": [], "file": []}
    source = f"file://{path}"
    for name, row in rows_of_recording(source, sources.lines(source)):
        found[name].append(row._asdict() if name == "event" else row)
    (file,) = found["file"]
    assert file["read"] == file["kept"] + file["quarantined"]
    assert file["quarantined"] == len(found["quarantined"])
    assert file["events"] == len(found["event"])
    return found


def verdict(path: Path, group_id: str = "g") -> dict[str, Any]:
    """The verdict on a group of a file."""
    events = [Event(**row) for row in rows(path)["event"] if row["group_id"] == group_id]
    replay = begun(events[0])
    for event in events:
        replay.take(event)
    return next(row for name, row in replay.end() if name == "verdict")


def written(directory: Path, *lines: bytes) -> Path:
    path = directory / "recording.jsonl"
    path.write_bytes(b"".join(lines))
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recording")
    recordings(directory, Wanted(6, 60, violations=1, seed=5))
    return directory / "recording-0.jsonl"


def test_the_events_of_a_group_are_those_that_replay_reads(recording: Path) -> None:
    found = rows(recording)
    kinds = Counter((row["group_id"], row["kind"]) for row in found["event"])
    for recorded in load(recording):
        assert len(recorded.events) == sum(kinds[recorded.group_id, kind] for kind in KINDS)
        assert kinds[recorded.group_id, "open"] == 1


def test_compressed_files_and_parquet_have_the_same_events(recording: Path, tmp_path: Path) -> None:
    data = recording.read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data[:5000]) + gzip.compress(data[5000:]))
    (tmp_path / "a.jsonl.bz2").write_bytes(bz2.compress(data))
    (tmp_path / "a.jsonl.zst").write_bytes(pa.Codec("zstd").compress(data, asbytes=True))
    lines = data.decode().splitlines()
    pq.write_table(pa.table({"value": lines}), tmp_path / "lines.parquet")
    messages = [json.loads(line) for line in lines]
    for message in messages:
        for name in ("body", "config"):
            if name in message:
                message[name] = json.dumps(message[name])
    pq.write_table(pa.Table.from_pylist(messages, MESSAGES), tmp_path / "messages.parquet")
    plain = [{**row, "source": ""} for row in rows(recording)["event"]]
    for path in tmp_path.iterdir():
        assert [without_spaces(row) for row in rows(path)["event"]] == plain, path.name


MESSAGES = pa.schema(
    [
        *((name, pa.string()) for name in ("type", "profile", "config", "api", "body")),
        *((name, pa.int64()) for name in ("trace", "id", "ms", "apiVersion")),
        *((name, pa.string()) for name in ("clientId", "clientHost")),
    ]
)


def without_spaces(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "source": ""}


def test_truncated_compressed_data_is_kept_up_to_its_end(recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.gz"
    whole = gzip.compress(recording.read_bytes())
    path.write_bytes(whole[: len(whole) // 2])
    found = rows(path)
    assert found["quarantined"][-1]["reason"].startswith("cannot be read from here on: ")
    assert found["file"][0]["kept"] > 10


def test_a_very_long_line_takes_no_memory_and_leaves_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(sources, "CHUNK", 100_000)
    path = written(tmp_path, OPEN, b'{"x":"', b"y" * 50_000_000, b'"}\n', ASK % 1, ANSWER % 1)
    tracemalloc.start()
    found = rows(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000
    (quarantined,) = found["quarantined"]
    assert quarantined["reason"] == "longer than 1000000 bytes"
    assert quarantined["text"] == '{"x":"' + "y" * 194
    assert [row["kind"] for row in found["event"]] == ["open", "gap", "request", "response"]
    result = verdict(path)
    assert result["verdict"] == "undecided"
    assert result["reason"] == "gap: line 2 could not be read: longer than 1000000 bytes"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff\n", "not text in UTF-8"),
        (b'{"type":"request","id":9,"api":"Heartbeat","x":"\\ud800"}\n', "not text in UTF-8"),
        (b"[]\n", "not a JSON object"),
        (b"[" * 100_000 + b"\n", "not a JSON object"),
        (b'{"type":"advance","ms":-1}\n', "not a message of a recording: {'type': 'advance'"),
        (b'{"type":"advance","ms":1%s}\n' % (b"0" * 30), "not a message of a recording"),
        (b'{"type":"response","id":9,"body":{}}\n', "no request 9"),
        (b'{"type":"request","id":9,"api":"Fetch","apiVersion":0}\n', "api: not one of profile"),
        (b'{"type":"request","id":9,"api":"Heartbeat","apiVersion":0,"body":[]}\n', "Heartbeat: "),
        (b'{"type":"request","id":-9,"api":"Heartbeat","apiVersion":0}\n', "no id or version"),
    ],
)
def test_after_an_unreadable_line_a_group_is_undecided(
    line: bytes, reason: str, tmp_path: Path
) -> None:
    path = written(tmp_path, OPEN, ASK % 1, ANSWER % 1, line, ASK % 2, ANSWER % 2)
    (quarantined,) = rows(path)["quarantined"]
    assert quarantined["line"] == 4
    assert quarantined["reason"].startswith(reason)
    result = verdict(path)
    assert (result["verdict"], result["accepted"]) == ("undecided", 1)


def test_a_repeated_request_or_response_counts_once(tmp_path: Path) -> None:
    path = written(tmp_path, OPEN, ASK % 1, ASK % 1, ANSWER % 1, ANSWER % 1, ASK % 2, ANSWER % 2)
    reasons = [row["reason"] for row in rows(path)["quarantined"]]
    assert reasons == ["a second request with the id 1", "request 1 is answered twice"]
    assert verdict(path)["verdict"] == "accepted"


def test_a_last_line_that_is_torn_may_have_been_an_answer(tmp_path: Path) -> None:
    whole = (OPEN, ASK % 1, ANSWER % 1, ASK % 2)
    assert verdict(written(tmp_path, *whole))["verdict"] == "rejected"
    result = verdict(written(tmp_path, *whole, (ANSWER % 2)[:-9]))
    assert (result["verdict"], result["accepted"]) == ("undecided", 3)
    path = written(tmp_path, *whole, (ANSWER % 2)[:-9] + b"\n", OPEN, ASK % 1, ANSWER % 1)
    assert [row["session"] for row in rows(path)["event"]] == [1, 1, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [OPEN.replace(b"}\n", b',"groups":["g"]}\n'), ASK % 1, ANSWER % 1],
            "it existed before the recording began",
        ),
        ([OPEN, ASK % 1], "the group has no response: a trace, for groupcheck replay FILE PORT"),
        ([OPEN, b'{"type":"fault","fault":"crash"}\n', ASK % 1, ANSWER % 1], None),
        (
            [OPEN, ASK % 1, ANSWER % 1, b'{"type":"fault","fault":"crash"}\n', ASK % 2, ANSWER % 2],
            'nothing is known after fault {"type": "fault", "fault": "crash"}',
        ),
        (
            [OPEN, ASK.replace(b'"m"', b'"%s"' % (b"m" * 40_000)) % 1, ANSWER % 1],
            "Heartbeat.memberId: expected at most 32767 bytes, got 'mmm",
        ),
        ([OPEN.replace(b"}\n", b',"unseen":["Heartbeat"]}\n'), ASK % 1], None),
    ],
    ids=["before", "unanswered", "crash-before", "crash", "too-long", "unseen"],
)
def test_an_undecided_group_has_a_reason(
    lines: list[bytes], reason: str | None, tmp_path: Path
) -> None:
    result = verdict(written(tmp_path, *lines))
    if reason is None:
        assert result["verdict"] == "accepted"
    else:
        assert result["verdict"] == "undecided"
        assert result["reason"].startswith(reason)


def test_a_recording_that_leaves_responses_out_has_the_same_verdicts(
    recording: Path, tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in recording.read_bytes().splitlines()]
    asked = {line["id"]: line["api"] for line in lines if line["type"] == "request"}
    lines[0]["unseen"] = ["SyncGroup"]
    kept = [x for x in lines if x["type"] != "response" or asked[x["id"]] != "SyncGroup"]
    path = written(tmp_path, *(json.dumps(line).encode() + b"\n" for line in kept))
    whole, partial = (
        {n: verdict(each, f"group-{n}")["verdict"] for n in range(6)} for each in (recording, path)
    )
    assert whole == partial
    assert Counter(partial.values()) == {"accepted": 5, "rejected": 1}


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (ASK % 1, "before the first line of a recording"),
        (OPEN.replace(b"2.7", b"9"), "unknown profile '9'"),
        (OPEN.replace(b"}\n", b',"groups":1}\n'), "groups: not a list of names"),
        (OPEN.replace(b"}\n", b',"history":1}\n'), "a history of requests that overlap"),
    ],
)
def test_without_a_valid_first_line_a_session_is_quarantined(
    first: bytes, reason: str, tmp_path: Path
) -> None:
    found = rows(written(tmp_path, first, ASK % 1, ANSWER % 1))
    assert found["event"] == []
    assert found["quarantined"][0]["reason"].startswith(reason)
    assert len(found["quarantined"]) == 3


def test_files_of_a_folder_are_read_by_their_endings(tmp_path: Path) -> None:
    for name in (
        "a.jsonl",
        "b/c.json.gz",
        "b/d.parquet",
        "e.md",
        "_f.jsonl",
        ".g.jsonl",
        "h",
        "a b%.json",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = sources.files([str(tmp_path), str(tmp_path / "e.md"), str(tmp_path / "a.jsonl")])
    names = [path.removeprefix(f"file://{tmp_path}/") for path in found]
    assert names == ["a b%.json", "a.jsonl", "b/c.json.gz", "b/d.parquet", "e.md", "h"]


@pytest.mark.parametrize(
    ("source", "complaint"), [("none", "No such file or directory"), ("what://x", "what://x: ")]
)
def test_a_missing_source_is_an_error_with_its_name(source: str, complaint: str) -> None:
    with pytest.raises(PipelineError, match=complaint):
        sources.files([source])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_a_history(tmp_path: Path) -> None:
    recordings(tmp_path, Wanted(1, 100, kinds=1))
    first = Event(**rows(tmp_path / "recording-0.jsonl")["event"][0])

    def most(events: int) -> int:
        replay = Replay(first)
        tracemalloc.start()
        for n in range(1, events):
            asked = first._replace(seq=n, at_ms=n, kind="request", request_id=n, api="Heartbeat")
            asked = asked._replace(api_version=0, body=BODY.decode(), group_id="g", line=n)
            replay.take(asked)
            replay.take(asked._replace(kind="response", body='{"errorCode":25}'))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        ended = dict(replay.end())
        assert ended["verdict"]["verdict"] == "accepted"
        return peak

    few, many = most(1_000), most(4_000)
    assert many - few < 3_000 * 700  # of which the lines of a recording, up to a limit, are most
