"""The instances that a verification may have explored, by name, members and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupcheck.model.instances.instance import (
    Instance,
    feature_instances,
    real_clock_instances,
    virtual_time_instances,
)
from groupcheck.model.instances.small import small_instances
from groupcheck.model.step import Profile


def instances_named(
    profile: Profile, name: str, members: int, broker: Mapping[str, int]
) -> Iterator[Instance]:
    """The instances of that name and those settings: only its graph says which of them it was."""
    tables = (
        virtual_time_instances(profile, members),
        small_instances(profile, members),
        feature_instances(profile, members),
        real_clock_instances(profile, members, broker),
    )
    seen: list[Instance] = []
    for table in tables:
        instance = table.get(name)
        if instance is not None and instance.broker == broker and instance not in seen:
            seen.append(instance)
            yield instance
