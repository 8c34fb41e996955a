"""The short spaces: as small as they are to be, and gone by the built-in coordinator as a whole."""

from __future__ import annotations

import pytest

from groupcheck.model.engine.exploration import explore
from groupcheck.model.instances.small import small_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.vocabulary import OffsetFetchRequest, Request
from support.fuzzing import toured

# profile, space -> states, transitions, depth
COUNTS = {
    ("0.10.0", "loners"): (12, 110, 3),
    ("0.10.2", "loners"): (12, 122, 3),
    ("2.7", "crowded"): (61, 848, 8),
    ("2.7", "loners"): (62, 1644, 6),
    ("4.1", "crowded"): (91, 1456, 9),
    ("4.1", "loners"): (43, 1170, 5),
}


@pytest.mark.parametrize("key", COUNTS, ids="-".join)
def test_a_short_space_has_exactly_these_states_and_labelled_edges(key: tuple[str, str]) -> None:
    profile, name = key
    space = explore(small_instances(PROFILES[profile], 2)[name])
    assert (len(space.nodes), space.transition_count, space.depth) == COUNTS[key]


@pytest.mark.parametrize("profile", PROFILES)
def test_but_for_static_members_nobody_has_company_in_a_short_space(profile: str) -> None:
    found = small_instances(PROFILES[profile], 2)
    several = {name for name, space in found.items() if space.members > 1}
    assert several <= {"static", "crowded"}
    assert {"loners", "expiry", "failover-administration"} <= found.keys()


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_loners_ask_in_every_version_and_the_group_without_a_name_is_empty(profile: str) -> None:
    space = explore(small_instances(PROFILES[profile], 2)["loners"])
    assert toured(space).finding is None
    given = [edge.given for edge in space.edges[0] if isinstance(edge.given, Request)]
    fetches = [g for g in given if isinstance(g.body, OffsetFetchRequest)]
    oldest = PROFILES[profile].min_versions.get("OffsetFetch", 0)
    newest = PROFILES[profile].max_versions["OffsetFetch"]
    assert {fetch.api_version for fetch in fetches} == set(range(oldest, newest + 1))
    assert {getattr(fetch.body, "group_id", None) for fetch in fetches} == {"group", ""}
