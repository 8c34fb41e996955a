"""groupcheck's own cluster, in the initial states of the specification."""

from __future__ import annotations

from itertools import zip_longest

from groupcheck.implementation.cluster.batch import Metadata
from groupcheck.implementation.cluster.broker import Options
from groupcheck.implementation.cluster.cluster import Cluster, PlannedTopic
from groupcheck.implementation.cluster.coordinator import OFFSETS_TOPIC
from groupcheck.implementation.cluster.embedded import EmbeddedStore
from groupcheck.implementation.cluster.store import Store
from groupcheck.implementation.cluster.view import view
from groupcheck.model.brokers import (
    COMMIT,
    CREATE,
    START,
    ClusterInput,
)
from groupcheck.model.cluster.sources import OLDER
from groupcheck.model.cluster.state import Settings
from support.compared_clusters import View


class BuiltinCluster:
    """A cluster of `implementation/cluster`; implements `ClusterUnderTest`.

    Args:
        settings: of the instance.
        store: an empty store; by default one in memory.
    """

    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        topics = [
            PlannedTopic(_name(number, settings), (replicas,), target)
            for number, (replicas, target) in enumerate(
                zip_longest(settings.topics, settings.targets, fillvalue=())
            )
        ]
        metadata = Metadata.OF_PARTITIONS if settings.groups else Metadata.NONE
        options = Options(settings.unclean, metadata, older=settings.version == OLDER)
        self.cluster = Cluster(store or EmbeddedStore(), settings.brokers, topics, options)
        if settings.running:
            self._settle(settings)

    def apply(self, given: ClusterInput) -> None:
        """Give it an input."""
        self.cluster.apply(given)
        self.cluster.settle()

    def view(self) -> View:
        """What it has."""
        return view(self.cluster)

    def _settle(self, settings: Settings) -> None:
        """Start the brokers, so that broker 1 is the controller, and create topics."""
        for broker in range(1, settings.brokers + 1):
            self.apply(ClusterInput(START, broker))
            self.cluster.go_on()
        for topic in range(settings.created):
            self.apply(ClusterInput(CREATE, topic=topic))
            self.cluster.go_on()
        if settings.groups:
            self.apply(ClusterInput(COMMIT, settings.topics[0][0]))


def _name(topic: int, settings: Settings) -> str:
    return OFFSETS_TOPIC if settings.groups and topic == 0 else f"topic-{topic}"
