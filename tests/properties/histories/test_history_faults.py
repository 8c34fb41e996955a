"""Histories in which something happens to the coordinator: some moment explains it, or none."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from groupcheck.properties.histories.history import Operation, Setting
from groupcheck.properties.histories.history_file import load
from groupcheck.properties.histories.linearize import Search
from groupcheck.properties.histories.many_groups import (
    GroupsChecked,
    check_group_history,
    check_groups,
)
from groupcheck.properties.tolerances import Tolerances
from support.breaking import Breaking
from support.every_order import explained
from support.overlapping import Line, spoiled, write

MOST_POINTS = 100_000
HAPPENS = (("crash",), ("unload", "load"), ("cleanup", "crash", "unload", "load"))


def checked(lines: list[Line], directory: Path) -> GroupsChecked:
    return check_groups(load(write(lines, directory / "history.jsonl")), Tolerances(), MOST_POINTS)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
@pytest.mark.parametrize("slow", [False, True], ids=["at-once", "slow"])
@pytest.mark.parametrize("happens", HAPPENS, ids="-".join)
@pytest.mark.parametrize(("seed", "think_ms"), [(0, 10), (1, 2_000)])
def test_a_history_with_faults_is_accepted(  # noqa: PLR0913 - a row, and a fixture
    profile: str, happens: tuple[str, ...], seed: int, think_ms: int, tmp_path: Path, *, slow: bool
) -> None:
    lines = Breaking(seed, happens, slow=slow, profile=profile, think_ms=think_ms).run(80)
    found = checked(lines, tmp_path)
    assert (found.rejected, found.undecided) == (None, None)
    assert any(line["type"] == "fault" for line in lines)


@pytest.mark.parametrize(("profile", "seed"), [("2.7", 2), ("2.7", 3), ("4.1", 3)])
def test_a_history_that_needs_a_crash_is_rejected_unless_crashes_are_assumed(
    profile: str, seed: int, tmp_path: Path
) -> None:
    lines = Breaking(seed, profile=profile, think_ms=500, chance=0.05).run(60)
    assert checked(lines, tmp_path).rejected is None
    assert checked([x for x in lines if x["type"] != "fault"], tmp_path).rejected is not None
    for line in lines:
        if line["type"] == "fault":
            del line["endMs"]
    found = checked(lines, tmp_path)
    assert (found.rejected, found.undecided) == (None, None)


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
@pytest.mark.parametrize("seed", range(4))
def test_a_crash_does_not_explain_a_wrong_response(profile: str, seed: int, tmp_path: Path) -> None:
    lines = Breaking(seed, profile=profile).run(80)
    answered = [line["id"] for line in lines if line["type"] == "response"]
    assert checked(spoiled(lines, answered[-15]), tmp_path).rejected is not None


def _small(random: Random, seed: int, *, slow: bool) -> list[Line]:
    """A few operations and events, some not seen, some answered as they were not."""
    profile, happens = random.choice(("2.7", "4.1")), random.choice(HAPPENS)
    made = Breaking(
        seed,
        happens,
        slow=slow,
        chance=0.3,
        clients=2,
        profile=profile,
        way_ms=6,
        think_ms=3,
        delay_ms=0,
    )
    lines, events = [], 0
    for line in made.run(5):
        events += line["type"] == "fault"
        if line["type"] != "fault" or events <= 2:
            lines.append(line)
    for line in lines:
        if line["type"] == "fault" and random.random() < 0.3:
            del line["endMs"]
    answers = [line for line in lines if line["type"] == "response"]
    for line in random.sample(answers, min(2, len(answers))):
        if random.random() < 0.4:
            line["body"] = None
        elif "errorCode" in line["body"] and random.random() < 0.6:
            line["body"]["errorCode"] = random.choice((0, 16, 22, 25, 27))
    return lines


@pytest.mark.parametrize("slow", [False, True], ids=["at-once", "slow"])
@pytest.mark.parametrize("part", range(8))
def test_the_verdict_on_small_histories_with_events_equals_that_of_trying_every_order(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, slow: bool
) -> None:
    searched: list[tuple[tuple[Operation, ...], Setting]] = []

    class Noting(Search):
        def __init__(self, whole: tuple[Operation, ...], setting: Setting) -> None:
            searched.append((whole, setting))
            super().__init__(whole, setting)

    monkeypatch.setattr("groupcheck.properties.histories.many_groups.Search", Noting)
    verdicts = set()
    for seed in range(10 * part, 10 * part + 10):
        lines = _small(Random(seed), seed, slow=slow)
        noted = load(write(lines, tmp_path / "history.jsonl"))
        (group,) = noted.groups
        setting = Setting(noted.profile, noted.broker, open_appends=slow)
        searched.clear()
        _, verdict = check_group_history(group, setting)
        assert verdict.allowed is any(explained(*each) for each in searched), seed
        verdicts.add(verdict.allowed)
    assert verdicts == {False, True}
