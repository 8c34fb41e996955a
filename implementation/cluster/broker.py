"""A broker: its registration and session, its controller, its replicas and its coordinator.

KafkaServer.scala and KafkaApis.scala at tag 2.7.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from groupcheck.implementation.cluster import events, nodes
from groupcheck.implementation.cluster.access import Access
from groupcheck.implementation.cluster.batch import Channels, Metadata
from groupcheck.implementation.cluster.controller import Controller
from groupcheck.implementation.cluster.coordinator import (
    OFFSETS_TOPIC,
    GroupCoordinator,
    OffsetsLog,
)
from groupcheck.implementation.cluster.events import AlterIsrReceived, AlterIsrResults, Event
from groupcheck.implementation.cluster.nodes import LeaderAndIsr, TopicPartition
from groupcheck.implementation.cluster.replicas import HostedPartition, Replicas
from groupcheck.implementation.cluster.requests import (
    ControlRequest,
    LeaderAndIsrRequest,
    PartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
)
from groupcheck.implementation.cluster.store import Store, UnavailableError
from groupcheck.model.brokers import DURING_DELETE


class Options(NamedTuple):
    """The configuration of brokers.

    Args:
        unclean: `unclean.leader.election.enable`.
        metadata: which UpdateMetadata a controller sends; other than ALL, each leader is taken to
            be in the metadata of its followers.
        older: whether brokers do what Kafka 2.4 does, and not 2.7.
    """

    unclean: bool = False
    metadata: Metadata = Metadata.ALL
    older: bool = False


class Broker:
    """A running broker.

    Args:
        number: its id.
        store: where it opens its session.
        logs: the partitions on its disk.
        log: the offsets topic.
        on_sent: is called with a request that may have been sent when its connection ends.
        options: of the broker.
        registrations: takes the epoch of each registration.
        endpoint: that it registers.

    Attributes:
        partitions: in its metadata, as the last UpdateMetadata about each of them has it.
        live: brokers in its metadata, with host and port.
        controller_id: in its metadata, or None.
        changed: the partitions whose ISR it has written, and not announced.

    Raises:
        NodeExistsError: the id is registered.
        StoreError: the store cannot be used; no session is left.
    """

    def __init__(  # noqa: PLR0913 - what is outside of a broker
        self,
        number: int,
        store: Store,
        logs: set[TopicPartition],
        log: OffsetsLog,
        on_sent: Callable[[int, ControlRequest], None],
        *,
        options: Options,
        registrations: list[int],
        endpoint: tuple[str, int] = ("localhost", 9092),
    ) -> None:
        self.number = number
        self._store = store
        self._endpoint = endpoint
        self.access = Access(store.open())
        self.renewing = False
        self.epoch = 0
        self._registrations = registrations
        self.controller_epoch = 0
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self.live: dict[int, tuple[str, int]] = {}
        self.controller_id: int | None = None
        self.changed: set[TopicPartition] = set()
        self.replicas = Replicas(number, logs)
        if options.metadata is Metadata.ALL:
            self.replicas.available = set()
        self.coordinator = GroupCoordinator(
            number, log, lambda each: self.replicas.leads(TopicPartition(OFFSETS_TOPIC, each))
        )
        self.controller = Controller(
            number,
            self.access,
            self._register,
            Channels(on_sent),
            metadata=options.metadata,
            unclean=options.unclean,
            older=options.older,
        )
        try:
            self.access.create_top_level()
            self._register()
        except BaseException:
            self.access.session.close()
            raise
        self.controller.put(Event(events.STARTUP))

    @property
    def leaders(self) -> dict[TopicPartition, int]:
        """By partition, the leader in its metadata."""
        return {each: partition.state.leader for each, partition in self.partitions.items()}

    def _register(self) -> None:
        """KafkaServer.scala:312."""
        data = nodes.broker_data(*self._endpoint, timestamp=0)
        self.epoch = self.access.register_broker(self.number, data)
        self._registrations.append(self.epoch)

    def renew(self) -> None:
        """Learn that the session has ended: Expire is next (KafkaController.scala:165)."""
        self.renewing = True
        self.controller.drop_events()
        self.controller.put(Event(events.EXPIRE))

    def handle(self) -> None:
        """Handle the next controller event; after Expire there is a new session.

        While the store cannot be reached, Expire is the next event again: a broker tries forever
        (ZooKeeperClient.scala, reinitialize).
        """
        if self.controller.handle() != Event(events.EXPIRE):
            return
        self.access.session.close()
        try:
            self.access.session = self._store.open()
        except UnavailableError:
            self.controller.put(Event(events.EXPIRE))
            return
        self.renewing = False
        self.controller.put(Event(events.REGISTER))

    def receive(self, request: ControlRequest) -> StopReplicaResponse | None:
        """Handle a request of a controller; return the answer to StopReplica.

        KafkaApis.scala:212, 251, 307.
        """
        error = ""
        if request.broker_epoch < self.epoch:
            error = "STALE_BROKER_EPOCH"
        elif request.controller_epoch < self.controller_epoch:
            error = "STALE_CONTROLLER_EPOCH"
        else:
            self.controller_epoch = request.controller_epoch
        if isinstance(request, StopReplicaRequest):
            return StopReplicaResponse(error, {} if error else self._stop(request))
        if not error and isinstance(request, LeaderAndIsrRequest):
            self._lead_or_follow(request)
        elif not error and isinstance(request, UpdateMetadataRequest):
            self._update_metadata(request)
        return None

    def _lead_or_follow(self, request: LeaderAndIsrRequest) -> None:
        leaders, followers = self.replicas.become(request.partitions)
        for each in leaders:
            if each.topic == OFFSETS_TOPIC:
                self.coordinator.elected(each.partition)
        for each in followers:
            if each.topic == OFFSETS_TOPIC:
                self.coordinator.resigned(each.partition)

    def _stop(self, request: StopReplicaRequest) -> dict[TopicPartition, str]:
        errors = self.replicas.stop(request.partitions)
        for each, error in errors.items():
            deleted = not error and request.partitions[each].delete
            if deleted and each.topic == OFFSETS_TOPIC:
                self.coordinator.resigned(each.partition)
        return errors

    def _update_metadata(self, request: UpdateMetadataRequest) -> None:
        """MetadataCache.scala:287."""
        self.live = request.live
        self.controller_id = request.controller
        if self.replicas.available is not None:
            self.replicas.available = set(request.live)
        deleted = []
        for each, partition in request.partitions.items():
            if partition.state.leader == DURING_DELETE:
                self.partitions.pop(each, None)
                deleted.append(each)
            else:
                self.partitions[each] = partition
        self.coordinator.deleted(deleted)

    def write_isr(self, of: TopicPartition, isr: tuple[int, ...]) -> None:
        """Write the in-sync replicas of a partition that the broker leads.

        Partition.scala:1172, 2.4.1.
        """
        hosted = self.replicas.hosted[of]
        state = LeaderAndIsr(
            self.number, hosted.leader_epoch, isr, hosted.version, hosted.controller_epoch
        )
        version = self.access.write_isr(of, state)
        if version is not None:
            hosted.isr, hosted.version = isr, version
            self.changed.add(of)

    def announce_isrs(self) -> None:
        """Tell the controller which it has written (ReplicaManager.scala:294, 2.4.1)."""
        self.access.announce_isrs(sorted(self.changed))
        self.changed.clear()

    def alter_isr(self, of: TopicPartition, isr: tuple[int, ...]) -> AlterIsrReceived:
        """Ask for other in-sync replicas of a partition that the broker leads."""
        hosted = self.replicas.hosted[of]
        state = self.replicas.propose(of, isr)

        def answer(error: str, results: AlterIsrResults) -> None:
            _answered(hosted, state, error, results.get(of))

        return AlterIsrReceived(self.number, self.epoch, {of: state}, answer)


def _answered(
    hosted: HostedPartition, asked: LeaderAndIsr, error: str, result: LeaderAndIsr | str | None
) -> None:
    """Take an answer to AlterIsr (AlterIsrManager.scala:130, Partition.scala:1422).

    After an error of the request Kafka sends it again; here the leader may. After an error of the
    partition the leader does not ask again, until it hears of a new leader epoch: if the error is
    not one of the three that are final, it tries to, but the request that is being answered is in
    the way (AlterIsrManager.scala:69), and the IllegalStateException leaves the proposal.
    """
    if hosted.proposed is not asked:
        return
    if error:
        hosted.proposed = None
    elif isinstance(result, LeaderAndIsr) and hosted.expects(result):
        hosted.isr, hosted.version, hosted.proposed = result.isr, result.version, None
