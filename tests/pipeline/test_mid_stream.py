"""Mid-stream start: a group is checked once its state is known, and never wrongly rejected."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from support.economy import few_or_many
from support.needs import needs_packages

needs_packages("pandas", "pyarrow", "pyspark")

from groupcheck.pipeline.recordings.replay import Replay  # noqa: E402
from groupcheck.properties.histories.events import Event  # noqa: E402
from groupcheck.properties.histories.recording_file import read  # noqa: E402
from support.production import Production  # noqa: E402
from support.replayed import all_rows, as_events, at_once, one_by_one  # noqa: E402
from support.walked_recordings import walk  # noqa: E402

PROFILES = ("2.7", "4.1")


def verdict(replay: Replay) -> dict[str, Any]:
    """The verdict on a history."""
    return next(row for name, row in replay.end() if name == "verdict")


def checked(rows: list[Event]) -> dict[str, Any]:
    """The verdict on rows, one by one."""
    return verdict(one_by_one(rows))


@pytest.mark.slow
@pytest.mark.parametrize("histories", few_or_many(8, 30))
@pytest.mark.parametrize("profile", PROFILES)
def test_an_allowed_history_without_its_first_events_is_not_rejected(
    profile: str, histories: int
) -> None:
    known = 0
    for seed in range(histories):
        walked = walk(profile, seed, 200)
        assert checked(walked.rows())["verdict"] == "accepted"
        pick = Random(seed)
        for begin in (1, pick.randrange(2, 60), pick.randrange(60, 150)):
            found = checked(walked.rows(begin))
            assert found["verdict"] != "rejected", (seed, begin, found)
            known += found["verdict"] == "accepted"
    assert known > histories // 3


@pytest.mark.parametrize("histories", few_or_many(6, 20))
@pytest.mark.parametrize("profile", PROFILES)
def test_an_allowed_history_is_not_rejected_after_a_gap(profile: str, histories: int) -> None:
    known = 0
    for seed in range(100, 100 + histories):
        walked = walk(profile, seed, 200)
        pick = Random(seed)
        begin = pick.randrange(2, 80)
        found = checked(walked.rows(gap=range(begin, begin + pick.randrange(1, 40))))
        assert found["verdict"] == "undecided", (seed, found)
        known += "checked from" in found["reason"]
    assert known


def middle(profile: str, seed: int, begin: int) -> list[Event]:
    """The events of a group in production, without the first ones."""
    rows = as_events(Production(Random(seed), profile).go(3_000)[begin:], profile)
    header = {**json.loads(rows[0].body or ""), "before": True}
    return [rows[0]._replace(body=json.dumps(header)), *rows[1:]]


def since(reason: str) -> int:
    """The first line that is checked."""
    return int(reason.split("from line ")[1].split(maxsplit=1)[0])


def spoilt(rows: list[Event], random: Random) -> tuple[list[Event], int]:
    """The rows with one response changed to an error that is not allowed there, and its line."""
    good = [
        n
        for n, row in enumerate(rows)
        if row.kind == "response" and row.api == "Heartbeat" and row.body == '{"errorCode":0}'
    ]
    at = random.choice(good)
    bad = rows[at]._replace(body=f'{{"errorCode":{random.choice((16, 82, 25, 22))}}}')
    return [*rows[:at], bad, *rows[at + 1 :]], bad.line


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_a_wrong_response_is_a_finding_once_the_state_is_known(profile: str) -> None:
    found = known = 0
    for seed in range(8):
        rows = middle(profile, seed, 300 + 50 * seed)
        allowed = checked(rows)
        if allowed["verdict"] == "undecided":
            continue
        bad, line = spoilt(rows, Random(seed))
        row = checked(bad)
        known += line > since(allowed["reason"])
        found += row["verdict"] == "rejected"
        assert row["verdict"] == "accepted" or row["line"] == line
    assert 0 < found <= known
    assert found >= known - 2  # not while a rebalance is under way that old members are part of


@pytest.mark.slow
def test_the_fast_path_checks_a_mid_stream_history_as_the_oracle_does() -> None:
    for seed in range(3):
        rows = middle("2.7", seed, 400)
        assert all_rows(at_once(rows)) == all_rows(one_by_one(rows))
        bad, _ = spoilt(rows, Random(seed))
        assert all_rows(at_once(bad)) == all_rows(one_by_one(bad))


def test_a_version_whose_timers_outlive_members_is_undecided() -> None:
    row = checked(middle("0.10.2", 1, 300))
    assert (row["verdict"], row["reason"]) == (
        "undecided",
        "it existed before the recording began",
    )


@pytest.mark.slow
def test_the_recording_of_a_finding_has_the_same_finding() -> None:
    bad = next(
        rows
        for seed in range(20)
        for rows, _ in [spoilt(middle("2.7", seed, 300), Random(seed))]
        if checked(rows)["verdict"] == "rejected"
    )
    finding = next(row for name, row in one_by_one(bad).end() if name == "finding")
    lines = finding["recording"].splitlines(keepends=True)
    assert json.loads(lines[0])["groups"] == ["group"]
    (recorded,) = read((line.encode() for line in lines), "again")
    rows = recorded.events
    again = next(row for name, row in one_by_one(rows).end() if name == "finding")
    same = ("kind", "api", "seen", "allowed", "because", "refused")
    assert [again[name] for name in same] == [finding[name] for name in same]
