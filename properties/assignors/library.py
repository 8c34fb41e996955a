"""The assignors of a library in Python, called as its consumers call them as leaders."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from groupcheck.model.assignors.group import Assignment, Group, Member
from groupcheck.properties.assignors.consumer_protocol import (
    decoded_assignment,
    encoded_subscription,
)
from groupcheck.properties.assignors.port import AssignorFailedError, AssignorInfo
from groupcheck.properties.ports.user_code import one_line

# The members, each with its subscription on the wire; and what the leader sends each of them.
Joined = Sequence[tuple[Member, bytes]]
Sent = Iterable[tuple[str, bytes]]


class Cluster:
    """What both libraries ask their cluster metadata for."""

    def __init__(self, group: Group) -> None:
        self._partitions = {topic.name: set(range(len(topic.racks))) for topic in group.topics}

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions; None if it does not exist."""
        return self._partitions.get(topic)

    def topics(self) -> set[str]:
        """The names of the topics."""
        return set(self._partitions)


class LibraryPort(ABC):
    """Assignors of a library in this process; implements `AssignorPort`."""

    library: str
    logger: str
    assignors: Mapping[str, Any]  # by name

    def open(self) -> AssignorInfo:
        """Name the library and its assignors; the library logs nothing from here on."""
        logger = logging.getLogger(self.logger)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
        return AssignorInfo(self.library, version(self.library), tuple(self.assignors))

    def assign(self, assignor: str, group: Group) -> Assignment:
        """Decode the subscriptions, call the assignor, and decode what it would send.

        Raises:
            AssignorFailedError: it raised an exception.
        """
        joined = [(member, encoded_subscription(assignor, member)) for member in group.members]
        try:
            sent = self._led(self.assignors[assignor], joined, Cluster(group))
            return {member: decoded_assignment(data) for member, data in sent}
        except Exception as error:
            raise AssignorFailedError(one_line(error)) from error

    def shutdown(self) -> None:  # noqa: B027 - nothing runs
        """Do nothing."""

    @abstractmethod
    def _led(self, made: Any, joined: Joined, cluster: Cluster) -> Sent:  # noqa: ANN401 - the library's
        """The assignments that a leader with the library sends in SyncGroup."""
