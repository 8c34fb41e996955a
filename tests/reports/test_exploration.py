"""The text of an exploration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import support.spaces
from groupcheck.model.classic.exploring.exploration import Exploration, Settings, run
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.progress import silent
from groupcheck.properties.temporal.counterexamples import counterexamples, one_of_each
from groupcheck.reports.exploration import MODEL, summary
from groupcheck.reports.exploration_record import as_record
from support.marked_tests import ROOT

pytestmark = pytest.mark.untraced

PROFILE = PROFILES["2.7"]


@pytest.fixture(scope="module")
def exploration() -> Exploration:
    """Of one instance."""
    return run(Settings(PROFILE, 1, ("membership",)), silent)


@pytest.mark.slow
def test_an_exploration_of_every_instance_is_printed_as_on_the_page_and_fits_a_screen() -> None:
    whole = support.spaces.exploration(PROFILE.name)
    _check_record_and_head(whole)
    _check_width(whole)
    _check_width(run(Settings(PROFILE, 1, symmetry=False), silent))
    page = (ROOT / "docs" / "explore.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(group state.*?)```", page, re.DOTALL)
    violated = [
        each
        for name in ("membership", "reload", "static", "crowded", "expiry")
        for each in counterexamples(name, support.spaces.explored(PROFILE.name, name))
    ]
    printed = summary(whole, [], one_of_each(violated)).splitlines()
    assert all(line in printed for line in shown.splitlines() if line != "...")


def _check_record_and_head(whole: Exploration) -> None:
    said = summary(whole, [])
    assert said.startswith("Apache Kafka 2.7.2, 2 members; with symmetry reduction\n")
    assert f"\napplied    all {len(PROFILE.rules)} rules" in said
    assert "exactly the state changes of validPreviousStates" in said
    assert "ERROR" not in said
    record = as_record(whole, None)
    assert not record.errors
    assert not record.rules_not_applied
    assert record.group_transitions["CompletingRebalance -> Stable"].keys() == {
        "sync/leader-completing",
        "log/release",
    }


def _check_width(found: Exploration) -> None:
    slow = found._replace(spaces=[each._replace(seconds=123.4) for each in found.spaces])
    lines = summary(slow, [Path("graphs/membership.dot")] * 12).splitlines()
    # A path is as long as it is.
    assert not [line for line in lines if str(MODEL) not in line and len(line) > 110]


def test_an_instance_has_its_counts_in_a_row_and_in_its_record(exploration: Exploration) -> None:
    said, record = summary(exploration, []), as_record(exploration, None)
    (row,) = (line.split() for line in said.splitlines() if line.startswith("membership"))
    assert row[1:4] == ["61", "682", "19"]
    assert "reached    all 682 transitions, each in at most 20 steps\n" in said
    (instance,) = record.instances
    counts = ("name", "states", "transitions", "depth", "generated")  # TLC generates with names
    assert [getattr(instance, name) for name in counts] == ["membership", 61, 682, 19, None]
    assert instance.components
    assert sum(component.states for component in instance.components) == 61


def test_without_symmetry_the_summary_has_the_counts_of_tlc_and_its_command() -> None:
    found = run(Settings(PROFILE, instances=("metadata",), symmetry=False), silent)
    said = summary(found, [])
    assert f"{found.spaces[0].statistics.edges + 1:,}" in said.split()
    assert "tlc2.TLC -deadlock -config metadata.cfg ConsumerGroup.tla" in said
    assert 'Names = {"m1", "m2"}' in said


def test_rules_that_a_part_of_the_model_never_applies_are_listed(exploration: Exploration) -> None:
    said = summary(exploration, [])
    assert ", 1 member;" in said
    assert "\nunapplied  " in said
    assert "log/hold" in said
    assert "log/hold" in as_record(exploration, None).rules_not_applied


def test_group_transitions_that_a_part_of_the_model_does_not_take_are_listed(
    exploration: Exploration,
) -> None:
    (first,) = exploration.spaces
    arrows = {a: why for a, why in first.group_graph.arrows.items() if a.target != "Stable"}
    group_graph = first.group_graph._replace(arrows=arrows)
    said = summary(exploration._replace(spaces=[first._replace(group_graph=group_graph)]), [])
    assert "[GroupMetadata.scala], except CompletingRebalance -> Stable" in said
    assert "ERROR" not in said


def test_errors_come_last_and_replace_the_lines_that_they_contradict(
    exploration: Exploration,
) -> None:
    (first,) = exploration.spaces
    arrows = dict(first.group_graph.arrows)
    arrow = next(iter(arrows))
    arrows[arrow._replace(target="CompletingRebalance")] = arrows.pop(arrow)
    group_graph = first.group_graph._replace(arrows=arrows)
    wrong = first._replace(unreachable=3, group_graph=group_graph)
    said = summary(exploration._replace(spaces=[wrong]), [])
    assert "ERROR      3 transitions of membership cannot be reached" in said
    assert "ERROR      Kafka has no group transition absent -> CompletingRebalance" in said
    assert "absent -> CompletingRebalance  " in said
    assert "\nreached" not in said
    assert "\ngroup    " not in said


def test_a_witness_is_printed_step_by_step_with_every_answer() -> None:
    settings = Settings(PROFILE, 2, ("membership",), witness="rebalance/elect-leader")
    said = summary(run(settings, silent), [])
    assert "A shortest trace to rebalance/elect-leader (the leader is removed, so" in said
    assert "  4. A sends LeaveGroup v4\n       <- (to step 2) UNKNOWN_MEMBER_ID (25)" in said
