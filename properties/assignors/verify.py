"""Verifies assignors: groups drawn at random, trial by Kafka's promises, and made minimal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Final, NamedTuple

import hypothesis

from groupcheck.model.assignors.functions import (
    EXPLANATIONS,
    Behaviour,
    Function,
    function_of,
)
from groupcheck.model.assignors.group import Assignment, Group, Member, Partition, Topic, as_sets
from groupcheck.model.assignors.promises import (
    ANSWERS,
    SEVERITIES,
    Broken,
    Round,
    broken_in,
)
from groupcheck.properties.assignors.cases import groups, is_possible
from groupcheck.properties.assignors.port import AssignorFailedError, AssignorPort

# A port that hangs so often is not asked again: each time costs its time limit.
MOST_HANGS: Final = 5
# How often one group is tried: franz-go's sticky assignor depends on the order of a map.
CHANCES: Final = 10
# How many groups of a finding are made minimal, in how many seconds at most, and how many of them
# are kept beside the smallest.
SAMPLES: Final = 8
MINIMISING_S: Final = 20.0
OTHERS: Final = 3


class Trial(NamedTuple):
    """A group that an assignor was given: its rounds, and the promise that they break."""

    group: Group
    rounds: tuple[Round, ...]
    broken: Broken | None


@dataclass
class Finding:
    """A promise that an assignor breaks, on the smallest group found.

    `count` of the groups tried break it for this cause, which is "" if it is not known. `others`
    are groups from which nothing can be left out either.
    """

    assignor: str
    trial: Trial
    count: int
    cause: str
    others: tuple[Trial, ...] = ()

    @property
    def broken(self) -> Broken:
        """The promise."""
        found = self.trial.broken
        if found is None:
            msg = "a finding breaks a promise"
            raise ValueError(msg)
        return found

    @property
    def rank(self) -> tuple[int, str, str]:
        """Findings in the order of a report: the worst first."""
        promise = self.broken.promise
        return SEVERITIES.index(promise.severity), self.assignor, promise.id


@dataclass
class Verified:
    """What was tried on an assignor, and what was found."""

    assignor: str
    version: str
    tried: int = 0
    stopped: str = ""
    findings: list[Finding] = field(default_factory=list)


def try_group(port: AssignorPort, assignor: str, version: str, group: Group) -> Trial:
    """Have an assignor assign a group, in as many rounds as it takes, and check the result."""
    found: list[Round] = []

    def assign(each: Group) -> Assignment:
        return port.assign(assignor, each)

    try:
        broken = broken_in(assignor, version, group, assign, found)
    except AssignorFailedError as error:
        broken = Broken(ANSWERS, str(error), hung=error.hung)
    return Trial(group, tuple(found), broken)


class Settings(NamedTuple):
    """How assignors are tried.

    `version` is the version of Kafka whose promises count, "2.7" or "4.1"; `cases` is how many
    groups are drawn for each assignor, the same ones for the same `seed`.
    """

    version: str
    cases: int
    seed: int = 0
    racks: bool = True


def verify(
    port: AssignorPort,
    assignor: str,
    settings: Settings,
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Try an assignor of an open port on groups drawn at random, and make each finding minimal.

    `progress` is called with the number of groups tried since the last call.
    """
    version = settings.version
    result = Verified(assignor, version)
    found: dict[str, _Found] = defaultdict(_Found)
    causes = Causes(assignor, version)
    hangs = 0

    @hypothesis.seed(settings.seed)
    @hypothesis.settings(
        max_examples=settings.cases,
        phases=(hypothesis.Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=tuple(hypothesis.HealthCheck),
    )
    @hypothesis.given(groups(assignor, racks=settings.racks))
    def try_each(group: Group) -> None:
        nonlocal hangs
        if hangs >= MOST_HANGS:
            return
        trial = try_group(port, assignor, version, group)
        result.tried += 1
        progress(1)
        if trial.broken is None:
            causes.contradict(trial)
        else:
            hangs += trial.broken.hung
            found[trial.broken.promise.id].add(causes.of(trial), trial)

    try_each()
    if hangs >= MOST_HANGS:
        result.stopped = f"the port hung {hangs} times"
    for each in found.values():
        for cause, count, some in each.by_cause(causes):
            finding = Finding(assignor, some[0], count, cause)
            if not finding.broken.hung:
                _minimise(port, version, finding, some, causes)
            result.findings.append(finding)
    result.findings.sort(key=lambda each: each.rank)
    return result


def verify_group(port: AssignorPort, assignor: str, version: str, group: Group) -> Verified:
    """Try an assignor on one group; a few times, as its answers may vary."""
    causes = Causes(assignor, version)
    result = Verified(assignor, version)
    for _ in range(CHANCES):
        result.tried += 1
        trial = try_group(port, assignor, version, group)
        if trial.broken is not None:
            cause = causes.simplest(causes.of(trial))
            result.findings = [Finding(assignor, trial, 1, cause)]
            break
    return result


class Causes:
    """Tells the causes of broken promises apart.

    An assignment that is not the documented one may be that of another known behaviour; one that is
    missing has the name of an error.
    """

    def __init__(self, assignor: str, version: str) -> None:
        self._others: dict[str, Callable[[Group], Assignment]] = {}
        found = function_of(assignor, version)
        if found is not None:
            function, usual = found
            behaviours = {words: change(usual) for words, change in EXPLANATIONS.items()}
            self._others = {
                words: partial(_assigned, function, behaviour)
                for words, behaviour in behaviours.items()
                if behaviour != usual
            }
        self.contradicted: Counter[str] = Counter()
        self.excluded: set[str] = set()

    def may_be(self, cause: str, trial: Trial) -> bool:
        """Whether a broken promise may have a cause, or none that is known."""
        possible = self.of(trial) - self.excluded
        return cause in possible if cause else not possible

    def exclude(self, explained: Counter[str]) -> None:
        """Leave out the causes that explain less than they contradict; a port may have several."""
        names = explained.keys() | self.contradicted.keys()
        self.excluded |= {each for each in names if explained[each] <= self.contradicted[each]}

    def simplest(self, causes: Iterable[str]) -> str:
        """The cause of some that comes first in the list of explanations."""
        names = [*EXPLANATIONS]
        return min(causes, key=lambda each: names.index(each) if each in names else -1, default="")

    def contradict(self, trial: Trial) -> None:
        """Count which causes would have changed an assignment that breaks no promise."""
        if trial.rounds:
            given_to = as_sets(trial.rounds[0].assignment)
            for words, assign in self._others.items():
                self.contradicted[words] += as_sets(assign(trial.group)) != given_to

    def of(self, trial: Trial) -> frozenset[str]:
        """What may be the cause of a broken promise; nothing if there is no more to say."""
        if trial.broken is None:
            return frozenset()
        if trial.broken.promise == ANSWERS:
            return frozenset({trial.broken.detail.partition(":")[0]})
        if trial.broken.promise.id != "as-documented":
            return frozenset()
        given_to = as_sets(trial.rounds[0].assignment)
        return frozenset(
            words
            for words, assign in self._others.items()
            if as_sets(assign(trial.group)) == given_to
        )


def _assigned(function: Function, behaviour: Behaviour, group: Group) -> Assignment:
    return function(group, behaviour)


class _Found:
    """The groups that break a promise: of each set of possible causes, how many, and the first."""

    def __init__(self) -> None:
        self._counts: Counter[frozenset[str]] = Counter()
        self._first: dict[frozenset[str], list[Trial]] = defaultdict(list)

    def add(self, causes: frozenset[str], trial: Trial) -> None:
        """Count a group."""
        self._counts[causes] += 1
        if len(self._first[causes]) < SAMPLES:
            self._first[causes].append(trial)

    def by_cause(self, causes: Causes) -> Iterator[tuple[str, int, list[Trial]]]:
        """Few causes that explain all groups, with the number and the first; "" for none."""
        causes.exclude(_votes(self._counts))
        left = dict(self._counts)
        while left:
            votes = _votes(left)
            for each in causes.excluded:
                del votes[each]
            most = max(votes.values(), default=0)
            cause = causes.simplest(each for each, count in votes.items() if count == most)
            explained = [possible for possible in left if cause in possible or not cause]
            first = [trial for possible in explained for trial in self._first[possible]]
            yield cause, sum(left[possible] for possible in explained), first[:SAMPLES]
            for possible in explained:
                del left[possible]


def _votes(counts: Mapping[frozenset[str], int]) -> Counter[str]:
    """How many groups each cause may explain."""
    votes = Counter[str]()
    for possible, count in counts.items():
        votes.update(dict.fromkeys(possible, count))
    return votes


def _minimise(
    port: AssignorPort, version: str, finding: Finding, some: list[Trial], causes: Causes
) -> None:
    """Make groups of a finding minimal, until that has taken as long as one may wait."""
    until = monotonic() + MINIMISING_S
    found: dict[Group, Trial] = {}
    for trial in some:
        if not found or monotonic() < until:
            least = minimal(port, version, replace(finding, trial=trial), causes, until)
            found.setdefault(_named_in_order(least.group), least)
    finding.trial, *others = sorted(found.values(), key=lambda each: _size(each.group))
    finding.others = tuple(others[:OTHERS])


def _size(group: Group) -> int:
    """How much there is to read about a group."""
    topics = sum(1 + len(topic.racks) for topic in group.topics)
    return topics + sum(
        2 + len(m.topics) + len(m.owned) + (m.rack is not None) for m in group.members
    )


def minimal(
    port: AssignorPort, version: str, finding: Finding, causes: Causes, until: float
) -> Trial:
    """A group that breaks a promise for the same cause, and none with one thing less does."""
    best = finding.trial
    smaller = _smaller(best.group)
    while monotonic() < until and (group := next(smaller, None)) is not None:
        if not is_possible(finding.assignor, group):
            continue
        trial = try_group(port, finding.assignor, version, group)
        if (
            trial.broken is not None
            and trial.broken.promise == finding.broken.promise
            and causes.may_be(finding.cause, trial)
        ):
            best = trial
            smaller = _smaller(group)
    return best


def _smaller(group: Group) -> Iterator[Group]:
    """Groups with one thing less, the largest things first."""
    topics, members = group
    for at, _ in enumerate(members):
        if len(members) > 1:
            yield group._replace(members=members[:at] + members[at + 1 :])
    for at, topic in enumerate(topics):
        others = topics[:at] + topics[at + 1 :]
        yield _without(topic.name, group._replace(topics=others))
        yield group._replace(topics=others)
        if len(topic.racks) > 1:
            fewer = topic._replace(racks=topic.racks[:-1])
            yield group._replace(topics=(*topics[:at], fewer, *topics[at + 1 :]))
    for at, member in enumerate(members):
        for simpler in _simpler(member):
            yield group._replace(members=(*members[:at], simpler, *members[at + 1 :]))
    yield from _plainer(group)


def _plainer(group: Group) -> Iterator[Group]:
    """Groups of the same size that are easier to read."""
    topics, members = group
    for at, topic in enumerate(topics):
        for number, racks in enumerate(topic.racks):
            for fewer in (frozenset[str](), *(racks - {rack} for rack in sorted(racks))):
                if fewer != racks:
                    changed = (*topic.racks[:number], fewer, *topic.racks[number + 1 :])
                    plain = topic._replace(racks=changed)
                    yield group._replace(topics=(*topics[:at], plain, *topics[at + 1 :]))
    if all(member.generation is not None for member in members):
        yield group._replace(members=tuple(m._replace(generation=None) for m in members))
    ordered = tuple(sorted(members, key=lambda member: member.id))
    for plain_group in (group._replace(members=ordered), _named_in_order(group)):
        if plain_group != group:
            yield plain_group


def _simpler(member: Member) -> Iterator[Member]:
    for topic in member.topics:
        others = tuple(each for each in member.topics if each != topic)
        yield member._replace(
            topics=others, owned=tuple(each for each in member.owned if each.topic != topic)
        )
        yield member._replace(topics=others)
    for partition in member.owned:
        rest = tuple(each for each in member.owned if each != partition)
        yield member._replace(owned=rest)
        lower = partition._replace(number=partition.number - 1)
        if lower.number >= 0 and lower not in rest:
            yield member._replace(owned=tuple(sorted((*rest, lower))))
    if member.instance_id is not None:
        yield member._replace(instance_id=None)
    if member.rack is not None:
        yield member._replace(rack=None)
    if member.generation is not None:
        yield member._replace(generation=None)
    if member.generation not in (None, 1):
        yield member._replace(generation=1)


def _named_in_order(group: Group) -> Group:
    """The group with topics t0, t1, … members m0, m1, … and so on, in the same order."""
    known = {topic for member in group.members for topic in member.topics}
    known |= {each.topic for member in group.members for each in member.owned}
    topics = _numbered("t", known | {topic.name for topic in group.topics})
    ids = _numbered("m", {member.id for member in group.members})
    instances = _numbered("i", {m.instance_id for m in group.members if m.instance_id is not None})
    every = frozenset[str]().union(*(racks for topic in group.topics for racks in topic.racks))
    racks = _numbered("r", every | {member.rack for member in group.members if member.rack})
    return Group(
        tuple(
            Topic(topics[t.name], tuple(frozenset(racks[r] for r in each) for each in t.racks))
            for t in group.topics
        ),
        tuple(
            Member(
                ids[member.id],
                tuple(topics[each] for each in member.topics),
                member.instance_id and instances[member.instance_id],
                member.rack and racks[member.rack],
                tuple(Partition(topics[each.topic], each.number) for each in member.owned),
                member.generation,
            )
            for member in group.members
        ),
    )


def _numbered(letter: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{letter}{number}" for number, name in enumerate(sorted(names))}


def _without(topic: str, group: Group) -> Group:
    """A group in which no member knows a topic."""
    members = tuple(
        member._replace(
            topics=tuple(each for each in member.topics if each != topic),
            owned=tuple(each for each in member.owned if each.topic != topic),
        )
        for member in group.members
    )
    return group._replace(members=members)
