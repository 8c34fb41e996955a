"""What Kafka promises to users of an assignor, checked on an assignment.

The promises come from Kafka's documentation and not from its code, so that Kafka itself can break
them. The exception is `as-kafka`: clients compute what Kafka's own assignor computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, starmap
from typing import Final, NamedTuple

from groupcheck.model.assignors.functions import (
    FUNCTIONS,
    RACK_AWARE,
    function_of,
    racks_matter,
)
from groupcheck.model.assignors.group import NO_GENERATION, Assignment, Group, Partition, as_sets
from groupcheck.model.assignors.optimum import (
    Moves,
    after,
    cost,
    one_before_another,
    owners_cost,
    racks_cost,
)

CLIENT: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
BROKER: Final = ("broker:range", "broker:uniform")
ASSIGNORS: Final = (*CLIENT, *BROKER)
STICKY: Final = frozenset({"sticky", "cooperative-sticky", "broker:uniform"})
COOPERATIVE: Final = frozenset({"cooperative-sticky"})

VERSIONS: Final = ("2.7", "4.1")

Sources = Mapping[str, str]
Sets = Mapping[str, frozenset[Partition]]


@dataclass(frozen=True)
class Round:
    """An assignment of a group in a rebalance.

    Args:
        is_last: whether no other rebalance may follow to complete it.
        earlier: the assignments of the rebalances before.
    """

    assignor: str
    version: str
    group: Group
    assignment: Assignment
    is_last: bool = True
    earlier: tuple[Assignment, ...] = ()

    @cached_property
    def counts(self) -> Counter[Partition]:
        """To how many members each partition is assigned; only members of the group count."""
        assigned = (set(self.assignment.get(member.id, ())) for member in self.group.members)
        return Counter(partition for partitions in assigned for partition in partitions)

    @cached_property
    def claims(self) -> Mapping[Partition, frozenset[str]]:
        """The members that own a partition and have to revoke it before another one gets it.

        A claim of a generation that is not the group's newest does not count: its member has
        missed a rebalance, and another may have got the partition meanwhile. A client that reports
        no generation has a claim if no other member reports one.
        """
        return {
            partition: frozenset(self._owning(claims))
            for partition, claims in self.group.claims().items()
        }

    def _owning(self, claims: Mapping[str, int]) -> Iterator[str]:
        counts = {self.group.newest}
        if max(claims.values()) == NO_GENERATION:
            counts.add(NO_GENERATION)
        yield from (member for member, owned_in in claims.items() if owned_in in counts)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every assignable partition is assigned once, and nothing else is."""
        counts = self.counts
        return self.group.assignable == counts.keys() and max(counts.values(), default=1) == 1

    @cached_property
    def moves(self) -> Moves:
        """The moves that the assignment allows, of partitions without owners."""
        return Moves(self.group, self.assignment)


def racks_count(each: Round) -> bool:
    """Whether partitions may move towards racks (4.1 AbstractStickyAssignor.java:51)."""
    return each.assignor in RACK_AWARE[each.version] and racks_matter(each.group)


def _once(each: Round) -> Iterator[str]:
    for partition, owners in each.counts.items():
        if owners > 1:
            to = sorted(m for m, assigned in each.assignment.items() if partition in assigned)
            yield f"{partition} is assigned to {' and '.join(to)}"


def _listed_once(each: Round) -> Iterator[str]:
    for member, partitions in each.assignment.items():
        for partition, times in Counter(partitions).items():
            if times > 1:
                yield f"{partition} is listed {times} times in the assignment of {member}"


def _revoked_first(each: Round) -> Iterator[str]:
    for member, partitions in each.assignment.items():
        for partition in partitions:
            owners = each.claims.get(partition, frozenset())
            if owners and member not in owners:
                owner = ", ".join(sorted(owners))
                yield f"{member} is assigned {partition}, which {owner} still owns"


def revokes(before: Sets, after: Sets) -> bool:
    """Whether a member has to revoke something, and starts another rebalance then."""
    return any(partitions - after.get(member, frozenset()) for member, partitions in before.items())


def _settles(each: Round) -> Iterator[str]:
    """A group whose assignments repeat rebalances forever, if each makes a member revoke."""
    assigned = [as_sets(assignment) for assignment in (*each.earlier, each.assignment)]
    for number, assignment in enumerate(assigned[:-1], 1):
        repeats = assignment == assigned[-1]
        if repeats and all(starmap(revokes, pairwise(assigned[number - 1 :]))):
            yield f"the group assigns as in rebalance {number} again, and so on forever"


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
    for unknown in sorted(each.assignment.keys() - known):
        yield f"{unknown!r} has an assignment, and is not a member"


