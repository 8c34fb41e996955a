"""The assignors of kafka-python, as `ConsumerCoordinator._perform_assignment` calls them."""

from __future__ import annotations

from typing import Any

from kafka.coordinator.assignors import cooperative_sticky, roundrobin
from kafka.coordinator.assignors import range as ranges
from kafka.coordinator.assignors.sticky import sticky_assignor
from kafka.protocol.consumer import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from groupcheck.properties.assignors.library import Cluster, Joined, LibraryPort, Sent

CLASSES = (
    ranges.RangePartitionAssignor,
    roundrobin.RoundRobinPartitionAssignor,
    sticky_assignor.StickyPartitionAssignor,
    cooperative_sticky.CooperativeStickyAssignor,
)


class KafkaPython(LibraryPort):
    """kafka-python."""

    library = "kafka-python"
    logger = "kafka"
    assignors = {each.name: each for each in CLASSES}  # noqa: RUF012 - never changed

    def _led(self, made: Any, joined: Joined, cluster: Cluster) -> Sent:  # noqa: ANN401 - the library's
        members = [
            JoinGroupResponse.JoinGroupResponseMember(
                version=5,
                member_id=member.id,
                group_instance_id=member.instance_id,
                metadata=ConsumerProtocolSubscription.decode(subscription),
            )
            for member, subscription in joined
        ]
        assigned = made().assign(cluster, members)
        return ((member, each.encode()) for member, each in assigned.items())
