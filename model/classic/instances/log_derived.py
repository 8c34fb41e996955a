"""The instance that appends every kind of record: one member, two partitions.

It is for checks of logs, not of ports: it has no requests that only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from groupcheck.model import vocabulary as kafka
from groupcheck.model.classic.instances.inputs import NOBODY, OTHER_TOPIC, Feature
from groupcheck.model.classic.instances.instance import Instance, supported
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request, RequestBody

READING: Final = (
    kafka.DescribeGroupsRequest,
    kafka.ListGroupsRequest,
    kafka.OffsetFetchRequest,
    kafka.HeartbeatRequest,
)
APPENDING: Final = frozenset(
    {
        Feature.STATIC_MEMBERS,
        Feature.ADMINISTRATION,
        Feature.TRANSACTIONS,
        Feature.OFFSETS,
        Feature.METADATA,
        Feature.CRASHES,
        Feature.EXPIRY,
    }
)


class Recorded(Instance):
    """Inputs that lead to appends; none only reads."""

    __slots__ = ()

    @property
    def _logged(self) -> bool:
        return True

    def inputs(self, state: Coordinator) -> Iterator[Input]:
        """Inputs that append, or lead to an append; each commit is of one of the partitions."""
        for given in super().inputs(state):
            if not isinstance(given, Request):
                yield given
                continue
            body = given.body
            if isinstance(body, READING) or _comes_to_nothing(body):
                continue
            yield given
            if isinstance(body, kafka.OffsetCommitRequest):
                topics = tuple(each._replace(name=OTHER_TOPIC) for each in body.topics)
                yield given._replace(body=body._replace(topics=topics))


def _comes_to_nothing(body: RequestBody) -> bool:
    """Whether the request is always rejected, or a variant of another one."""
    if isinstance(body, kafka.OffsetCommitRequest):
        named = [each for topic in body.topics for each in topic.partitions]
        other = any(each.committed_metadata or each.commit_age_ms for each in named)
        return other or body.retention_time_ms >= 0 or body.member_id == NOBODY
    if isinstance(body, kafka.SyncGroupRequest):
        other = body.protocol_type == "connect" or body.protocol_name == "roundrobin"
        return other or body.member_id == NOBODY
    if isinstance(body, kafka.LeaveGroupRequest):
        return any(each.member_id == NOBODY for each in body.members)
    return isinstance(body, kafka.TxnOffsetCommitRequest) and body.member_id == NOBODY


def log_instance(profile: Profile) -> Instance:
    """The instance of a version: no time passes, and offsets may expire at once."""
    return Recorded(
        profile,
        1,
        APPENDING & supported(profile),
        300_000,
        1,
        1,
        1,
        settings=MappingProxyType({"offsets.retention.minutes": 0}),
    )
