"""The served APIs and their versions.

The versions of a profile's group APIs are those of its Kafka (`validVersions` of the message
definitions at its tag), as far as the codec has them: the oldest is the oldest that Kafka 4
supports. The other APIs, which consumers need to find a group, have the same versions in every
profile: those that current clients and clients of the profile's version share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple


class Range(NamedTuple):
    """The oldest and the newest served version of an API."""

    oldest: int
    newest: int


# ApiKeys.java.
API_KEYS: Final[Mapping[str, int]] = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "InitProducerId": 22,
    "AddPartitionsToTxn": 24,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "TxnOffsetCommit": 28,
    "DescribeConfigs": 32,
    "DeleteGroups": 42,
    "OffsetDelete": 47,
}
API_NAMES: Final[Mapping[int, str]] = {key: name for name, key in API_KEYS.items()}

AROUND: Final[Mapping[str, Range]] = {
    "Produce": Range(3, 8),
    "Fetch": Range(4, 11),
    "ListOffsets": Range(1, 5),
    "Metadata": Range(0, 9),
    "ApiVersions": Range(0, 3),
    "DescribeConfigs": Range(1, 3),
    "CreateTopics": Range(2, 5),
    "InitProducerId": Range(0, 4),  # producers are idempotent by default
}

# A transactional producer's APIs, served if the coordinator handles markers.
TRANSACTIONS: Final[Mapping[str, Range]] = {
    "AddPartitionsToTxn": Range(0, 2),
    "AddOffsetsToTxn": Range(0, 2),
    "EndTxn": Range(0, 2),
}

# Served by a broker of a cluster.
DELETION: Final[Mapping[str, Range]] = {"DeleteTopics": Range(1, 5)}

SERVED_PROFILES: Final = ("2.7", "4.1")
# The oldest version, and the newest of each profile.
GROUPS: Final[Mapping[str, tuple[int, int, int]]] = {
    "OffsetCommit": (2, 8, 9),
    "OffsetFetch": (1, 7, 9),
    "FindCoordinator": (0, 3, 6),
    "JoinGroup": (0, 7, 9),
    "Heartbeat": (0, 4, 4),
    "LeaveGroup": (0, 4, 5),
    "SyncGroup": (0, 5, 5),
    "DescribeGroups": (0, 5, 6),
    "ListGroups": (0, 4, 5),
    "TxnOffsetCommit": (0, 3, 5),
    "DeleteGroups": (0, 2, 2),
    "OffsetDelete": (0, 0, 0),
}


def served(profile: str, handled: Collection[str]) -> dict[str, Range]:
    """The served APIs and their versions, by name.

    Args:
        profile: the version of Kafka.
        handled: the APIs that the coordinator handles, and those of `DELETION` if they are served.

    """
    groups = {
        name: Range(oldest, newest[SERVED_PROFILES.index(profile)])
        for name, (oldest, *newest) in GROUPS.items()
        if name in handled or name == "FindCoordinator"
    }
    transactions = TRANSACTIONS if {"TxnOffsetCommit", "EndTxn"} <= set(handled) else {}
    deletion = {name: each for name, each in DELETION.items() if name in handled}
    every = {**AROUND, **groups, **transactions, **deletion}
    return {name: every[name] for name in API_KEYS if name in every}