def _exists(each: Round) -> Iterator[str]:
    existing = {partition for topic in each.group.topics for partition in topic.partitions}
    for partition in sorted(each.counts.keys() - existing):
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
    if each.is_complete:
        for move in each.moves.towards_balance():
            yield f"{_sizes(each)}: {move} would be more balanced"


def _most_balanced(each: Round) -> Iterator[str]:
    if each.is_complete:
        chain = each.moves.chain_towards_balance()
        if chain is not None and len(chain) > 1:
            yield f"{_sizes(each)}: more balanced after {', '.join(map(str, chain))}"


def _fewest_moves(each: Round) -> Iterator[str]:
    """Either all claims count, or those of the newest generation: versions of Kafka differ."""
    if not each.is_complete or racks_count(each):
        return
    worse = []
    for newest_only in (False, True):
        costs = owners_cost(each.group.owners(newest_only=newest_only))
        chain = Moves(each.group, each.assignment, costs).chain_that_costs_less()
        if chain is None:
            return
        fewer = cost(after(each.assignment, chain), costs)
        worse.append((cost(each.assignment, costs), fewer, chain))
    moves, fewer, chain = worse[0]
    yield f"{moves} moved where {fewer} would do: {', '.join(map(str, chain))}"


def _racks_and_moves(each: Round) -> Iterator[str]:
    """Racks may come before moves, as in Kafka, or after them."""
    if not each.is_complete or not racks_count(each):
        return
    racks = racks_cost(each.group)
    found = []
    for newest_only in (False, True):
        moves = owners_cost(each.group.owners(newest_only=newest_only))
        for order in ((racks, moves), (moves, racks)):
            costs = one_before_another(*order, each.group)
            chain = Moves(each.group, each.assignment, costs).chain_that_costs_less()
            if chain is None:
                return
            better = after(each.assignment, chain)
            found.append(
                f"{cost(each.assignment, racks)} outside their racks and "
                f"{cost(each.assignment, moves)} moved where {cost(better, racks)} and "
                f"{cost(better, moves)} would do: {', '.join(map(str, chain))}"
            )
    yield found[0]


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


# The severities, the worst first; advice is no promise.
ADVICE: Final = "advice"
SEVERITIES: Final = ("safety", "liveness", "protocol", "efficiency", ADVICE)

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

RACKS: Final = Promise(
    "racks",
    "No assignment with the same balance has more partitions in their members' racks, or as many "
    "and fewer moves. It may also be the other way round: moves first, and then racks.",
    ADVICE,
    tuple(name for name in CLIENT if name in STICKY),
    {"4.1": "AbstractStickyAssignor.java:48"},
    _racks_and_moves,
)

PROMISES: Final = (
    ANSWERS,
    Promise(
        "each-member",
        "Each member has an assignment, and no other one.",
        "protocol",
        ASSIGNORS,
        {"2.7": "ConsumerPartitionAssignor.java:59", "4.1": "ConsumerPartitionAssignor.java:69"},
        _members,
    ),
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
        "settles",
        "A group stops rebalancing while its members and topics stay the same.",
        "liveness",
        tuple(COOPERATIVE),
        {"2.7": "ConsumerPartitionAssignor.java:205", "4.1": "ConsumerPartitionAssignor.java:257"},
        _settles,
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
        "as-kafka",
        "The assignment is that of Kafka's own assignor, whichever member leads the group.",
        "protocol",
        tuple(FUNCTIONS),
        {
            "2.7": "RangeAssignor.java:29",
            "4.1": "RangeAssignor.java:43",
            "2.7 roundrobin": "RoundRobinAssignor.java:32",
            "4.1 roundrobin": "RoundRobinAssignor.java:32",
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
        "No chain of moves makes the assignment more balanced. Kafka promises single moves only.",
        ADVICE,
        _STICKY,
        {
            "2.7": "StickyAssignor.java:36",
            "4.1": "StickyAssignor.java:37",
            "4.1 broker:uniform": f"{_UNIFORM}:41",
        },
        _most_balanced,
    ),
    FEWEST_MOVES,
    RACKS,
)


class Broken(NamedTuple):
    """A promise that an assignor breaks, and how; `hung`: it did not answer in time."""

    promise: Promise
    detail: str
    hung: bool = False

    @property
    def is_advice(self) -> bool:
        """Whether it is no promise that is broken."""
        return self.promise.severity == ADVICE


def broken(each: Round, promises: Iterable[Promise] = PROMISES) -> Broken | None:
    """The first promise that an assignment breaks."""
    for promise in promises:
        if each.assignor in promise.assignors:
            for detail in promise.check(each):
                return Broken(promise, detail)
    return None
