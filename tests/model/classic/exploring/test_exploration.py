"""Exploring all instances of a version: errors of the model, and invalid settings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from groupcheck.model.classic.exploring import exploration as exploration_of_all
from groupcheck.model.classic.exploring.exploration import (
    Exploration,
    Settings,
    UnfitSettingsError,
    run,
)
from groupcheck.model.classic.instances.instance import Instance, instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.engine.exploration import StateSpace, TooManyStatesError
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.rules import VersionRule
from support.economy import exhaustive_if
from support.spaces import exploration as explored
from support.spaces import whole

pytestmark = pytest.mark.untraced

PROFILE, OLD = PROFILES["2.7"], PROFILES["0.10.2"]  # the instances of 0.10.2 are small


def _silent(_what: str, _total: int | None) -> Callable[[int], None]:
    return lambda _done: None


@pytest.fixture(scope="module")
def exploration() -> Exploration:
    return explored(OLD.name)


@pytest.mark.parametrize("profile", exhaustive_if(lambda name: name in {"2.7", "4.1"}, PROFILES))
def test_the_model_has_no_errors(profile: str) -> None:
    found = explored(profile)
    assert found.errors == []
    assert found.unreached == []
    assert [space.name for space in found.spaces] == list(instances(PROFILES[profile], 2))


def test_every_transition_has_a_witness_one_step_longer_than_the_path_to_its_state(
    exploration: Exploration,
) -> None:
    for space in exploration.spaces:
        assert space.longest_witness == space.statistics.depth + 1
        assert sum(len(c.nodes) for c in space.components or ()) == space.statistics.states


def test_a_declared_rule_that_no_transition_applies_is_an_error_where_all_is_explored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shared(instance: Instance, *_: object, **__: object) -> StateSpace:
        return whole(instance._replace(profile=OLD))

    monkeypatch.setattr(exploration_of_all, "explore", shared)
    rule = VersionRule("heartbeat/on-a-sunday", "it is Sunday", "nowhere", (), ())
    profile = OLD._replace(rules={**OLD.rules, rule.id: rule})
    assert run(Settings(profile), _silent).errors == [
        "no transition applies the rule heartbeat/on-a-sunday"
    ]
    part = run(Settings(profile, instances=("order",)), _silent)
    assert part.errors == []
    assert "heartbeat/on-a-sunday" in part.unreached


def test_each_fault_of_the_graph_of_an_instance_is_an_error(exploration: Exploration) -> None:
    first = exploration.spaces[0]
    arrows = dict(first.group_graph.arrows)
    arrow = next(iter(arrows))
    arrows[arrow._replace(target="CompletingRebalance")] = arrows.pop(arrow)
    group_graph = first.group_graph._replace(
        arrows=arrows, inconsistent=[TransitionReference(0, 0)]
    )
    broken = exploration._replace(spaces=[first._replace(unreachable=3, group_graph=group_graph)])
    said = "\n".join(broken.errors)
    assert "3 transitions of membership cannot be reached" in said
    assert "1 transitions of membership lead to another state" in said
    assert "Kafka has no group transition absent -> CompletingRebalance" in said
    assert "the model has no group transition absent -> Empty" in said


def test_an_instance_with_more_states_than_allowed_stops_the_exploration(
    exploration: Exploration,
) -> None:
    allowed = exploration.spaces[1].statistics.states
    kept: list[str] = []

    def keep(name: str, _space: StateSpace) -> None:
        kept.append(name)

    settings = Settings(OLD, instances=("metadata", "storing"), most_states=allowed)
    with pytest.raises(TooManyStatesError, match=f"storing has more than {allowed} states"):
        run(settings, _silent, keep)
    assert kept == ["metadata"]  # which has exactly as many


def test_the_shortest_witness_of_all_instances_is_the_witness() -> None:
    small = ("membership", "metadata", "storing")
    found = run(Settings(OLD, instances=small, witness="sync/stable"), _silent)
    alone = [
        run(Settings(OLD, instances=(name,), witness="sync/stable"), _silent) for name in small
    ]
    assert found.witness is not None
    assert "sync/stable" in found.witness.steps[-1].outcome.applied
    assert all("sync/stable" not in step.outcome.applied for step in found.witness.steps[:-1])
    lengths = [len(each.witness.steps) for each in alone if each.witness]
    assert len(found.witness.steps) == min(lengths)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (Settings(PROFILE, instances=("outer",)), "known: membership, metadata, storing, order"),
        (Settings(PROFILE, witness="sync/stabel"), "nearest are sync/stable"),
        (Settings(PROFILE, instances=("metadata",), witness="log/hold"), "no transition of meta"),
        (Settings(PROFILE, symmetry=False, witness="sync/stable"), "with symmetry"),
    ],
)
def test_unfit_settings_are_rejected_with_the_known_values(
    settings: Settings, complaint: str
) -> None:
    with pytest.raises(UnfitSettingsError, match=complaint):
        run(settings, _silent)
