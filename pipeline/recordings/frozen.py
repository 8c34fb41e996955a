"""Replays that wait for more of their history, as bytes: in a stream they outlive a process.

The rules of a profile are functions without names, so a profile is written down by its own.
"""

from __future__ import annotations

import io
import pickle
from types import MappingProxyType
from typing import Any

from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:  # noqa: ANN401 - as pickle has it
        if isinstance(obj, Profile) and PROFILES.get(obj.name) is obj:
            return _profile, (obj.name,)
        if isinstance(obj, MappingProxyType):
            return MappingProxyType, (dict(obj),)
        return NotImplemented


def _profile(name: str) -> Profile:
    return PROFILES[name]


def freeze(waiting: Any) -> bytes:  # noqa: ANN401 - whatever waits
    """What waits, as bytes."""
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(waiting)
    return file.getvalue()


def thaw(data: bytes) -> Any:  # noqa: ANN401 - whatever waited
    """What waited; the bytes are trusted, as all in a checkpoint is."""
    return pickle.loads(data)  # noqa: S301 - what groupcheck itself has written
