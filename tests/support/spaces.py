"""The explored spaces of two members, each explored once for all the tests that look at it."""

from __future__ import annotations

import gc
from functools import cache

from groupcheck.model.exploration import Exploration, Settings, run
from groupcheck.model.explorer import Space, explore
from groupcheck.model.instance import spaces
from groupcheck.model.profiles import PROFILES


@cache
def explored(profile: str, name: str) -> Space:
    """A space of a profile, which is not to be changed."""
    space = explore(spaces(PROFILES[profile], 2)[name])
    gc.freeze()  # it stays to the end: no collection need look through it
    return space


def every_space(profile: str) -> dict[str, Space]:
    """All spaces of a profile."""
    return {name: explored(profile, name) for name in spaces(PROFILES[profile], 2)}


@cache
def exploration(profile: str) -> Exploration:
    """All spaces of a profile together, as `groupcheck explore` has them."""
    return run(Settings(PROFILES[profile]), lambda _what, _total: lambda _done: None)
