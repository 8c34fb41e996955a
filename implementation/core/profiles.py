"""The versions of Kafka whose coordinator this is, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupcheck.implementation.core.profile_2_7 import PROFILE_2_7
from groupcheck.implementation.core.profile_4_1 import PROFILE_4_1
from groupcheck.implementation.core.traits import Traits

PROFILES: Final[Mapping[str, Traits]] = MappingProxyType(
    {traits.name: traits for traits in (PROFILE_2_7, PROFILE_4_1)}
)
