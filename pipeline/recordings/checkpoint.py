"""Saves replays between the batches of a stream, as bytes.

The rules of a profile are functions without names, so a profile is saved by its name.
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


def checkpoint(state: Any) -> bytes:  # noqa: ANN401 - any state
    """The state as bytes."""
    file = io.BytesIO()
    _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(state)
    return file.getvalue()


def restore(data: bytes) -> Any:  # noqa: ANN401 - any state
    """The state; the bytes are trusted, as the checkpoint folder is."""
    return pickle.loads(data)  # noqa: S301 - written by groupcheck
