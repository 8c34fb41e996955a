"""An explored space in figures; that TLC counts the same is held in test_pluscal."""

from __future__ import annotations

import pytest

from groupcheck.model.exploring.explorer import Space, explore
from groupcheck.model.exploring.figures import Degrees, figures
from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.instance import virtual_spaces


@pytest.fixture(scope="module")
def space() -> Space:
    return explore(virtual_spaces(PROFILES["2.7"], 2)["metadata"])


def test_every_edge_is_counted_for_one_action_and_for_the_state_it_leaves(space: Space) -> None:
    counted = figures(space)
    assert counted.generated == space.edge_count + 1
    assert sum(counted.actions.values()) == counted.edges == space.edge_count
    assert counted.out_degree.mean == counted.edges / counted.states
    assert counted.rules == space.applied


def test_every_state_but_the_first_is_discovered_once(space: Space) -> None:
    counted = figures(space)
    assert round(counted.discovered.mean * counted.states) == counted.states - 1
    assert counted.discovered.most <= counted.out_degree.most


def test_the_95th_percentile_is_of_the_nearest_rank(space: Space) -> None:
    loops = space.edges[0]
    star = space._replace(
        nodes=space.nodes[:20], edges=tuple(loops[: n + 1] for n in range(5)) + (loops[:1],) * 15
    )
    assert figures(star).out_degree == Degrees(1, 1.5, 4, 5)
