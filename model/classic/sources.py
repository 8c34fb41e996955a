"""Lines of Kafka's source, as rules cite them: one for each version that the model has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupcheck.model.engine.rules import Sources

# Where each version is in Kafka's repository: a tag, and for 4.1 a commit of its branch after the
# tag 4.1.2, whose lines are others.
TAGS: Final[Mapping[str, str]] = {
    "0.10.0": "0.10.0.1",
    "0.10.2": "0.10.2.2",
    "2.7": "2.7.2",
    "4.1": "19d1628f988e7fd523b137b13b20f5b161415d50",
}

_CORE: Final = "core/src/main/scala/kafka"
_SERVER: Final = "group-coordinator/src/main/java/org/apache/kafka/coordinator/group"
_COMMON: Final = "coordinator-common/src/main/java/org/apache/kafka/coordinator/common/runtime"

_SCALA: Final = {
    "APIS": "KafkaApis.scala",
    "DJ": "DelayedJoin.scala",
    "GC": "GroupCoordinator.scala",
    "GM": "GroupMetadata.scala",
    "GMM": "GroupMetadataManager.scala",
    "TIMER": "Timer.scala",
}
_JAVA: Final = {
    "APIS": "KafkaApis.scala",
    "CG": "ClassicGroup.java",
    "CGM": "ClassicGroupMember.java",
    "CR": "CoordinatorRuntime.java",
    "GCS": "GroupCoordinatorService.java",
    "GMM": "GroupMetadataManager.java",
    "OMM": "OffsetMetadataManager.java",
    "SHARD": "GroupCoordinatorShard.java",
    "TIMER": "CoordinatorTimer.java",
}
_FILES: Final = {"0.10.0": _SCALA, "0.10.2": _SCALA, "2.7": _SCALA, "4.1": _JAVA}


def at(v0_10_0: str = "", v0_10_2: str = "", v2_7: str = "", v4_1: str = "") -> Sources:
    """Where each version states something; "" for a version that does not have it.

    A source is `FILE:LINE`; of the files cited most, FILE is the abbreviation above.
    """
    cited = zip(_FILES, (v0_10_0, v0_10_2, v2_7, v4_1), strict=True)
    return {version: _whole(version, source) for version, source in cited if source}


def _whole(version: str, source: str) -> str:
    name, _, line = source.partition(":")
    return f"{_FILES[version].get(name, name)}:{line}"


_FOLDERS: Final = {
    "DelayedProduce.scala": f"{_CORE}/server",
    "KafkaApis.scala": f"{_CORE}/server",
    "KafkaScheduler.scala": f"{_CORE}/utils",
    "Timer.scala": f"{_CORE}/utils/timer",
    "ClassicGroup.java": f"{_SERVER}/classic",
    "ClassicGroupMember.java": f"{_SERVER}/classic",
    "CoordinatorRuntime.java": _COMMON,
    "CoordinatorTimer.java": _COMMON,
}
_OTHERS: Final = {"0.10.0": f"{_CORE}/coordinator", "0.10.2": f"{_CORE}/coordinator"} | {
    "2.7": f"{_CORE}/coordinator/group",
    "4.1": _SERVER,
}


def link(version: str, source: str) -> str:
    """The address of a source in Kafka's repository at the version's tag or commit.

    A source `FILE:LINE of TAG` is at that tag. Minor versions are edits of 2.7.
    """
    version = version if version in TAGS else "2.7"
    source, _, tag = source.partition(" of ")
    name, _, line = source.partition(":")
    folder = _FOLDERS.get(name, _OTHERS[version])
    return f"https://github.com/apache/kafka/blob/{tag or TAGS[version]}/{folder}/{name}#L{line}"
