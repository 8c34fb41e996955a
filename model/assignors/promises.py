"""What Kafka promises to users of an assignor, checked on an assignment.

The promises come from Kafka's documentation and not from its code, so that Kafka itself can break
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from groupcheck.model.assignors.functions import FUNCTIONS, function_of, racks_matter
from groupcheck.model.assignors.group import Assignment, Group, Partition, as_sets
from groupcheck.model.assignors.optimum import Moves, after, moved

CLIENT: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
BROKER: Final = ("broker:range", "broker:uniform")
ASSIGNORS: Final = (*CLIENT, *BROKER)
STICKY: Final = frozenset({"sticky", "cooperative-sticky", "broker:uniform"})
COOPERATIVE: Final = frozenset({"cooperative-sticky"})

WITHOUT_RACKS: Final = 2
WITH_RACKS: Final = 5

VERSIONS: Final = ("2.7", "4.1")

Sources = Mapping[str, str]


@dataclass(frozen=True)
class Round:
    """An assignment of a group in a rebalance; `is_last` if none may follow to complete it."""

    assignor: str
    version: str
    group: Group
    assignment: Assignment
    is_last: bool = True

    @cached_property
    def counts(self) -> Counter[Partition]:
        """To how many members each partition is assigned."""
        return Counter(p for partitions in self.assignment.values() for p in set(partitions))

    @cached_property
    def claims(self) -> Mapping[Partition, frozenset[str]]:
        """The members that own a partition and have to revoke it before another one gets it.

        A claim of a generation that is not the group's newest does not count: its member has
        missed a rebalance, and another may have got the partition meanwhile.
        """
        newest = self.group.newest
        return {
            partition: frozenset(
                member for member, owned_in in claims.items() if owned_in == newest
            )
            for partition, claims in self.group.claims().items()
        }

    @property
    def is_complete(self) -> bool:
        """Whether every assignable partition is assigned once, and nothing else is."""
        counts = self.counts
        return self.group.assignable == counts.keys() and max(counts.values(), default=1) == 1

    @cached_property
    def moves(self) -> Moves:
        """The moves that the assignment allows, of partitions without owners."""
        return Moves(self.group, self.assignment, {})


def followed(group: Group, assignment: Assignment) -> Group:
    """The group in the next rebalance: each member owns what it was assigned.

    A client that did not report the generation of what it owned does not report it now.
    """
    return group._replace(
        members=tuple(
            member._replace(
                owned=assignment.get(member.id, ()),
                generation=None if member.owned and member.generation is None else group.newest + 1,
            )
            for member in group.members
        )
    )


def rounds(assignor: str, group: Group) -> int:
    """In how many rebalances an assignor has to assign every partition of a group, at most.

    A cooperative assignor first has partitions revoked (KIP-429). If racks matter, it may go on to
    move some towards their racks.
    """
    if assignor not in COOPERATIVE:
        return 1
    return WITH_RACKS if racks_matter(group) else WITHOUT_RACKS


def _once(each: Round) -> Iterator[str]:
    for partition, count in each.counts.items():
        if count > 1:
            to = sorted(m for m, assigned in each.assignment.items() if partition in assigned)
            yield f"{partition} is assigned to {' and '.join(to)}"


def _listed_once(each: Round) -> Iterator[str]:
    for member, partitions in each.assignment.items():
        for partition, count in Counter(partitions).items():
            if count > 1:
                yield f"{partition} is listed {count} times in the assignment of {member}"


def _revoked_first(each: Round) -> Iterator[str]:
    for member, partitions in each.assignment.items():
        for partition in partitions:
            owners = each.claims.get(partition, frozenset())
            if owners and member not in owners:
                owner = ", ".join(sorted(owners))
                yield f"{member} is assigned {partition}, which {owner} still owns"


def _complete(each: Round) -> Iterator[str]:
    may_wait = each.assignor in COOPERATIVE and not each.is_last
    claims = each.group.claims()
    for partition in sorted(each.group.assignable - each.counts.keys()):
        if not (may_wait and partition in claims):
            yield f"{partition} is assigned to no member"


def _members(each: Round) -> Iterator[str]:
    for member in each.group.members:
        if member.id not in each.assignment:
            yield f"{member.id} has no assignment"
    known = {member.id for member in each.group.members}
    for unknown in each.assignment.keys() - known:
        yield f"{unknown!r} is assigned partitions, and is not a member"


def _exists(each: Round) -> Iterator[str]:
    existing = {partition for topic in each.group.topics for partition in topic.partitions}
    for partition in each.counts.keys() - existing:
        yield f"{partition} is assigned, and does not exist"


def _subscribed(each: Round) -> Iterator[str]:
    for member in each.group.members:
        for partition in each.assignment.get(member.id, ()):
            if partition.topic not in member.topics:
                yield f"{member.id} is assigned {partition}, and does not subscribe to its topic"


def _function(each: Round) -> Iterator[str]:
    found = function_of(each.assignor, each.version)
    if found is not None:
        function, behaviour = found
        expected = function(each.group, behaviour)
        if as_sets(each.assignment) != as_sets(expected):
            yield f"the assignment is {shown(each.assignment)}, and not {shown(expected)}"


def _balanced(each: Round) -> Iterator[str]:
    if each.assignor in STICKY and each.is_complete:
        for move in each.moves.towards_balance():
            yield f"{_sizes(each)}: {move} would be more balanced"


def _most_balanced(each: Round) -> Iterator[str]:
    if each.assignor in STICKY and each.is_complete:
        chain = each.moves.chain_towards_balance()
        if chain is not None and len(chain) > 1:
            yield f"{_sizes(each)}: more balanced after {', '.join(map(str, chain))}"


def _fewest_moves(each: Round) -> Iterator[str]:
    """Either all claims count, or those of the newest generation: versions of Kafka differ.

    With racks, partitions may move to members in their racks (4.1 AbstractStickyAssignor.java:51).
    """
    if each.assignor not in STICKY or not each.is_complete or racks_matter(each.group):
        return
    worse = []
    for newest_only in (False, True):
        owners = each.group.owners(newest_only=newest_only)
        chain = Moves(each.group, each.assignment, owners).chain_that_keeps_more()
        if chain is None:
            return
        fewer = moved(after(each.assignment, chain), owners)
        worse.append((moved(each.assignment, owners), fewer, chain))
    count, fewer, chain = worse[0]
    yield f"{count} moved where {fewer} would do: {', '.join(map(str, chain))}"


def _sizes(each: Round) -> str:
    return ", ".join(f"{m.id} has {len(each.assignment.get(m.id, ()))}" for m in each.group.members)


def shown(assignment: Assignment) -> str:
    """An assignment in one line."""
    return "; ".join(
        f"{member}: {', '.join(map(str, sorted(partitions))) or 'nothing'}"
        for member, partitions in sorted(assignment.items())
    )


Check = Callable[[Round], Iterable[str]]


class Promise(NamedTuple):
    """A promise: its id, its words, how bad it is if it is broken, and where Kafka makes it.

    `sources` has lines by version of Kafka, and by version and assignor where they are others. A
    later promise says nothing about an assignment that breaks an earlier one.
    """

    id: str
    words: str
    severity: str
    assignors: tuple[str, ...]
    sources: Sources
    check: Check


_STICKY = tuple(name for name in ASSIGNORS if name in STICKY)
_BROKER = "group-coordinator/src/main/java/org/apache/kafka/coordinator/group/assignor"
_UNIFORM = f"{_BROKER}/UniformHomogeneousAssignmentBuilder.java"

ANSWERS: Final = Promise(
    "answers",
    "The assignor gives an assignment, whatever members and topics there are.",
    "liveness",
    ASSIGNORS,
    {"2.7": "ConsumerPartitionAssignor.java:59", "4.1": "ConsumerPartitionAssignor.java:69"},
    lambda _: (),
)

FEWEST_MOVES: Final = Promise(
    "fewest-moves",
    "No assignment with the same balance leaves more partitions with their owners.",
    "efficiency",
    _STICKY,
    {
        "2.7": "StickyAssignor.java:41",
        "4.1": "StickyAssignor.java:42",
        "4.1 broker:uniform": f"{_UNIFORM}:44",
    },
    _fewest_moves,
)

PROMISES: Final = (
    ANSWERS,
    Promise(
        "one-owner",
        "A partition is assigned to one member at most.",
        "safety",
        ASSIGNORS,
        {"2.7": "KafkaConsumer.java:132", "4.1": "KafkaConsumer.java:102"},
        _once,
    ),
    Promise(
        "revoked-first",
        "A partition that a member owns is not assigned to another one until it has been revoked.",
        "safety",
        ("cooperative-sticky",),
        {"2.7": "ConsumerPartitionAssignor.java:203", "4.1": "ConsumerPartitionAssignor.java:255"},
        _revoked_first,
    ),
    Promise(
        "complete",
        "Every partition of a topic with subscribers is assigned. A cooperative assignor may wait "
        "for one rebalance, while a member revokes the partition.",
        "liveness",
        ASSIGNORS,
        {"2.7": "KafkaConsumer.java:132", "4.1": "KafkaConsumer.java:102"},
        _complete,
    ),
    Promise(
        "each-member",
        "Each member has an assignment, and no other one.",
        "protocol",
        ASSIGNORS,
        {"2.7": "ConsumerPartitionAssignor.java:59", "4.1": "ConsumerPartitionAssignor.java:69"},
        _members,
    ),
    Promise(
        "exists",
        "Only partitions that exist are assigned.",
        "protocol",
        ASSIGNORS,
        {"2.7": "KafkaConsumer.java:132", "4.1": "KafkaConsumer.java:102"},
        _exists,
    ),
    Promise(
        "subscribed",
        "A member is assigned partitions of topics to which it subscribes.",
        "protocol",
        ASSIGNORS,
        {"2.7": "KafkaConsumer.java:132", "4.1": "KafkaConsumer.java:102"},
        _subscribed,
    ),
    Promise(
        "listed-once",
        "An assignment lists a partition once.",
        "protocol",
        ASSIGNORS,
        {"2.7": "KafkaConsumer.java:132", "4.1": "KafkaConsumer.java:102"},
        _listed_once,
    ),
    Promise(
        "as-documented",
        "The assignment is the one that Kafka's documentation of the assignor describes.",
        "protocol",
        tuple(FUNCTIONS),
        {
            "2.7": "RangeAssignor.java:87",
            "4.1": "RangeAssignor.java:123",
            "2.7 roundrobin": "RoundRobinAssignor.java:104",
            "4.1 roundrobin": "RoundRobinAssignor.java:105",
            "4.1 broker:range": f"{_BROKER}/RangeAssignor.java:41",
        },
        _function,
    ),
    Promise(
        "balanced",
        "No partition can go to a member that has two or more partitions less than its own.",
        "efficiency",
        _STICKY,
        {
            "2.7": "StickyAssignor.java:39",
            "4.1": "StickyAssignor.java:40",
            "4.1 broker:uniform": f"{_UNIFORM}:41",
        },
        _balanced,
    ),
    Promise(
        "most-balanced",
        "No chain of moves makes the assignment more balanced.",
        "efficiency",
        _STICKY,
        {
            "2.7": "StickyAssignor.java:36",
            "4.1": "StickyAssignor.java:37",
            "4.1 broker:uniform": f"{_UNIFORM}:41",
        },
        _most_balanced,
    ),
    FEWEST_MOVES,
)

SEVERITIES: Final = ("safety", "liveness", "protocol", "efficiency")


class Broken(NamedTuple):
    """A promise that an assignor breaks, and how; `hung`: it did not answer in time."""

    promise: Promise
    detail: str
    hung: bool = False


def broken(each: Round, promises: Iterable[Promise] = PROMISES) -> Broken | None:
    """The first promise that an assignment breaks."""
    for promise in promises:
        if each.assignor in promise.assignors:
            for detail in promise.check(each):
                return Broken(promise, detail)
    return None


def broken_in(
    assignor: str,
    version: str,
    group: Group,
    assign: Callable[[Group], Assignment],
    done: list[Round],
) -> Broken | None:
    """Have an assignor assign a group, and return the first promise that it breaks.

    A cooperative assignor assigns until nothing waits to be revoked, and a sticky one once more,
    which is to change nothing. `assign` may raise; `done` gets each round.
    """
    most = rounds(assignor, group)
    before = group
    for number in range(1, most + 2):
        done.append(Round(assignor, version, before, assign(before), is_last=number >= most))
        found = broken(done[-1])
        if found is not None or assignor not in STICKY:
            return found
        if number > 1 and done[-2].is_complete:
            break
        before = followed(before, done[-1].assignment)
    # What a cooperative assignor assigns in several rounds moves as little as one round would.
    whole = Round(assignor, version, group, done[-1].assignment)
    return broken(whole, (FEWEST_MOVES,)) if assignor in COOPERATIVE else None
