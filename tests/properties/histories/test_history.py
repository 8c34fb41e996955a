"""Histories of overlapping requests: accepted if and only if an allowed order explains them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from groupcheck.properties.histories.history import Operation, Setting
from groupcheck.properties.histories.history_checker import (
    GroupsChecked,
    _choices,
    check_group_history,
    check_groups,
)
from groupcheck.properties.histories.history_file import load
from groupcheck.properties.histories.linearize import Search
from groupcheck.properties.tolerances import Tolerances
from support.economy import slow_if
from support.every_order import explained
from support.overlapping import Interrupted, Line, Overlapping, spoiled, write

MOST_POINTS = 100_000
USUAL = Tolerances()
EXACT = Tolerances(late_ms=0)
FAULTS = (("crash",), ("unload", "load"), ("cleanup", "crash", "unload", "load"))
both_versions = pytest.mark.parametrize("profile", ["2.7", "4.1"])


def checked(lines: list[Line], directory: Path, tolerances: Tolerances = USUAL) -> GroupsChecked:
    return check_groups(load(write(lines, directory / "history.jsonl")), tolerances, MOST_POINTS)


def accepted(lines: list[Line], directory: Path, tolerances: Tolerances = USUAL) -> bool:
    found = checked(lines, directory, tolerances)
    assert found.undecided is None
    return found.rejected is None


@both_versions
@pytest.mark.parametrize(("way_ms", "think_ms"), [(8, 10), (20, 3_000), (600, 1_500), (50, 9_000)])
@pytest.mark.parametrize("seed", slow_if(bool, range(3)))
def test_a_history_with_overlapping_requests_is_accepted(
    profile: str, way_ms: int, think_ms: int, seed: int, tmp_path: Path
) -> None:
    made = Overlapping(seed, clients=4, profile=profile, way_ms=way_ms, think_ms=think_ms)
    assert accepted(made.run(150), tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_without_slack_an_operation_takes_effect_at_any_millisecond_of_its_time(
    seed: int, tmp_path: Path
) -> None:
    made = Overlapping(seed, clients=2, way_ms=4, delay_ms=5)
    assert accepted(made.run(40), tmp_path, EXACT)


@both_versions
@pytest.mark.parametrize("seed", range(10))
def test_an_answer_that_no_order_explains_is_found(profile: str, seed: int, tmp_path: Path) -> None:
    lines = Overlapping(seed, profile=profile).run(120)
    answered = [line["id"] for line in lines if line["type"] == "response"]
    number = Random(seed).choice(answered[:-10])
    rejected = checked(spoiled(lines, number), tmp_path).rejected
    assert rejected is not None
    assert rejected.verdict.allowed is False
    blamed = [each.about for each in rejected.verdict.refusals]
    asked = {n: o.request for n, o in enumerate(rejected.operations) if not o.is_fault}
    assert number in {asked[n].request_id for n in blamed}


def test_each_group_is_checked_on_its_own(tmp_path: Path) -> None:
    lines = Overlapping(groups=("one", "two", "three")).run(300)
    found = checked(lines, tmp_path)
    assert (found.groups, found.rejected) == (3, None)
    assert found.operations >= 300
    number = next(
        line["id"]
        for line in lines[300:]
        if line.get("api") == "Heartbeat" and line["body"]["groupId"] == "two"
    )
    rejected = checked(spoiled(lines, number), tmp_path).rejected
    assert rejected is not None
    assert rejected.group_id == "two"


@both_versions
@pytest.mark.parametrize("slow", [False, True], ids=["at-once", "slow"])
@pytest.mark.parametrize("faults", FAULTS, ids="-".join)
@pytest.mark.parametrize(("seed", "think_ms"), [(0, 10), (1, 2_000)])
def test_a_history_with_faults_is_accepted(  # noqa: PLR0913 - a row, and a fixture
    profile: str, faults: tuple[str, ...], seed: int, think_ms: int, tmp_path: Path, *, slow: bool
) -> None:
    lines = Interrupted(seed, faults, slow=slow, profile=profile, think_ms=think_ms).run(80)
    assert accepted(lines, tmp_path)
    assert any(line["type"] == "fault" for line in lines)


@pytest.mark.parametrize(("profile", "seed"), [("2.7", 2), ("2.7", 3), ("4.1", 3)])
def test_a_history_that_needs_a_crash_is_rejected_unless_crashes_are_assumed(
    profile: str, seed: int, tmp_path: Path
) -> None:
    lines = Interrupted(seed, profile=profile, think_ms=500, chance=0.05).run(60)
    assert accepted(lines, tmp_path)
    assert checked([x for x in lines if x["type"] != "fault"], tmp_path).rejected is not None
    for line in lines:
        if line["type"] == "fault":
            del line["endMs"]
    assert accepted(lines, tmp_path)


@both_versions
@pytest.mark.parametrize("seed", range(4))
def test_a_crash_does_not_explain_a_wrong_response(profile: str, seed: int, tmp_path: Path) -> None:
    lines = Interrupted(seed, profile=profile).run(80)
    answered = [line["id"] for line in lines if line["type"] == "response"]
    assert checked(spoiled(lines, answered[-15]), tmp_path).rejected is not None


def small(random: Random, seed: int, appends: str) -> list[Line]:
    """A few operations and perhaps faults, some without a response, some with a wrong one."""
    options: dict[str, Any] = {"clients": 2, "way_ms": 6, "think_ms": 3, "delay_ms": 0}
    if appends == "no-faults":
        lines = Overlapping(seed, **options).run(6)
    else:
        profile, faults = random.choice(("2.7", "4.1")), random.choice(FAULTS)
        slow = appends == "slow"
        made = Interrupted(seed, faults, slow=slow, chance=0.3, profile=profile, **options).run(5)
        most = [line for line in made if line["type"] == "fault"][:2]
        lines = [line for line in made if line["type"] != "fault" or line in most]
        for line in most:
            if random.random() < 0.3:
                del line["endMs"]
    answers = [line for line in lines if line["type"] == "response"]
    for line in random.sample(answers, min(2, len(answers))):
        if random.random() < 0.4:
            line["body"] = None
        elif "errorCode" in line["body"] and random.random() < 0.6:
            line["body"]["errorCode"] = random.choice((0, 16, 22, 25, 27))
    return lines


@pytest.mark.parametrize("appends", ["no-faults", "at-once", "slow"])
@pytest.mark.parametrize("part", range(8))
def test_the_verdict_on_small_histories_equals_that_of_trying_every_order(
    part: int, appends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With the names of the search; another test checks that it names members correctly.
    searched: list[tuple[tuple[Operation, ...], Setting]] = []

    class Noting(Search):
        def __init__(self, operations: tuple[Operation, ...], setting: Setting) -> None:
            searched.append((operations, setting))
            super().__init__(operations, setting)

    monkeypatch.setattr("groupcheck.properties.histories.history_checker.Search", Noting)
    verdicts = set()
    for seed in range(10 * part, 10 * part + 10):
        lines = small(Random(seed), seed, appends)
        noted = load(write(lines, tmp_path / "history.jsonl"))
        (group,) = noted.groups
        setting = Setting(noted.profile, noted.broker, open_appends=appends == "slow")
        searched.clear()
        _, verdict = check_group_history(group, setting)
        assert verdict.allowed is any(explained(*each) for each in searched), seed
        verdicts.add(verdict.allowed)
    assert verdicts == {False, True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "unseen"),
    [
        ("unseen", {"Heartbeat"}),
        ("unseen", {"JoinGroup"}),
        ("unseen", {"SyncGroup", "OffsetCommit"}),
        ("unseen", {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"}),
        ("unknown", {"Heartbeat"}),
    ],
    ids=lambda what: what if isinstance(what, str) else "-".join(sorted(what)),
)
def test_unobserved_responses_are_not_checked_and_the_others_are(
    how: str, unseen: set[str], tmp_path: Path
) -> None:
    lines = Overlapping(1).run(80)
    asked = {line["id"]: line["api"] for line in lines if line["type"] == "request"}
    kept = []
    for line in lines:
        if line["type"] == "response" and asked[line["id"]] in unseen:
            if how == "unknown":
                continue
            line["body"] = None
        kept.append(line)
    assert accepted(kept, tmp_path)
    seen = [line["id"] for line in kept if line["type"] == "response" and line["body"]]
    number = next(n for n in seen[len(seen) // 2 :] if asked[n] == "OffsetFetch")
    assert not accepted(spoiled(kept, number), tmp_path)


def test_each_way_to_have_the_members_is_tried_once() -> None:
    options: list[list[str | None]] = [["#1", "#2", None], ["#1", None], ["#2", "#1", None]]
    found = list(_choices(options))
    every = [
        [*each]
        for each in product(*options)
        if len(some := [c for c in each if c is not None]) == len(set(some))
    ]
    assert found == every
    assert list(_choices([])) == [[]]
    assert next(_choices([[None]] * 5_000)) == [None] * 5_000
