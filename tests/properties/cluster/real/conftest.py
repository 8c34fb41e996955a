"""A view of a cluster in which every promise holds."""

from __future__ import annotations

import pytest

from groupcheck.model.brokers import Partition
from groupcheck.properties.cluster.real.views import Answers, ClusterView, Group, TopicNode

OFFSETS_LEADER = 2


@pytest.fixture
def settled() -> ClusterView:
    """Three brokers, broker 1 the controller; topic 0 on brokers 1 and 2, and no topic 1."""
    answers = Answers(controller=1, leaders=(1, -3, 2), coordinator=2, folders=("0",))
    return ClusterView(
        running=(True, True, True),
        paused=(False, False, False),
        controller=1,
        controller_node=70,
        controller_epoch=1,
        controller_version=1,
        registered=(50, 51, 52),
        topics=(TopicNode(90, (1, 2), Partition(1, 0, (1, 2), 1, 0)), None),
        offsets_topic=TopicNode(80, (2, 3, 1), Partition(OFFSETS_LEADER, 4, (2, 3, 1), 1, 6)),
        deletions=(False, False),
        answers=(answers, answers, answers._replace(folders=())),
        group=Group(0, (7, -1)),
        committed=((7,), (-1,)),
    )
