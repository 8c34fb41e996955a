"""Moved to `groupcheck.model.engine.statistics`."""

from groupcheck.model.engine.statistics import Degrees
from groupcheck.model.engine.statistics import Statistics as Figures
from groupcheck.model.engine.statistics import statistics as figures
from groupcheck.model.spaces.clients import action

__all__ = ["Degrees", "Figures", "action", "figures"]
