"""TLC on the PlusCal text and the explorer on its transcription find the same states."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.model.clients import Feature
from groupcheck.model.explorer import Space, explore
from groupcheck.model.figures import figures
from groupcheck.model.instance import composed, spaces
from groupcheck.model.profiles import PROFILES
from support import tla
from support.tla_as_model import answered, coordinator

INSTANCES = [(name, space) for name, profile in PROFILES.items() for space in spaces(profile, 2)]


@pytest.fixture(scope="module", params=INSTANCES, ids="-".join)
def space(request: pytest.FixtureRequest) -> tuple[str, Space]:
    profile, name = request.param
    return name, explore(spaces(PROFILES[profile], 2)[name], symmetry=False)


def test_the_translation_in_the_specification_is_that_of_its_pluscal(tmp_path: Path) -> None:
    assert tla.translated(tmp_path) == tla.SPECIFICATION.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", spaces(PROFILES["2.7"], 2))
def test_the_cfg_of_each_space_is_that_of_its_instance(name: str) -> None:
    text = (tla.ROOM / f"{name}.cfg").read_text(encoding="utf-8")
    assert text == tla.config(name, spaces(PROFILES["2.7"], 2)[name])


def test_with_more_generations_told_apart_they_find_the_same_states(tmp_path: Path) -> None:
    features = frozenset({Feature.METADATA, Feature.CRASHES})
    instance = composed(PROFILES["2.7"], 2, features)._replace(generations=3)
    explored = explore(instance, symmetry=False)
    checked = tla.check(tmp_path, tla.config("metadata", instance))
    found = {coordinator(state, instance) for state in checked.states}
    assert found == set(explored.nodes)
    assert {node.group.generation_id for node in found if node.group} == {0, 1, 2, 3}


def test_tlc_and_the_explorer_find_the_same_states_by_the_same_actions(
    space: tuple[str, Space], tmp_path: Path
) -> None:
    name, explored = space
    instance = explored.instance
    checked = tla.check(tmp_path, tla.config(name, instance))
    counted = figures(explored)
    assert checked.distinct == counted.states
    assert checked.generated == counted.generated
    assert checked.depth == counted.depth + 1  # TLC counts states instead of steps
    assert checked.actions == counted.actions
    # The others depend on the order in which a state's successors are looked at.
    assert checked.out_degree[:2] == (round(counted.discovered.mean), counted.discovered.least)
    assert {coordinator(state, instance) for state in checked.states} == set(explored.nodes)


def test_tlc_and_the_explorer_give_the_same_answers_on_the_way_to_each_state(
    space: tuple[str, Space], tmp_path: Path
) -> None:
    name, explored = space
    instance = explored.instance
    text = tla.config(name, instance, answers=True)
    checked = tla.check(tmp_path, text, workers=2, dump="states")
    found = {(coordinator(state, instance), state["answers"]) for state in checked.states}
    assert checked.distinct == len(found)
    assert found == answered(explored)
