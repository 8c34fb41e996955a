"""librdkafka's assignors: a consumer leads a group whose coordinator is this process.

librdkafka does not export its assignors. A child process therefore runs a consumer, and this
process is its broker: JoinGroup's response makes the consumer the leader of the group to assign,
Metadata's has the topics, and SyncGroup brings the assignment. The response to SyncGroup is an
error, so that the consumer joins again for the next group. It does so at once, because any Metadata
response ends the interval of 1 s between two joins (2.15 rdkafka_metadata.c:1132,
rdkafka_cgrp.c:6743).
"""

from __future__ import annotations

import importlib.util
import json
import selectors
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final, NamedTuple

from groupcheck.model.assignors.group import Assignment, Group, Topic
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.assignors.consumer_protocol import encoded_subscription
from groupcheck.properties.assignors.port import (
    LIMIT_S,
    AssignorFailedError,
    AssignorInfo,
    sent_partitions,
)
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import CHUNK_BYTES, WAKE_S
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.program import EndedError, Program

# The values of partition.assignment.strategy: librdkafka has no assignor "sticky".
ASSIGNORS: Final = ("range", "roundrobin", "cooperative-sticky")
START_S: Final = 20.0
HOST: Final = "127.0.0.1"
NODE_ID: Final = 0  # this broker, without a rack; each rack has a broker with a higher id
GROUP_ID: Final = "groupcheck"
OWN_TOPIC: Final = "groupcheck-leader"  # the consumer's own: it joins only if its topic exists
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
# librdkafka takes four times the length of Metadata's response for what it decodes, which is too
# little for topics without partitions (2.15 rdkafka_metadata.c:618): a long name adds to it.
CLUSTER_ID: Final = "groupcheck" * 800

# The child's program; it ends with its standard input, so also when its parent is killed. It never
# polls: no call of the application is due while a group does not become stable.
_CHILD: Final = """
import json, os, sys
from confluent_kafka import Consumer, libversion
consumer = Consumer(json.loads(sys.argv[1]))
consumer.subscribe([sys.argv[2]])
print(libversion()[0], flush=True)
sys.stdin.read()
os._exit(0)
"""
_SETTINGS: Final = {
    "log_level": 3,  # errors, to standard error
    "max.poll.interval.ms": 86_400_000,  # also the limit for an answer to JoinGroup
    "coordinator.query.interval.ms": 2_000_000,  # the maximum, 3_600_000, overflows and asks always
    "topic.metadata.refresh.interval.ms": -1,
    "enable.metrics.push": False,
    "reconnect.backoff.ms": 10,
}

Asked = codec.Message
Fields = dict[str, object]


