"""What an assignor under test must do, and how a run talks to one that is a program of its own.

The program reads a JSON object per line from standard input and answers each with a line. The first
message is `{"type": "open", "protocol": 1}`; its answer names the program and its assignors. Each
`assign` message has a group as its leader sees it, in plain fields and as the bytes of JoinGroup's
response; docs/assignors.md is the contract.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol

from groupcheck.model.assignors.group import Assignment, Group, Partition, by_topic
from groupcheck.properties.assignors.consumer_protocol import (
    MalformedAssignmentError,
    decoded_assignment,
    encoded_subscription,
)
from groupcheck.properties.ports.messages import plain, shorten
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.program import EndedError, Program

PROTOCOL: Final = 1
GRACE_S: Final = 1.0
LIMIT_S: Final = 10.0
UNDECODED: Final = "an assignment that cannot be decoded"

Json = dict[str, Any]


class AssignorFailedError(Exception):
    """An assignor raised an exception, did not answer in time, or gave an answer without meaning.

    `hung`: the port was ended because it did not answer in time; it starts again.
    """

    def __init__(self, reason: str, *, hung: bool = False) -> None:
        super().__init__(reason)
        self.hung = hung


class AssignorInfo(NamedTuple):
    """The library that has the assignors, its version, and the names of the assignors."""

    name: str
    version: str
    assignors: tuple[str, ...]


class AssignorPort(Protocol):
    """Assignors under test."""

    def open(self) -> AssignorInfo:
        """Start it.

        Raises:
            PortUnavailableError: it cannot be started.
        """

    def assign(self, assignor: str, group: Group) -> Assignment:
        """Have it assign the partitions of a group.

        Raises:
            AssignorFailedError: it gave no assignment. The port can be used again.
        """

    def shutdown(self) -> None:
        """End it; safe to call twice."""


class ProgramPort:
    """Assignors in a program of its own; implements `AssignorPort`.

    Args:
        argv: the program and its arguments.
        limit_s: seconds of real time that it has for each answer; more for the first.
    """

    def __init__(self, argv: list[str], *, limit_s: float = LIMIT_S, start_s: float = 30.0) -> None:
        self._argv = argv
        self._limit_s = limit_s
        self._start_s = start_s
        self._program: Program | None = None

    def open(self) -> AssignorInfo:
        """Start the program, and ask for its name and its assignors.

        Raises:
            PortUnavailableError: it cannot be started, or its first answer is not one.
        """
        try:
            return info_of(self._started())
        except (AssignorFailedError, OSError, ValueError) as error:
            self.shutdown()
            msg = f"{self._argv[0]!r} did not open: {error}"
            raise PortUnavailableError(msg) from error

    def _started(self) -> Json:
        self._program = Program(self._argv)
        return self._exchange({"type": "open", "protocol": PROTOCOL}, self._start_s)

    def assign(self, assignor: str, group: Group) -> Assignment:
        """Send a group and read its assignment; a program that has ended is started again.

        Raises:
            AssignorFailedError: it gave no assignment.
        """
        try:
            if self._program is None:
                self._started()
            answer = self._exchange(assign_message(assignor, group), self._limit_s)
        except OSError as error:
            msg = f"the program cannot be started again: {error}"
            raise AssignorFailedError(msg) from error
        return assignment_of(answer)

    def shutdown(self) -> None:
        """End the program, by force if it does not end by itself."""
        program, self._program = self._program, None
        if program is not None:
            program.end(GRACE_S)

    def _exchange(self, message: Json, limit_s: float) -> Json:
        program = self._program
        if program is None:
            msg = "the port is not open"
            raise RuntimeError(msg)
        deadline = monotonic() + limit_s
        hung = False
        try:
            program.refuse_leftovers("its answer")
            program.send(json.dumps(message, separators=(",", ":")).encode() + b"\n", deadline)
            return _parsed(program.line(deadline))
        except TimeoutError:
            hung, reason = True, f"no answer within {limit_s:g} s"
        except EndedError as failure:
            reason = f"the program {failure.status}"
        except PortFailedError as failure:
            reason = str(failure)
        self._program = None
        last = program.end(0).splitlines()[-1:]
        raise AssignorFailedError(": ".join([reason, *last]), hung=hung)


def _parsed(line: bytes) -> Json:
    try:
        value = plain(json.loads(line))
    except (ValueError, RecursionError):
        msg = f"a line that is not JSON: {shorten(line)}"
        raise AssignorFailedError(msg) from None
    return answered(value)


def answered(value: object) -> Json:
    """An answer, which has to be an object.

    Raises:
        AssignorFailedError: it is none.
    """
    if not isinstance(value, dict):
        msg = f"an answer that is not an object: {shorten(value)}"
        raise AssignorFailedError(msg)
    return value


def info_of(answer: Json) -> AssignorInfo:
    """What the answer to `open` names.

    Raises:
        AssignorFailedError: it names no assignors.
    """
    name, names = answer.get("name"), answer.get("assignors")
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        msg = f"it did not name its assignors: {shorten(answer)}"
        raise AssignorFailedError(msg)
    if not isinstance(name, str) or not name:
        msg = f"it has no name: {shorten(answer)}"
        raise AssignorFailedError(msg)
    return AssignorInfo(name, str(answer.get("version") or ""), tuple(dict.fromkeys(names)))


def assign_message(assignor: str, group: Group) -> Json:
    """The message that gives a group to an assignor."""
    message = given_group(group)
    for sent, member in zip(message["members"], group.members, strict=True):
        sent["metadata"] = base64.b64encode(encoded_subscription(assignor, member)).decode()
    return {"type": "assign", "assignor": assignor, **message}


def given_group(group: Group) -> Json:
    """A group in plain fields."""
    return {
        "topics": {topic.name: [sorted(racks) for racks in topic.racks] for topic in group.topics},
        "members": [
            {
                "memberId": member.id,
                "groupInstanceId": member.instance_id,
                "rackId": member.rack,
                "topics": list(member.topics),
                "ownedPartitions": by_topic(member.owned),
                "generationId": member.generation,
            }
            for member in group.members
        ],
    }


def assignment_of(answer: Json) -> Assignment:
    """The assignment in an answer.

    Raises:
        AssignorFailedError: it has none, or one that cannot be read.
    """
    given = answer.get("assignment")
    if not isinstance(given, Mapping):
        reason = answer.get("error")
        if not isinstance(reason, str) or not reason.strip():
            reason = f"an answer without an assignment: {shorten(answer)}"
        raise AssignorFailedError(reason.splitlines()[0])
    return {str(member): partitions_of(value) for member, value in given.items()}


def sent_partitions(data: bytes) -> tuple[Partition, ...]:
    """The partitions in a member's bytes of SyncGroup.

    Raises:
        AssignorFailedError: they cannot be decoded.
    """
    try:
        return decoded_assignment(data)
    except MalformedAssignmentError as error:
        msg = f"{UNDECODED}: {error}"
        raise AssignorFailedError(msg) from error


def partitions_of(value: object) -> tuple[Partition, ...]:
    """The partitions of a member: the bytes of SyncGroup in base64, or numbers by topic.

    Raises:
        AssignorFailedError: it is neither.
    """
    if isinstance(value, str):
        try:
            return sent_partitions(base64.b64decode(value, validate=True))
        except binascii.Error as error:
            msg = f"{UNDECODED}: {error}"
            raise AssignorFailedError(msg) from error
    if isinstance(value, Mapping) and all(
        isinstance(numbers, list) and all(type(n) is int and 0 <= n < 2**31 for n in numbers)
        for numbers in value.values()
    ):
        return tuple(Partition(topic, n) for topic, numbers in value.items() for n in numbers)
    msg = f"an assignment that is not one: {shorten(value)}"
    raise AssignorFailedError(msg)
