"""Moved to `groupcheck.model.engine.trace`."""

from groupcheck.model.engine.trace import TraceStep as Taken
from groupcheck.model.engine.trace import inputs_to as realise
from groupcheck.model.engine.trace import trace_of as along

__all__ = ["Taken", "along", "realise"]
