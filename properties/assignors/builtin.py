"""The assignors of this repository, through the bytes that a leader gets and sends."""

from __future__ import annotations

from groupcheck import __version__
from groupcheck.implementation.assignors import member as assigned
from groupcheck.implementation.assignors.leader import ASSIGNORS, BROKER_ASSIGNORS, Joined, lead
from groupcheck.model.assignors.group import Assignment, Group, Partition
from groupcheck.properties.assignors.consumer_protocol import (
    decoded_assignment,
    encoded_subscription,
)
from groupcheck.properties.assignors.port import AssignorFailedError, AssignorInfo
from groupcheck.properties.ports.user_code import one_line

BROKER = "broker:"


class BuiltinAssignors:
    """This repository's assignors; implements `AssignorPort`."""

    def open(self) -> AssignorInfo:
        """Name them."""
        names = (*ASSIGNORS, *(BROKER + name for name in BROKER_ASSIGNORS))
        return AssignorInfo("groupcheck", __version__, names)

    def assign(self, assignor: str, group: Group) -> Assignment:
        """Lead a group, or assign it as its broker.

        Raises:
            AssignorFailedError: the code under test raised an exception.
        """
        joined = [
            Joined(member.id, member.instance_id, encoded_subscription(assignor, member))
            for member in group.members
        ]
        try:
            if assignor.startswith(BROKER):
                return _by_broker(assignor.removeprefix(BROKER), group)
            sent = lead(assignor, {topic.name: topic.racks for topic in group.topics}, joined)
            return {member: decoded_assignment(data) for member, data in sent.items()}
        except Exception as error:
            raise AssignorFailedError(one_line(error)) from error

    def shutdown(self) -> None:
        """Nothing runs."""


def _by_broker(assignor: str, group: Group) -> Assignment:
    topics = {topic.name: topic.racks for topic in group.topics}
    members = [
        assigned.Member(m.id, m.topics, m.instance_id, m.rack, m.owned, m.owned_in)
        for m in group.members
    ]
    return {
        member: tuple(Partition(*partition) for partition in partitions)
        for member, partitions in BROKER_ASSIGNORS[assignor](topics, members).items()
    }
