"""librdkafka's assignors: a consumer leads a group whose coordinator is this process.

librdkafka does not export its assignors. A child process therefore runs a consumer, and this
process is its broker: JoinGroup's response makes the consumer the leader of the group to assign,
Metadata's has the topics, and SyncGroup brings the assignment. The response to SyncGroup is an
error, so that the consumer joins again for the next group. It does so at once, because any Metadata
response ends the interval of 1 s between two joins (2.15 rdkafka_metadata.c:1132,
rdkafka_cgrp.c:6743).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final

from groupcheck.model.assignors.group import Assignment, Group, Topic
from groupcheck.model.vocabulary import ErrorCode
from groupcheck.properties.assignors.consumer_protocol import encoded_subscription
from groupcheck.properties.assignors.port import (
    LIMIT_S,
    AssignorFailedError,
    AssignorInfo,
    sent_partitions,
)
from groupcheck.properties.clients.broker import (
    HOST,
    NODE_ID,
    Broker,
    Fields,
    Replicas,
    Request,
    metadata,
)
from groupcheck.properties.ports import codec
from groupcheck.properties.ports.connection import WAKE_S
from groupcheck.properties.ports.port import (
    PortFailedError,
    PortUnavailableError,
    check_installed,
)
from groupcheck.properties.ports.program import EndedError, Program

# The values of partition.assignment.strategy: librdkafka has no assignor "sticky".
ASSIGNORS: Final = ("range", "roundrobin", "cooperative-sticky")
START_S: Final = 20.0
GROUP_ID: Final = "groupcheck"
OWN_TOPIC: Final = "groupcheck-leader"  # the consumer's own: it joins only if its topic exists
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
# The newest version of each API that this broker offers.
_VERSIONS: Final = {"Metadata": 7, "FindCoordinator": 2, "JoinGroup": 5, "SyncGroup": 3}


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
        check_installed("confluent_kafka", "confluent-kafka", "wire", "librdkafka")
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
        self.racks: dict[str, int] = {}  # the node of each rack, with an id above NODE_ID
        self._broker = Broker(_VERSIONS)
        self.port = self._broker.port
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
            for request in self._broker.requests(min(left_s, WAKE_S)):
                request.answer(_RESPOND[request.api](self, request))
        return self.assignment

    def end(self) -> str:
        """End the consumer, and return the last lines of its log."""
        log = "" if self._program is None else self._program.end(0)
        self._broker.close()
        return log


def _find_coordinator(leader: _Leader, request: Request) -> Fields:
    del request
    return {"node_id": NODE_ID, "host": HOST, "port": leader.port}


def _metadata(leader: _Leader, request: Request) -> Fields:
    """Describe the topics that the request names, or all of them."""
    existing = {
        topic.name: topic for topic in (Topic(OWN_TOPIC, (frozenset(),)), *leader.group.topics)
    }
    named = request.message.topics
    names = list(existing) if named is None else [topic.name for topic in named]
    topics = {name: _replicas(leader, existing.get(name)) for name in names}
    return metadata(leader.port, topics, leader.racks, CLUSTER_ID)


def _replicas(leader: _Leader, topic: Topic | None) -> Replicas | None:
    """The nodes of each partition: one in each of its racks, or the one without a rack."""
    if topic is None:
        return None
    racks = [sorted(each) for each in topic.racks]
    return [
        [leader.racks.setdefault(rack, len(leader.racks) + 1) for rack in each] or [NODE_ID]
        for each in racks
    ]


def _join_group(leader: _Leader, request: Request) -> Fields:
    """Make the consumer the leader of the group, as the group's first member."""
    del request
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


def _sync_group(leader: _Leader, request: Request) -> Fields:
    """Keep the assignment, and have the consumer join again."""
    leader.assignment = {each.member_id: each.assignment for each in request.message.assignments}
    return {"error_code": int(ErrorCode.REBALANCE_IN_PROGRESS)}


_RESPOND: Final[Mapping[str, Callable[[_Leader, Request], Fields]]] = {
    "Metadata": _metadata,
    "FindCoordinator": _find_coordinator,
    "JoinGroup": _join_group,
    "SyncGroup": _sync_group,
}
