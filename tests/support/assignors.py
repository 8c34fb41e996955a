"""Groups to assign, written in a line, and ports of assignors that tests make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupcheck.model.assignors.group import Assignment, Group, Member, Partition, Topic
from groupcheck.properties.assignors.builtin import BuiltinAssignors


def partitions(text: str) -> tuple[Partition, ...]:
    """`t0-1 t0-2`."""
    found = (each.rpartition("-") for each in text.split())
    return tuple(Partition(topic, int(number)) for topic, _, number in found)


def topics(text: str) -> tuple[Topic, ...]:
    """`t0:2 t1:1`: names and numbers of partitions, without racks."""
    found = (each.split(":") for each in text.split())
    return tuple(Topic(name, (frozenset(),) * int(count)) for name, count in found)


def group(topic_text: str, **members: str) -> Group:
    """`group("t0:2", m0="t0", m1="t0 < t0-1")`: what members subscribe to, and what they owned."""
    found = []
    for name, text in members.items():
        subscribed, _, owned = text.partition("<")
        found.append(Member(name, tuple(subscribed.split()), owned=partitions(owned)))
    return Group(topics(topic_text), tuple(found))


def in_racks(given: Group, replicas: Mapping[str, str], **racks: str) -> Group:
    """A group with a replica of some partitions in a rack, as in `{"t0-0": "r0"}`, and members."""
    return Group(
        tuple(
            topic._replace(
                racks=tuple(
                    frozenset(replicas.get(str(each), "").split()) for each in topic.partitions
                )
            )
            for topic in given.topics
        ),
        tuple(each._replace(rack=racks.get(each.id)) for each in given.members),
    )


class Changed:
    """The built-in assignors with something changed in what they assign; an `AssignorPort`."""

    def __init__(self, change: Callable[[Group, Assignment], Assignment]) -> None:
        self._change = change
        self._builtin = BuiltinAssignors()
        self.open = self._builtin.open
        self.shutdown = self._builtin.shutdown

    def assign(self, assignor: str, given: Group) -> Assignment:
        """What the built-in assignor assigns, changed."""
        return self._change(given, self._builtin.assign(assignor, given))


class Unknown:
    """An object for `python:` whose assignor Kafka does not have."""

    def open(self) -> object:
        """Name it."""
        return {"name": "unknown", "version": "1", "assignors": ["mine"]}

    def assign(self, message: dict[str, Any]) -> object:
        """Is not called."""
        raise NotImplementedError(message)
