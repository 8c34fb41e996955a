"""Every space that a verification walks is found again by its name, its members and settings."""

from __future__ import annotations

import pytest

from groupcheck.model.instances.catalogue import instances_named
from groupcheck.model.instances.instance import DELAY, real_clock_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.explored import virtual
from groupcheck.properties.result import Settings


@pytest.mark.parametrize("name", list(PROFILES))
@pytest.mark.parametrize("members", [1, 2, 3])
def test_a_space_is_found_again(name: str, members: int) -> None:
    profile = PROFILES[name]
    broker = {DELAY: 70, "group.max.size": 5}
    tables = [
        virtual(profile, Settings(members=members)),
        virtual(profile, Settings(members=members, every_space=True)),
        real_clock_instances(profile, members, broker),
    ]
    for space, instance in (item for table in tables for item in table.items()):
        assert instance in list(instances_named(profile, space, members, instance.broker))


def test_what_has_other_settings_or_another_name_is_not() -> None:
    profile = PROFILES["2.7"]
    (instance,) = instances_named(profile, "membership", 2, {DELAY: 150_000})
    assert instance.members == 2
    assert not list(instances_named(profile, "membership", 2, {DELAY: 1}))
    assert not list(instances_named(profile, "no such space", 2, {DELAY: 150_000}))
