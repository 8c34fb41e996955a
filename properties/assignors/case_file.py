"""A group that an assignor was given, as a file to be given again."""

from __future__ import annotations

from pathlib import Path

import msgspec

from groupcheck.model.assignors.group import Group, Member, Partition, Topic
from groupcheck.properties.assignors.port import given_group


class MalformedCaseError(ValueError):
    """A file that has no case."""


class _Member(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    rack_id: str | None = None
    owned_partitions: dict[str, tuple[int, ...]] = {}
    generation_id: int | None = None


class _Case(msgspec.Struct, forbid_unknown_fields=True):
    assignor: str
    topics: dict[str, tuple[frozenset[str], ...]]
    members: tuple[_Member, ...]


def write_case(path: Path, assignor: str, group: Group) -> None:
    """Write a case; raises OSError."""
    encoded = msgspec.json.encode({"assignor": assignor, **given_group(group)})
    path.write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def read_case(path: Path) -> tuple[str, Group]:
    """Read the assignor and the group of a case.

    Raises:
        MalformedCaseError: the file has no case.
        OSError: it cannot be read.
    """
    try:
        case = msgspec.json.decode(path.read_bytes(), type=_Case)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"{path} has no group to assign: {error}"
        raise MalformedCaseError(msg) from error
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
        msg = f"{path} has no group to assign: it needs members, each with an id of its own"
        raise MalformedCaseError(msg)
    topics = tuple(Topic(name, racks) for name, racks in case.topics.items())
    return case.assignor, Group(topics, members)
