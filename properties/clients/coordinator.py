"""The coordinator of one consumer, which is also its only broker.

It holds back the responses that a specification knows, until they are asked for, and gives all
others at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from time import monotonic
from typing import Final

from groupcheck.model.client import NONE, ClientEvent, ClientInput
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.assignors.consumer_protocol import decoded_subscription
from groupcheck.properties.clients.broker import (
    HOST,
    NODE_ID,
    Broker,
    Connection,
    Fields,
    Request,
    metadata,
)
from groupcheck.properties.ports import codec

TOPIC: Final = "t"
PARTITIONS: Final = (0, 1)
STORED_OFFSET: Final = 5
OTHER_MEMBER: Final = "another-member"  # the leader, when the consumer is not
PROTOCOL_TYPE: Final = "consumer"

# Those of Kafka 2.7, but of Fetch, whose next version has other fields. Java's consumer 2.7 needs a
# broker that offers Produce.
VERSIONS: Final = {
    "Produce": 8,
    "Fetch": 11,
    "ListOffsets": 5,
    "Metadata": 9,
    "OffsetCommit": 8,
    "OffsetFetch": 7,
    "FindCoordinator": 3,
    "JoinGroup": 7,
    "Heartbeat": 4,
    "LeaveGroup": 4,
    "SyncGroup": 5,
}
RETURNING: Final = {"JoinGroup": 9}  # its answer has skipAssignment
# Not in the vocabulary: the coordinator that has one cannot refuse a topic.
TOPIC_AUTHORIZATION_FAILED: Final = 29

MAX_FETCH_S: Final = 0.2
LEADER_S: Final = 1.0  # the longest wait for SyncGroup of a leader


class Coordinator:
    """The coordinator of one consumer; it works only during `serve`.

    `holding` says whether the next Heartbeat is held back, and `held_commits` how many automatic
    commits are; `requests` counts those that arrived in this step, and `fetches` those of Fetch.

    Args:
        group: the id of its group; the connection of a consumer of another one is closed.
        postpones_metadata: whether Metadata waits while the consumer joins, and until a leader has
            sent SyncGroup. The topic is described at once.
        returns: whether JoinGroup has skipAssignment.
    """

    def __init__(
        self, group: str, *, postpones_metadata: bool = False, returns: bool = False
    ) -> None:
        self.broker = Broker(VERSIONS | RETURNING if returns else VERSIONS)
        self._postpones_metadata = postpones_metadata
        self._group = group
        self.holding = False
        self.held_commits = 0
        # The bytes of the next assignment, and of another member's subscription, if any.
        self.assignment: bytes | None = None
        self.subscription: bytes | None = None
        self._muted: list[Request] | None = None  # each Heartbeat while none is answered
        self.requests = self.fetches = 0
        self._held: list[Request] = []
        self._finding = False  # a client may send FindCoordinator again, on another connection
        self._delayed: list[tuple[float, Request]] = []  # Fetch and Metadata, until when
        self._leader_until = 0.0
        self._described = False  # whether Metadata was answered with the topic
        self._protocol = ""  # the first in the latest JoinGroup, and its metadata
        self._metadata = b""
        self._found: ClientInput | None = None  # the answer to FindCoordinator in this step
        self._group_connection: Connection | None = None

    def begin(self, held_commits: int) -> None:
        """Begin a step, in which so many automatic commits are held back."""
        self.requests = self.fetches = 0
        self.held_commits = held_commits
        self._found = None

    def serve(self, wait_s: float) -> list[ClientEvent]:
        """Answer requests for up to so many seconds, and return those that are events."""
        now = monotonic()
        due_s = min((due - now for due, _ in self._delayed if due > now), default=wait_s)
        arrived = list(filter(self._accepts, self.broker.requests(max(min(wait_s, due_s), 0))))
        self.requests += len(arrived)
        events = [event for request in arrived if (event := self._take(request)) is not None]
        self._answer_delayed({id(request.connection) for request in arrived})
        return events

    def holds(self, api: str) -> bool:
        """Whether it holds back a request."""
        self._forget_closed()
        return any(request.api == api for request in self._held)

    def answer(self, given: ClientInput) -> None:
        """Answer the oldest request of an API; all of FindCoordinator."""
        self._forget_closed()
        asked = [request for request in self._held if request.api == given.name]
        if given.name == "FindCoordinator":
            self._found = given if given.error == NONE else None
            self._finding = False
        else:
            del asked[1:]
        if given.leader:
            self._leader_until = monotonic() + LEADER_S
        for request in asked:
            self._held.remove(request)
            request.answer(self._response(request, given))
        self._answer_delayed(set())

    def release(self, *, finding: bool) -> None:
        """Answer what is held with success, but FindCoordinator only on demand."""
        self.holding = False
        self.held_commits = 0
        self.unmute()
        for request in list(self._held):
            if request in self._held and (finding or request.api != "FindCoordinator"):
                self.answer(ClientInput(request.api, NONE))
        self._answer_delayed({id(request.connection) for _, request in self._delayed})

    def hold_heartbeat(self) -> list[ClientEvent]:
        """Hold the next Heartbeat; one whose response waits behind a held request counts as such.

        A client that waits for the response sends no other.
        """
        waiting = [] if self._group_connection is None else self._group_connection.waiting
        if waiting and waiting[-1].api == "Heartbeat" and waiting[-1] not in self._held:
            waiting[-1].response = None
            self._held.append(waiting[-1])
            return [_heartbeat_event(waiting[-1].message)]
        self.holding = True
        return []

    def mute(self) -> None:
        """Answer no Heartbeat until `unmute`."""
        self._muted = []

    def unmute(self) -> None:
        """Answer what came since `mute`."""
        muted, self._muted = self._muted, None
        for request in muted or ():
            request.answer(_no_error(self, request))

    def disconnect(self) -> None:
        """Close the connection to the coordinator: of the oldest group request."""
        self._forget_closed()
        group = [each.connection for each in self._held if each.api != "FindCoordinator"]
        for connection in [*group, self._group_connection]:
            if connection is not None and connection.is_open:
                self.broker.close_connection(connection)
                break

    def close(self) -> None:
        """Close all connections; safe to call twice."""
        self.broker.close()

    def _accepts(self, request: Request) -> bool:
        """Whether a request may be the consumer's; else its connection is closed.

        A consumer that has ended looks for its broker, whose port this one may have now.
        """
        if _group_of(request.message) in (None, self._group):
            return True
        self.broker.close_connection(request.connection)
        return False

    def _take(self, request: Request) -> ClientEvent | None:
        """Answer a request or hold it; return it if it is an event."""
        api = request.api
        if api in _EVENTS and api != "FindCoordinator":
            self._group_connection = request.connection
        if api in ("JoinGroup", "SyncGroup"):
            self._leader_until = 0.0
        if api == "Produce":
            self.broker.close_connection(request.connection)
        elif api in ("Fetch", "Metadata"):
            self.fetches += api == "Fetch"
            self._delayed.append((self._due(request), request))
        elif api in _AT_ONCE:
            request.answer(_AT_ONCE[api](self, request))
        elif api == "Heartbeat" and not self.holding:
            if self._muted is None:
                request.answer(_no_error(self, request))
            else:
                self._muted.append(request)
            return None
        elif api == "OffsetCommit" and _is_automatic(request) and not self.held_commits:
            request.answer(_committed(request, 0))
            return None
        elif api == "FindCoordinator" and self._found is not None:
            # It was under way when an earlier one was answered: another thread of the client sends
            # it, or it comes again on another connection.
            request.answer(self._response(request, self._found))
            return None
        else:
            return self._hold(request)
        return _EVENTS[api](request.message) if api in _EVENTS else None

    def _hold(self, request: Request) -> ClientEvent | None:
        """Hold a request; several of FindCoordinator are one event."""
        repeated = request.api == "FindCoordinator" and self._finding
        self._held.append(request)
        if request.api == "FindCoordinator":
            self._finding = True
        elif request.api == "Heartbeat":
            self.holding = False
        elif request.api == "OffsetCommit" and _is_automatic(request):
            self.held_commits -= 1
        elif request.api == "JoinGroup":
            first = request.message.protocols[0]
            self._protocol, self._metadata = first.name, bytes(first.metadata)
        return None if repeated else _EVENTS[request.api](request.message)

    def _answer_delayed(self, connections: set[int]) -> None:
        """Answer each request that waited long enough, and each Fetch that others wait for."""
        now = monotonic()
        delayed, self._delayed = self._delayed, []
        for due, request in delayed:
            connection = request.connection
            if not connection.is_open:
                continue
            waiting = connection.waiting
            behind = id(connection) in connections and bool(waiting) and waiting[-1] is not request
            if request.api == "Metadata" and not self._postpones(request):
                self._described |= request.message.topics != []
                request.answer(_metadata(self, request))
            elif request.api == "Fetch" and (due <= now or behind):
                request.answer(_fetch(self, request))
            else:
                self._delayed.append((due, request))

    def _due(self, request: Request) -> float:
        """When to answer Fetch, without records; or Metadata, at the latest."""
        if request.api == "Metadata":
            return self._leader_until
        asked_s: float = request.message.max_wait_ms / 1000
        return monotonic() + min(asked_s, MAX_FETCH_S)

    def _postpones(self, request: Request) -> bool:
        """Whether Metadata has to wait."""
        if not self._postpones_metadata or request.connection is self._group_connection:
            return False
        joining = monotonic() < self._leader_until or self.holds("JoinGroup")
        return joining and self._described

    def _forget_closed(self) -> None:
        self._held = [request for request in self._held if request.connection.is_open]

    def _response(self, request: Request, given: ClientInput) -> Fields:
        code = _code(given.error)
        if request.api == "FindCoordinator":
            if code:
                return {"error_code": code, "node_id": -1, "host": "", "port": -1}
            return {"node_id": NODE_ID, "host": HOST, "port": self.broker.port}
        if request.api == "OffsetCommit":
            return _committed(request, code)
        fields: dict[str, object] = {"error_code": code}
        if request.api == "JoinGroup":
            fields |= self._joined(given) if not code else {"member_id": given.member_id}
        elif request.api == "SyncGroup" and not code:
            fields |= {
                "protocol_type": PROTOCOL_TYPE,
                "protocol_name": self._protocol,
                "assignment": self.assignment or _assignment(given.partitions),
            }
        return fields

    def _joined(self, given: ClientInput) -> Fields:
        cls = codec.message_class("JoinGroupResponse").fields["members"]
        members = [cls(member_id=given.member_id, metadata=self._metadata)]
        if self.subscription is not None:
            members.append(cls(member_id=OTHER_MEMBER, metadata=self.subscription))
        return {
            "generation_id": given.generation,
            "protocol_type": PROTOCOL_TYPE,
            "protocol_name": self._protocol,
            "leader": given.member_id if given.leader else OTHER_MEMBER,
            "member_id": given.member_id,
            "members": members if given.leader else [],
            "skip_assignment": given.skips,
        }


def _group_of(message: codec.Message) -> str | None:
    """The id of the group that a request is about, if any."""
    group: str | None = getattr(message, "group_id", None) or getattr(message, "key", None)
    return group


def _code(error: str) -> int:
    if error == "TOPIC_AUTHORIZATION_FAILED":
        return TOPIC_AUTHORIZATION_FAILED
    return int(ErrorCode[error])


def _no_error(coordinator: Coordinator, request: Request) -> Fields:
    del coordinator, request
    return {}


def _metadata(coordinator: Coordinator, request: Request) -> Fields:
    named = request.message.topics
    names = [TOPIC] if named is None else [topic.name for topic in named]
    replicas = [[NODE_ID] for _ in PARTITIONS]
    topics = {name: replicas if name == TOPIC else None for name in names}
    return metadata(coordinator.broker.port, topics)


def _offset_fetch(coordinator: Coordinator, request: Request) -> Fields:
    del coordinator
    cls = codec.message_class("OffsetFetchResponse").fields["topics"]
    asked = request.message.topics
    named = {TOPIC: PARTITIONS} if asked is None else {t.name: t.partition_indexes for t in asked}
    make = cls.fields["partitions"]
    topics = [
        cls(
            name=name,
            partitions=[
                make(partition_index=number, committed_offset=STORED_OFFSET) for number in numbers
            ],
        )
        for name, numbers in named.items()
    ]
    return {"topics": topics}


def _list_offsets(coordinator: Coordinator, request: Request) -> Fields:
    del coordinator
    cls = codec.message_class("ListOffsetsResponse").fields["topics"]
    make = cls.fields["partitions"]
    topics = [
        cls(
            name=topic.name,
            partitions=[
                make(
                    partition_index=each.partition_index,
                    offset=STORED_OFFSET,
                    old_style_offsets=[STORED_OFFSET],
                )
                for each in topic.partitions
            ],
        )
        for topic in request.message.topics
    ]
    return {"topics": topics}


def _fetch(coordinator: Coordinator, request: Request) -> Fields:
    """No records; no session either, so that each Fetch names all partitions."""
    del coordinator
    cls = codec.message_class("FetchResponse").fields["responses"]
    make = cls.fields["partitions"]
    topics = [
        cls(
            topic=topic.topic,
            partitions=[
                make(
                    partition_index=each.partition,
                    high_watermark=STORED_OFFSET,
                    last_stable_offset=STORED_OFFSET,
                    log_start_offset=0,
                    aborted_transactions=None,
                )
                for each in topic.partitions
            ],
        )
        for topic in request.message.topics
    ]
    return {"responses": topics}


def _is_automatic(request: Request) -> bool:
    """Whether a consumer commits its position, not the application another offset."""
    topics = request.message.topics
    return all(each.committed_offset == STORED_OFFSET for t in topics for each in t.partitions)


def _committed(request: Request, code: int) -> Fields:
    cls = codec.message_class("OffsetCommitResponse").fields["topics"]
    make = cls.fields["partitions"]
    topics = [
        cls(
            name=topic.name,
            partitions=[
                make(partition_index=each.partition_index, error_code=code)
                for each in topic.partitions
            ],
        )
        for topic in request.message.topics
    ]
    return {"topics": topics}


def _assignment(partitions: tuple[int, ...]) -> bytes:
    """Some partitions of the topic, as a group's leader encodes them."""
    make = _assignment_class()
    named = [make.TopicPartition(topic=TOPIC, partitions=list(partitions))] if partitions else []
    encoded: bytes = make(version=0, assigned_partitions=named, user_data=None).encode()
    return encoded


