"""Moved to `groupcheck.model.engine.lower_bound`."""

from groupcheck.model.engine.lower_bound import every_transition as every_edge
from groupcheck.model.engine.lower_bound import least_steps

__all__ = ["every_edge", "least_steps"]
