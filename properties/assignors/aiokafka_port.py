"""The assignors of aiokafka, as `GroupCoordinator._perform_assignment` calls them."""

from __future__ import annotations

from typing import Any

from aiokafka.coordinator.assignors import range as ranges
from aiokafka.coordinator.assignors import roundrobin
from aiokafka.coordinator.assignors.sticky import sticky_assignor
from aiokafka.coordinator.protocol import ConsumerProtocol

from groupcheck.properties.assignors.library import Cluster, Joined, LibraryPort, Sent

CLASSES = (
    ranges.RangePartitionAssignor,
    roundrobin.RoundRobinPartitionAssignor,
    sticky_assignor.StickyPartitionAssignor,
)


class Aiokafka(LibraryPort):
    """aiokafka, which does not read group.instance.id (`_perform_assignment`)."""

    library = "aiokafka"
    logger = "aiokafka"
    assignors = {each.name: each for each in CLASSES}  # noqa: RUF012 - never changed

    def _led(self, made: Any, joined: Joined, cluster: Cluster) -> Sent:  # noqa: ANN401 - the library's
        members = {
            member.id: ConsumerProtocol.METADATA.decode(subscription)
            for member, subscription in joined
        }
        assigned = made.assign(cluster, members)
        return ((member, each.encode()) for member, each in assigned.items())