class LeaderPort:
    """librdkafka's assignors, each in a consumer; implements `AssignorPort`.

    Args:
        limit_s: seconds of real time that a consumer has for each assignment.
    """

    def __init__(self, *, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._leaders: dict[str, _Leader] = {}

    def open(self) -> AssignorInfo:
        """Start a consumer.

        Raises:
            PortUnavailableError: confluent-kafka or kafka-python is not installed or does not work.
        """
        codec.message_class("JoinGroupRequest")
        if importlib.util.find_spec("confluent_kafka") is None:
            msg = "librdkafka needs the package confluent-kafka: pip install 'groupcheck[wire]'"
            raise PortUnavailableError(msg)
        try:
            leader = self._leader(ASSIGNORS[0])
        except (AssignorFailedError, OSError) as error:
            msg = f"librdkafka's consumer does not start: {error}"
            raise PortUnavailableError(msg) from error
        return AssignorInfo("librdkafka", leader.version, ASSIGNORS)

    def assign(self, assignor: str, group: Group) -> Assignment:
        """Have the assignor's consumer lead the group; a consumer that failed is started again.

        librdkafka ignores a member without topics, which then has no entry in the assignment
        (2.15 rdkafka_cgrp.c:2203).

        Raises:
            AssignorFailedError: it gave no assignment.
        """
        hung = False
        try:
            found = self._leader(assignor).assign(group, monotonic() + self._limit_s)
            return {member: sent_partitions(data) for member, data in found.items()}
        except TimeoutError:
            hung, reason = True, f"no answer within {self._limit_s:g} s"
        except EndedError as failure:
            reason = f"its process {failure.status}"
        except (PortFailedError, OSError) as failure:
            reason = str(failure)
        except _RejoinedError:
            reason = "it joined again without an assignment"
        raise AssignorFailedError(": ".join([reason, *self._end(assignor)]), hung=hung)

    def shutdown(self) -> None:
        """End the consumers; safe to call twice."""
        for assignor in list(self._leaders):
            self._end(assignor)

    def _leader(self, assignor: str) -> _Leader:
        leader = self._leaders.get(assignor)
        if leader is None:
            leader = self._leaders[assignor] = _Leader(assignor)
            try:
                leader.start()
            except (PortFailedError, TimeoutError) as error:
                reason = str(error) or f"no answer within {START_S:g} s"
                raise AssignorFailedError(": ".join([reason, *self._end(assignor)])) from error
        return leader

    def _end(self, assignor: str) -> list[str]:
        """End a consumer and return why it failed, as far as its standard error says so.

        The log has lines about earlier groups too, but after an error of the assignor there is no
        other group.
        """
        leader = self._leaders.pop(assignor, None)
        lines = [] if leader is None else leader.end().splitlines()
        last = [line for line in lines if "|ASSIGNOR|" in line or not line.startswith("%")][-1:]
        return [line.partition("]: ")[2] or line for line in last]  # without level, time and thread


class _RejoinedError(Exception):
    """The leader sent JoinGroup where SyncGroup was due."""


class _Leader:
    """A consumer with one assignor, and the broker that it talks to.

    The broker works only during `assign`, in the caller's thread: between two groups the consumer
    waits for the response to its JoinGroup.
    """

    def __init__(self, assignor: str) -> None:
        self.assignor = assignor
        self.version = ""
        self.group = Group((), ())
        self.generation = 0
        self.joined = False
        self.assignment: Mapping[str, bytes] | None = None
        self.racks: dict[str, int] = {}  # the broker of each rack
        self._received: dict[socket.socket, bytearray] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server((HOST, 0))
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.port = int(self._listener.getsockname()[1])
        self._program: Program | None = None

    def start(self) -> None:
        """Start the consumer.

        Raises:
            PortFailedError: it does not start.
            TimeoutError: it does not start in time.
            OSError: its process cannot be started.
        """
        settings = _SETTINGS | {
            "bootstrap.servers": f"{HOST}:{self.port}",
            "group.id": GROUP_ID,
            "partition.assignment.strategy": self.assignor,
        }
        self._program = Program([sys.executable, "-c", _CHILD, json.dumps(settings), OWN_TOPIC])
        self.version = self._program.line(monotonic() + START_S).decode(errors="replace")

    def assign(self, group: Group, deadline: float) -> Mapping[str, bytes]:
        """Return the bytes of each member in the leader's SyncGroup.

        Raises:
            TimeoutError: it sent none before `deadline`.
            PortFailedError: its process has ended.
            _RejoinedError: it joins again instead.
        """
        self.group, self.joined, self.assignment = group, False, None
        self.generation = self.generation % (2**31 - 1) + 1
        while self.assignment is None:
            if self._program is not None:
                self._program.refuse_leftovers()
            left_s = deadline - monotonic()
            if left_s <= 0:
                raise TimeoutError
            for key, _ in self._selector.select(min(left_s, WAKE_S)):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket):
                    self._serve(key.fileobj)
        return self.assignment

    def end(self) -> str:
        """End the consumer, and return the last lines of its log."""
        log = "" if self._program is None else self._program.end(0)
        for opened in [*self._received, self._listener]:
            opened.close()
        self._selector.close()
        return log

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.settimeout(LIMIT_S)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received[accepted] = bytearray()
        self._selector.register(accepted, selectors.EVENT_READ)

    def _serve(self, asker: socket.socket) -> None:
        """Answer the requests that have arrived on a connection."""
        chunk = b""
        with suppress(ConnectionError):
            chunk = asker.recv(CHUNK_BYTES)
        received = self._received[asker]
        received += chunk
        with suppress(ConnectionError):
            for request in _frames(received):
                asker.sendall(self._answer(request))
        if not chunk:
            self._selector.unregister(asker)
            del self._received[asker]
            asker.close()

    def _answer(self, request: bytes) -> bytes:
        api = _BY_KEY[int.from_bytes(request[:2], "big")]
        version = int.from_bytes(request[2:4], "big")
        cls = codec.message_class(f"{api}Request")
        asked = cls.decode(request, version=version, header=True)
        fields = _APIS[api].respond(self, asked)
        answer = codec.message_class(f"{api}Response")(version=version, **fields)
        answer.with_header(correlation_id=asked.header.correlation_id)
        framed: bytes = answer.encode(header=True, framed=True)
        return framed


