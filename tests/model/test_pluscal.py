"""TLC on the PlusCal text and the explorer on its transcription find the same states."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.model.explorer import Space, explore
from groupcheck.model.figures import figures
from groupcheck.model.instance import Instance, real_spaces, virtual_spaces
from groupcheck.model.profiles import PROFILES
from support import tla
from support.tla_as_model import answered, coordinator

PROFILE = PROFILES["2.7"]
SPACES: dict[str, Instance] = {**virtual_spaces(PROFILE, 2), **real_spaces(PROFILE, 2)}


@pytest.fixture(scope="module", params=SPACES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def space(name: str) -> Space:
    return explore(SPACES[name], symmetry=False)


def test_the_translation_in_the_specification_is_that_of_its_pluscal(tmp_path: Path) -> None:
    assert tla.translated(tmp_path) == tla.SPECIFICATION.read_text(encoding="utf-8")


def test_tlc_and_the_explorer_find_the_same_states_by_the_same_actions(
    name: str, space: Space, tmp_path: Path
) -> None:
    checked = tla.check(tmp_path, tla.config(name, 2))
    counted = figures(space)
    assert checked.distinct == counted.states
    assert checked.generated == counted.generated
    assert checked.depth == counted.depth + 1  # TLC counts states instead of steps
    assert checked.actions == counted.actions
    # The others depend on the order in which a state's successors are looked at.
    assert checked.out_degree[:2] == (round(counted.discovered.mean), counted.discovered.least)
    states = {coordinator(state, space.instance) for state in checked.states}
    assert states == set(space.nodes)


def test_tlc_and_the_explorer_give_the_same_answers_on_the_way_to_each_state(
    name: str, space: Space, tmp_path: Path
) -> None:
    checked = tla.check(tmp_path, tla.config(name, 2, answers=True), exact=False)
    found = {(coordinator(s, space.instance), s["answers"]) for s in checked.states}
    assert checked.distinct == len(found)
    assert found == answered(space)
