"""An explored space in figures; that TLC counts the same is held in test_pluscal."""

from __future__ import annotations

import pytest

from groupcheck.model.engine.exploration import StateSpace, explore
from groupcheck.model.engine.statistics import Degrees, statistics
from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.profiles import PROFILES


@pytest.fixture(scope="module")
def space() -> StateSpace:
    return explore(virtual_time_instances(PROFILES["2.7"], 2)["metadata"])


def test_every_edge_is_counted_for_one_action_and_for_the_state_it_leaves(
    space: StateSpace,
) -> None:
    counted = statistics(space)
    assert counted.generated == space.transition_count + 1
    assert sum(counted.actions.values()) == counted.edges == space.transition_count
    assert counted.out_degree.mean == counted.edges / counted.states
    assert counted.rules == space.applied


def test_every_state_but_the_first_is_discovered_once(space: StateSpace) -> None:
    counted = statistics(space)
    assert round(counted.discovered.mean * counted.states) == counted.states - 1
    assert counted.discovered.most <= counted.out_degree.most


def test_the_95th_percentile_is_of_the_nearest_rank(space: StateSpace) -> None:
    loops = space.edges[0]
    star = space._replace(
        nodes=space.nodes[:20], edges=tuple(loops[: n + 1] for n in range(5)) + (loops[:1],) * 15
    )
    assert statistics(star).out_degree == Degrees(1, 1.5, 4, 5)
