"""A group that an assignor was given, as a file to be given again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec

from groupcheck.model.assignors.group import Group, Member, Partition, Topic
from groupcheck.properties.assignors.port import given_group
from groupcheck.properties.finding_file import MalformedFileError, read, write

WHAT: Final = "group to assign"
Name = Annotated[str, msgspec.Meta(max_length=1_000)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class _Member(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    member_id: Name
    topics: tuple[Name, ...]
    group_instance_id: Name | None = None
    rack_id: Name | None = None
    owned_partitions: dict[Name, tuple[Number, ...]] = {}
    generation_id: Number | None = None


class _Case(msgspec.Struct, forbid_unknown_fields=True):
    assignor: Name
    topics: dict[Name, tuple[frozenset[Name], ...]]
    members: tuple[_Member, ...]
    cause: Name = ""


class Case(NamedTuple):
    """A group for an assignor, and the cause of the finding that it shows, if known."""

    assignor: str
    group: Group
    cause: str = ""


def write_case(path: Path, case: Case) -> None:
    """Write a case; raises OSError."""
    cause = {"cause": case.cause} if case.cause else {}
    write(path, {"assignor": case.assignor, **cause, **given_group(case.group)})


def read_case(path: Path) -> Case:
    """Read a case.

    Raises:
        MalformedFileError: the file has no case.
        OSError: it cannot be read.
    """
    case = read(path, _Case, WHAT)
    members = tuple(
        Member(
            each.member_id,
            tuple(dict.fromkeys(each.topics)),
            each.group_instance_id,
            each.rack_id,
            tuple(Partition(t, n) for t, numbers in each.owned_partitions.items() for n in numbers),
            each.generation_id,
        )
        for each in case.members
    )
    if len({member.id for member in members}) < len(members) or not members:
        raise MalformedFileError(path, WHAT, "it needs members, each with an id of its own")
    topics = tuple(Topic(name, racks) for name, racks in case.topics.items())
    return Case(case.assignor, Group(topics, members), case.cause)
