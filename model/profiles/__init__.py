"""The profiles: for each version of Kafka, which rules hold, in which order, and its defaults.

A profile is data. A rule that differs between versions is named once and listed in the tables of
the versions that have it; no action asks which version it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.model.profiles.kafka_0_10_0 import PROFILE_0_10_0
from groupcheck.model.profiles.kafka_0_10_2 import PROFILE_0_10_2
from groupcheck.model.profiles.kafka_2_7 import PROFILE_2_7
from groupcheck.model.profiles.kafka_4_1 import PROFILE_4_1
from groupcheck.model.step import Profile

PROFILES: Final[Mapping[str, Profile]] = {
    profile.name: profile for profile in (PROFILE_0_10_0, PROFILE_0_10_2, PROFILE_2_7, PROFILE_4_1)
}
