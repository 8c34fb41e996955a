"""Deviations of a port: edits of a profile that allow what the port does."""

from __future__ import annotations

from typing import Final

from groupcheck.model.bodies import shown
from groupcheck.model.classic.edits import MalformedEditError, from_json
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import Edit, UnknownPartError

# A port has few edited profiles, and each test of a verification uses the same one.
_EDITED: Final[dict[tuple[str, ...], Profile]] = {}
MOST_KEPT: Final = 10_000


def deviating(profile: Profile, deviations: tuple[Edit, ...]) -> Profile:
    """The profile with these deviations.

    Raises:
        UnknownPartError: two of them exclude each other, or the profile lacks an edited part.
    """
    if not deviations:
        return profile
    key = (profile.name, *map(str, profile.edits), "+", *map(str, deviations))
    found = _EDITED.get(key)
    if found is None:
        if len(_EDITED) > MOST_KEPT:
            _EDITED.clear()
        *before, last = deviations
        # Profiles with the same first deviations share what the last one does not change.
        found = _EDITED[key] = deviating(profile, tuple(before)).edited(last)
    return found


def deviations_of(profile: Profile, data: object) -> tuple[Edit, ...]:
    """The deviations in a JSON list.

    Raises:
        MalformedEditError: an item is no deviation, or the deviations exclude each other.
    """
    if not isinstance(data, list):
        msg = f"expected a list of edits, got {shown(data)}"
        raise MalformedEditError(msg)
    found = tuple(from_json(each, profile.version) for each in data)
    try:
        deviating(profile, found)
    except UnknownPartError as unknown:
        raise MalformedEditError(*unknown.args) from unknown
    return found