@cache
def _assignment_class() -> codec.Message:
    with codec.importing_kafka_python():
        from kafka.protocol.consumer.metadata import (  # noqa: PLC0415 (an extra)
            ConsumerProtocolAssignment,
        )
    return ConsumerProtocolAssignment


def _find_event(message: codec.Message) -> ClientEvent:
    del message
    return ClientEvent("FindCoordinator")


def _join_event(message: codec.Message) -> ClientEvent:
    subscription = decoded_subscription(bytes(message.protocols[0].metadata))
    owned = () if subscription is None else subscription.owned
    numbers = tuple(sorted(partition.number for partition in owned))
    return ClientEvent("JoinGroup", message.member_id, partitions=numbers)


def _sync_event(message: codec.Message) -> ClientEvent:
    leads = bool(message.assignments)
    return ClientEvent("SyncGroup", message.member_id, message.generation_id, leader=leads)


def _heartbeat_event(message: codec.Message) -> ClientEvent:
    return ClientEvent("Heartbeat", message.member_id, message.generation_id)


def _commit_event(message: codec.Message) -> ClientEvent:
    generation = message.generation_id_or_member_epoch
    return ClientEvent("OffsetCommit", message.member_id, generation)


def _leave_event(message: codec.Message) -> ClientEvent:
    members = [member.member_id for member in message.members or ()]
    return ClientEvent("LeaveGroup", members[0] if members else message.member_id)


_EVENTS: Final[Mapping[str, Callable[[codec.Message], ClientEvent]]] = {
    "FindCoordinator": _find_event,
    "JoinGroup": _join_event,
    "SyncGroup": _sync_event,
    "Heartbeat": _heartbeat_event,
    "OffsetCommit": _commit_event,
    "LeaveGroup": _leave_event,
}
_AT_ONCE: Final[Mapping[str, Callable[[Coordinator, Request], Fields]]] = {
    "OffsetFetch": _offset_fetch,
    "ListOffsets": _list_offsets,
    "LeaveGroup": _no_error,
}
