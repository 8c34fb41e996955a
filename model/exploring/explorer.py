"""Moved to `groupcheck.model.engine.exploration`."""

from groupcheck.model.engine.exploration import Seen, TooManyStatesError, explore, part
from groupcheck.model.engine.exploration import StateSpace as Space
from groupcheck.model.engine.exploration import Transition as Edge

__all__ = ["Edge", "Seen", "Space", "TooManyStatesError", "explore", "part"]
