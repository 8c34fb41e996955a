"""The explored spaces: exact counts, so that no change of the model goes unnoticed."""

from __future__ import annotations

import pytest

from groupcheck.model.explorer import Space, explore
from groupcheck.model.instance import Instance, real_spaces, virtual_spaces
from groupcheck.model.profiles import PROFILES

PROFILE = PROFILES["2.7"]

# members, space -> states, labelled edges, depth
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


def _instance(members: int, name: str) -> Instance:
    return {**virtual_spaces(PROFILE, members), **real_spaces(PROFILE, members)}[name]


@pytest.fixture(scope="module", params=COUNTS, ids=lambda key: f"{key[1]}-{key[0]}")
def counted(request: pytest.FixtureRequest) -> tuple[Space, tuple[int, int, int]]:
    return explore(_instance(*request.param)), COUNTS[request.param]


def test_a_space_has_exactly_these_states_and_labelled_edges(
    counted: tuple[Space, tuple[int, int, int]],
) -> None:
    space, counts = counted
    assert (len(space.nodes), space.edge_count, space.depth) == counts
