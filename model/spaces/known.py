"""The spaces that a verification may have walked, found again by name, members and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupcheck.model.spaces.instance import Instance, feature_spaces, real_spaces, virtual_spaces
from groupcheck.model.spaces.short_spaces import short_spaces
from groupcheck.model.step import Profile


def instances(
    profile: Profile, name: str, members: int, broker: Mapping[str, int]
) -> Iterator[Instance]:
    """The spaces of that name and those settings: which of them it was, its graph alone says."""
    tables = (
        virtual_spaces(profile, members),
        short_spaces(profile, members),
        feature_spaces(profile, members),
        real_spaces(profile, members, broker),
    )
    seen: list[Instance] = []
    for table in tables:
        instance = table.get(name)
        if instance is not None and instance.broker == broker and instance not in seen:
            seen.append(instance)
            yield instance