def _frames(received: bytearray) -> Iterator[bytes]:
    """Remove and yield the requests that have arrived completely, without their lengths."""
    while len(received) >= 4 + (length := int.from_bytes(received[:4], "big")):
        request = bytes(received[4 : 4 + length])
        del received[: 4 + length]
        yield request


def _api_versions(leader: _Leader, asked: Asked) -> Fields:
    del leader, asked
    version = codec.message_class("ApiVersionsResponse").fields["api_keys"]
    return {
        "api_keys": [
            version(api_key=api.key, min_version=0, max_version=api.newest)
            for api in _APIS.values()
        ]
    }


def _find_coordinator(leader: _Leader, asked: Asked) -> Fields:
    del asked
    return {"node_id": NODE_ID, "host": HOST, "port": leader.port}


def _metadata(leader: _Leader, asked: Asked) -> Fields:
    """Describe the topics that the request names, or all of them."""
    existing = {
        topic.name: topic for topic in (Topic(OWN_TOPIC, (frozenset(),)), *leader.group.topics)
    }
    names = list(existing) if asked.topics is None else [topic.name for topic in asked.topics]
    topics = [_topic(leader, name, existing.get(name)) for name in names]
    broker = codec.message_class("MetadataResponse").fields["brokers"]
    brokers = [
        broker(node_id=node_id, host=HOST, port=leader.port, rack=rack)
        for rack, node_id in [(None, NODE_ID), *leader.racks.items()]
    ]
    return {"brokers": brokers, "cluster_id": CLUSTER_ID, "topics": topics}


def _topic(leader: _Leader, name: str, topic: Topic | None) -> codec.Message:
    cls = codec.message_class("MetadataResponse").fields["topics"]
    if topic is None:
        return cls(error_code=UNKNOWN_TOPIC_OR_PARTITION, name=name, partitions=[])
    partitions = []
    for number, racks in enumerate(topic.racks):
        nodes = [leader.racks.setdefault(rack, len(leader.racks) + 1) for rack in sorted(racks)]
        replicas = nodes or [NODE_ID]
        partitions.append(
            cls.fields["partitions"](
                partition_index=number,
                leader_id=replicas[0],
                replica_nodes=replicas,
                isr_nodes=replicas,
            )
        )
    return cls(name=name, partitions=partitions)


def _join_group(leader: _Leader, asked: Asked) -> Fields:
    """Make the consumer the leader of the group, as the group's first member."""
    del asked
    if leader.joined:
        raise _RejoinedError
    leader.joined = True
    cls = codec.message_class("JoinGroupResponse").fields["members"]
    members = [
        cls(
            member_id=member.id,
            group_instance_id=member.instance_id,
            metadata=encoded_subscription(leader.assignor, member),
        )
        for member in leader.group.members
    ]
    first = leader.group.members[0].id
    return {
        "generation_id": leader.generation,
        "protocol_name": leader.assignor,
        "leader": first,
        "member_id": first,
        "members": members,
    }


def _sync_group(leader: _Leader, asked: Asked) -> Fields:
    """Keep the assignment, and have the consumer join again."""
    leader.assignment = {each.member_id: each.assignment for each in asked.assignments}
    return {"error_code": int(ErrorCode.REBALANCE_IN_PROGRESS)}


class _Api(NamedTuple):
    """An API: its key, the newest version that this broker offers, and its response's fields."""

    key: int
    newest: int
    respond: Callable[[_Leader, Asked], Fields]


_APIS: Final[Mapping[str, _Api]] = {
    "Metadata": _Api(3, 7, _metadata),
    "FindCoordinator": _Api(10, 2, _find_coordinator),
    "JoinGroup": _Api(11, 5, _join_group),
    "SyncGroup": _Api(14, 3, _sync_group),
    "ApiVersions": _Api(18, 3, _api_versions),
}
_BY_KEY: Final = {api.key: name for name, api in _APIS.items()}
