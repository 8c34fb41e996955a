"""What is said of an exploration on a screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import support.spaces
from groupcheck.model.exploring.exploration import Exploration, Settings, run
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.temporal.counterexamples import (
    Counterexample,
    counterexamples,
    in_order,
    note,
)
from groupcheck.reports.exploration import MODEL, summary
from groupcheck.reports.exploration_record import as_json

pytestmark = pytest.mark.untraced

PROFILE = PROFILES["2.7"]


def _silent(_what: str, _total: int | None) -> Callable[[int], None]:
    return lambda _done: None


@pytest.fixture(scope="module")
def exploration() -> Exploration:
    return support.spaces.exploration(PROFILE.name)


def test_the_figures_stand_in_columns_and_the_verdicts_under_them(
    exploration: Exploration,
) -> None:
    said = summary(exploration, [])
    assert said.startswith("Apache Kafka 2.7.2, 2 members; with symmetry reduction\n")
    lines = {line.split()[0]: line.split() for line in said.splitlines() if line}
    figures = exploration.spaces[0].figures
    counts = [f"{figures.states:,}", f"{figures.edges:,}", str(figures.depth)]
    assert lines["membership"][1:4] == counts
    assert lines["applied"][1:3] == ["all", str(len(PROFILE.rules))]
    assert "steps" in lines["reached"]
    assert "exactly the state changes of validPreviousStates" in said
    assert "ERROR" not in said


def test_the_page_about_it_shows_lines_that_are_really_printed(exploration: Exploration) -> None:
    page = (Path(__file__).parents[2] / "docs" / "explore.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(group state.*?)```", page, re.DOTALL)
    broken: dict[str, Counterexample] = {}
    for name in ("membership", "reload", "static", "crowded", "expiry"):
        for each in counterexamples(name, support.spaces.explored(PROFILE.name, name)):
            note(broken, each)
    printed = summary(exploration, [], in_order(broken)).splitlines()
    assert all(line in printed for line in shown.splitlines() if line != "...")


def test_no_line_is_wider_than_a_screen(exploration: Exploration) -> None:
    slow = [space._replace(seconds=123.4) for space in exploration.spaces]
    said = [summary(exploration._replace(spaces=slow), [Path("graphs/membership.dot")] * 12)]
    named = run(Settings(PROFILE, 1, symmetry=False), _silent)
    slow = [space._replace(seconds=123.4) for space in named.spaces]
    said += [summary(named._replace(spaces=slow), [])]
    lines = [line for text in said for line in text.splitlines()]
    # A path is as long as it is.
    wide = [line for line in lines if str(MODEL) not in line and len(line) > 110]
    assert not wide


def test_without_symmetry_the_summary_has_the_counts_of_tlc_and_its_command() -> None:
    found = run(Settings(PROFILE, instances=("metadata",), symmetry=False), _silent)
    said = summary(found, [])
    assert f"{found.spaces[0].figures.edges + 1:,}" in said.split()
    assert "tlc2.TLC -deadlock -config metadata.cfg ConsumerGroup.tla" in said
    assert 'Names = {"m1", "m2"}' in said


def test_rules_that_a_part_of_the_model_never_applies_are_listed(exploration: Exploration) -> None:
    metadata = exploration.settings._replace(instances=("metadata",))
    said = summary(run(metadata, _silent), [])
    assert "\nunapplied  " in said
    assert "log/hold" in said
    group = run(metadata._replace(members=1), _silent)
    assert "1 member;" in summary(group, [])


def test_arrows_that_part_of_the_model_does_not_go_along_are_named(
    exploration: Exploration,
) -> None:
    first = exploration.spaces[0]
    arrows = {a: why for a, why in first.projection.arrows.items() if a.target != "Stable"}
    part = exploration._replace(
        settings=exploration.settings._replace(instances=("membership",)),
        spaces=[first._replace(projection=first.projection._replace(arrows=arrows))],
    )
    said = summary(part, [])
    assert "[GroupMetadata.scala], except CompletingRebalance -> Stable" in said
    assert "ERROR" not in said


def test_errors_come_last_and_replace_the_lines_that_they_contradict(
    exploration: Exploration,
) -> None:
    first = exploration.spaces[0]
    arrows = dict(first.projection.arrows)
    arrow = next(iter(arrows))
    arrows[arrow._replace(target="CompletingRebalance")] = arrows.pop(arrow)
    spaces = [first._replace(unreachable=3, projection=first.projection._replace(arrows=arrows))]
    said = summary(exploration._replace(spaces=spaces), [])
    assert "ERROR      3 transitions of membership cannot be reached" in said
    assert "ERROR      Kafka has no arrow absent -> CompletingRebalance" in said
    assert "absent -> CompletingRebalance  " in said
    assert "\nreached" not in said
    assert "\ngroup    " not in said


def test_a_witness_is_printed_step_by_step_with_every_answer(exploration: Exploration) -> None:
    settings = exploration.settings._replace(
        witness="rebalance/elect-leader", instances=("membership",)
    )
    said = summary(run(settings, _silent), [])
    assert "A shortest trace to rebalance/elect-leader (the leader is gone, so another" in said
    assert "  4. A sends LeaveGroup v4\n       <- (to step 2) UNKNOWN_MEMBER_ID (25)" in said


def test_the_json_has_the_printed_values(exploration: Exploration) -> None:
    said = as_json(exploration)
    assert said["format"] == 1
    assert said["errors"] == said["rules_not_applied"] == []
    assert said["witness"] is None
    space = said["instances"][0]
    figures = exploration.spaces[0].figures
    assert (space["name"], space["states"]) == ("membership", figures.states)
    assert space["transitions"] == figures.edges
    assert space["generated"] is None  # by TLC, that is, which knows no such reduction
    assert sum(component["states"] for component in space["components"]) == figures.states
    assert said["group_transitions"]["CompletingRebalance -> Stable"].keys() == {
        "sync/leader-completing",
        "log/release",
    }
