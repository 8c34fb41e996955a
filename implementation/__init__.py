"""The optimised coordinator: what one would embed or serve."""

from groupcheck.implementation.config import Config
from groupcheck.implementation.coordinator import Coordinator

__all__ = ["Config", "Coordinator"]
