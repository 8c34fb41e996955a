"""The explored spaces: exact counts, so that no change of the model goes unnoticed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupcheck.model.engine.exploration import StateSpace
from groupcheck.model.instances.instance import (
    Instance,
    real_clock_instances,
    spaces,
    virtual_time_instances,
)
from groupcheck.model.profiles import PROFILES
from support.spaces import explored, whole

pytestmark = pytest.mark.untraced

PROFILE, NEWEST = PROFILES["2.7"], PROFILES["4.1"]

# members, space -> states, transitions, depth
COUNTS = {
    (1, "membership"): (61, 682, 19),
    (1, "metadata"): (24, 288, 7),
    (1, "storing"): (126, 2114, 10),
    (1, "order"): (47, 836, 8),
    (2, "membership"): (401, 6589, 17),
    (2, "metadata"): (106, 2039, 9),
    (2, "storing"): (436, 9616, 12),
    (2, "order"): (211, 5574, 10),
    (3, "membership"): (1978, 47214, 18),
    (3, "metadata"): (404, 11576, 13),
    (3, "storing"): (1344, 40156, 15),
    (3, "order"): (807, 30084, 14),
}

# The same of the spaces of 4.1 in which appends are held.
HELD = {
    (1, "storing"): (833, 11808, 13),
    (2, "storing"): (3090, 56401, 14),
    (2, "static-storing"): (2054, 41113, 11),
    (2, "failover"): (1096, 20654, 13),
}


def _instance(members: int, name: str) -> Instance:
    return {**virtual_time_instances(PROFILE, members), **real_clock_instances(PROFILE, members)}[
        name
    ]


@pytest.fixture(scope="module", params=COUNTS, ids=lambda key: f"{key[1]}-{key[0]}")
def counted(request: pytest.FixtureRequest) -> tuple[StateSpace, tuple[int, int, int]]:
    return whole(_instance(*request.param)), COUNTS[request.param]


def test_a_space_has_exactly_these_states_and_labelled_edges(
    counted: tuple[StateSpace, tuple[int, int, int]],
) -> None:
    space, counts = counted
    assert (len(space.nodes), space.transition_count, space.depth) == counts


def test_the_page_of_the_model_tells_the_counts_of_every_space() -> None:
    page = Path(__file__, "../../../../docs/model.md").resolve().read_text(encoding="utf-8")
    told = re.findall(r"^\| `([\w-]+)` \| (\d) \| ([\d,]+) \| ([\d,]+) \|", page, re.MULTILINE)
    assert {name for name, *_ in told} == spaces(PROFILE, 2).keys()
    for name, members, *counts in told:
        if members == "3" and (3, name) in COUNTS:
            states, edges, _ = COUNTS[3, name]
        else:
            space = explored("2.7", name)
            assert space.instance.members == int(members)
            states, edges = len(space.nodes), space.transition_count
        assert counts == [f"{states:,}", f"{edges:,}"], name


@pytest.mark.parametrize("key", HELD, ids=lambda key: f"{key[1]}-{key[0]}")
def test_so_has_a_space_of_4_1_in_which_appends_are_held(key: tuple[int, str]) -> None:
    members, name = key
    space = whole(spaces(NEWEST, members)[name])
    assert (len(space.nodes), space.transition_count, space.depth) == HELD[key]
