"""The optimised coordinator, to embed or to serve."""

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.profiles import PROFILE_2_7, PROFILE_4_1

__all__ = ["PROFILE_2_7", "PROFILE_4_1", "Config", "Coordinator"]
