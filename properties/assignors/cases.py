"""Groups to assign, drawn by Hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from groupcheck.model.assignors.group import Group, Member, Partition, Topic
from groupcheck.model.assignors.promises import BROKER, COOPERATIVE, STICKY

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TOPICS: Final = 4
PARTITIONS: Final = 4
MEMBERS: Final = 5
RACKS: Final = 3
GENERATIONS: Final = (3, 3, 3, 2, None)

# All choices are read from one draw, since each costs Hypothesis some 100 microseconds. Bytes are
# drawn uniformly; integers are mostly small.
BYTES: Final = 64


class _Choices:
    """Small choices, read from bytes."""

    def __init__(self, data: bytes) -> None:
        self._left = int.from_bytes(data, "big")

    def below(self, limit: int) -> int:
        """A number from 0 to below the limit."""
        self._left, found = divmod(self._left, limit)
        return found

    def one_in(self, count: int) -> bool:
        """True once in so many times."""
        return self.below(count) == count - 1


def is_possible(assignor: str, group: Group) -> bool:
    """Whether members can be in such a group.

    Those of a cooperative one revoke what they no longer subscribe to before they join (KIP-429).
    """
    return assignor not in COOPERATIVE or all(
        partition.topic in member.topics for member in group.members for partition in member.owned
    )


def groups(assignor: str, *, racks: bool = True) -> SearchStrategy[Group]:
    """Groups for an assignor: topics that exist or do not, subscriptions, and earlier owners.

    Members of a client's assignor may own partitions that no longer exist, and two may own the same
    one; those of a broker's do not.
    """
    drawn = st.binary(min_size=BYTES, max_size=BYTES)
    return drawn.map(lambda data: _group(_Choices(data), assignor, with_racks=racks))


def _group(choices: _Choices, assignor: str, *, with_racks: bool) -> Group:
    has_racks = with_racks and choices.one_in(2)
    # A topic without partitions does not exist.
    counts = {f"t{n}": choices.below(PARTITIONS + 1) for n in range(1 + choices.below(TOPICS))}
    members = _members(choices, list(counts), has_racks=has_racks)
    if assignor in STICKY and not choices.one_in(3):
        members = _with_owners(choices, assignor, counts, members)
    topics = [
        Topic(name, tuple(_racks(choices, count) if has_racks else (frozenset(),) * count))
        for name, count in counts.items()
        if count
    ]
    return Group(tuple(topics), tuple(members))


def _racks(choices: _Choices, count: int) -> list[frozenset[str]]:
    """The racks of the replicas of each partition of a topic."""
    return [frozenset(f"r{n}" for n in range(RACKS) if choices.one_in(2)) for _ in range(count)]


def _members(choices: _Choices, topics: list[str], *, has_racks: bool) -> list[Member]:
    """Members in any order, with the same subscription in half of the groups."""
    left = list(range(1 + choices.below(MEMBERS)))
    ordered = [left.pop(choices.below(len(left))) for _ in range(len(left))]
    has_instances = choices.one_in(2)
    common = _subscription(choices, topics) if choices.one_in(2) else None
    found = []
    for number in ordered:
        chosen = _subscription(choices, topics) if common is None else common
        # In another order than the members' ids.
        instance = f"i{(number * 3 + 2) % 7}" if has_instances and choices.one_in(2) else None
        rack = f"r{choices.below(RACKS)}" if has_racks and choices.one_in(2) else None
        found.append(Member(f"m{number}", tuple(chosen), instance, rack))
    return found


def _subscription(choices: _Choices, topics: list[str]) -> list[str]:
    """Some topics; rarely none, as with a pattern that no topic matches."""
    chosen = [topic for topic in topics if choices.one_in(2)]
    return chosen if chosen or choices.one_in(3) else topics[:1]


def _with_owners(
    choices: _Choices, assignor: str, counts: dict[str, int], members: list[Member]
) -> list[Member]:
    """The members with the partitions that they owned in a generation."""
    by_broker = assignor in BROKER
    owned: list[list[Partition]] = [[] for _ in members]
    for topic, count in counts.items():
        # A topic that was deleted, or was created again with fewer partitions, had more.
        before = count + (choices.below(3) if choices.one_in(4) and not by_broker else 0)
        for number in range(before):
            owners = {choices.below(len(members) + 1)}
            if choices.one_in(8) and not by_broker:
                owners.add(choices.below(len(members)))
            for index in owners - {len(members)}:
                owned[index].append(Partition(topic, number))
    if assignor in COOPERATIVE:
        owned = [
            [each for each in partitions if each.topic in member.topics]
            for member, partitions in zip(members, owned, strict=True)
        ]
    return [
        member._replace(
            owned=tuple(each),
            generation=None if by_broker else GENERATIONS[choices.below(len(GENERATIONS))],
        )
        for member, each in zip(members, owned, strict=True)
    ]
