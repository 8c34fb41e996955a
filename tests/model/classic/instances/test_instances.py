"""The small instances, and instances found by name, members and settings."""

from __future__ import annotations

import pytest

from groupcheck.model.classic.instances.instance import (
    DELAY,
    MAX_SESSION,
    Instance,
    real_clock_instances,
)
from groupcheck.model.classic.instances.small import instances_named, small_instances
from groupcheck.model.classic.profiles import PROFILES
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.exploration import explore
from groupcheck.model.vocabulary import JoinGroupRequest, OffsetFetchRequest, Request
from groupcheck.properties.explored import virtual
from groupcheck.properties.result import Settings
from support.walks import toured

# version, instance -> states, transitions, depth
COUNTS = {
    ("0.10.0", "expiry-crashes"): (56, 1145, 6),
    ("0.10.0", "loners"): (12, 128, 3),
    ("0.10.0", "voting"): (159, 233, 5),
    ("0.10.2", "expiry-crashes"): (148, 3070, 7),
    ("0.10.2", "loners"): (12, 140, 3),
    ("2.7", "crowded"): (61, 848, 8),
    ("2.7", "expiry-crashes"): (601, 11896, 13),
    ("2.7", "loners"): (62, 1746, 6),
    ("2.7", "voting"): (216, 355, 6),
    ("4.1", "crowded"): (91, 1456, 9),
    ("4.1", "expiry-crashes"): (608, 11031, 13),
    ("4.1", "loners"): (48, 1384, 5),
    ("4.1", "voting"): (216, 355, 6),
}


@pytest.mark.parametrize("key", COUNTS, ids="-".join)
def test_a_small_instance_has_exactly_these_states_transitions_and_depth(
    key: tuple[str, str],
) -> None:
    profile, name = key
    space = explore(small_instances(PROFILES[profile], 2)[name])
    assert (len(space.nodes), space.transition_count, space.depth) == COUNTS[key]


@pytest.mark.parametrize("profile", PROFILES)
def test_only_small_instances_of_static_members_or_votes_have_several(profile: str) -> None:
    found = small_instances(PROFILES[profile], 2)
    several = {name for name, instance in found.items() if instance.members > 1}
    assert several <= {"static", "crowded", "voting"}
    assert {"loners", "expiry-crashes", "failover-administration"} <= found.keys()


@pytest.mark.parametrize("profile", ["2.7", "4.1"])
def test_a_single_member_fetches_in_every_version_and_from_the_group_with_the_empty_id(
    profile: str,
) -> None:
    space = explore(small_instances(PROFILES[profile], 2)["loners"])
    assert toured(space).finding is None
    given = [edge.given for edge in space.edges[0] if isinstance(edge.given, Request)]
    fetches = [g for g in given if isinstance(g.body, OffsetFetchRequest)]
    oldest = PROFILES[profile].min_versions.get("OffsetFetch", 0)
    newest = PROFILES[profile].max_versions["OffsetFetch"]
    assert {fetch.api_version for fetch in fetches} == set(range(oldest, newest + 1))
    assert {getattr(fetch.body, "group_id", None) for fetch in fetches} == {"group", ""}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
@pytest.mark.parametrize("members", [1, 2, 3])
def test_each_instance_of_a_verification_is_found_by_its_name_members_and_settings(
    profile: Profile, members: int
) -> None:
    broker = {DELAY: 70, "group.max.size": 5}
    tables = [
        virtual(profile, Settings(members=members)),
        virtual(profile, Settings(members=members, every_instance=True)),
        real_clock_instances(profile, members, broker),
    ]
    for name, instance in (item for table in tables for item in table.items()):
        assert instance in list(instances_named(profile, name, members, instance.broker))


def test_no_instance_is_found_by_other_settings_or_another_name() -> None:
    profile = PROFILES["2.7"]
    (instance,) = instances_named(profile, "membership", 2, {DELAY: 150_000})
    assert instance.members == 2
    assert not list(instances_named(profile, "membership", 2, {DELAY: 1}))
    assert not list(instances_named(profile, "no such instance", 2, {DELAY: 150_000}))


def test_a_refused_session_on_a_real_clock_does_not_end_during_a_test() -> None:
    broker = {MAX_SESSION: 30_000}
    (timed,) = real_clock_instances(PROFILES["2.7"], 1, broker).values()
    (unlimited,) = real_clock_instances(PROFILES["2.7"], 1, {MAX_SESSION: 2**31 - 1}).values()
    virtual_time = virtual(PROFILES["2.7"], Settings(members=1))["membership"]
    assert [_refused_ms(each) for each in (timed, unlimited, virtual_time)] == [30_001, 1, 1]


def _refused_ms(instance: Instance) -> int:
    """The session timeout that is out of range."""
    joins = {
        given.body.session_timeout_ms
        for given in instance.inputs(instance.initial)
        if isinstance(given, Request) and isinstance(given.body, JoinGroupRequest)
    }
    (refused_ms,) = joins - {instance.session_ticks * instance.tick_ms}
    return refused_ms
