"""The result of a verification. `reports.record` saves the records of this module as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from groupcheck.model.engine.edits import always
from groupcheck.properties.code.code import Code
from groupcheck.properties.coverage.covered import Covered
from groupcheck.properties.coverage.curve import Point
from groupcheck.properties.coverage.kind import Kind
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.tolerances import Tolerances


class Settings(NamedTuple):
    """The size of a run: `members` bounds the model instances, the others bound the tests.

    With more than one member a port in virtual time is tested on the small instances too, and with
    `every_instance` on all instances of the version, except those that need what the port does not
    support. The search and the minimising of findings end after `time_s` seconds, unless it is 0;
    on a real clock there is then no other limit to the number of sequences. With `pairs` a port in
    virtual time is tested on every pair of adjacent transitions. `walks` is the number of random
    walks, run by up to `jobs` processes. `sequences` is the length of a long run on a real clock.
    `stage` is the only stage of such a run, or empty for all.
    `side_by_side` is the number of its sequences that run at the same time, or in virtual time the
    number of ports; 0 is the usual number.
    """

    profile: str = "2.7"
    members: int = 2
    examples: int = 100
    steps: int = 60
    seed: int = 0
    max_findings: int = 100
    every_instance: bool = False
    pairs: bool = False
    walks: int = 0
    jobs: int = 1
    sequences: int = 0
    side_by_side: int = 0
    time_s: int = 0
    stage: str = ""


class TransitionCounts(msgspec.Struct, frozen=True):
    """The transitions of an instance by outcome; all but `requests_covered` add up to `total`.

    `requests_covered` are those of `covered` that are requests, not time or faults. `not_observed`
    are allowed outcomes of a choice at which the port took another one, and the transitions that
    only those lead to. `ambiguous` were tried, but the observation matches several. For
    `unsupported` the port lacks the input; to `diverged` it gave an answer that is not allowed.
    """

    total: int = 0
    covered: int = 0
    requests_covered: int = 0
    not_observed: int = 0
    ambiguous: int = 0
    unsupported: int = 0
    diverged: int = 0
    untried: int = 0

    @classmethod
    def of(cls, outcomes: str) -> TransitionCounts:
        """Count the letters of `Kind`, one for each transition."""
        counts = Counter(outcomes)
        return cls(
            len(outcomes) - counts[Kind.NOT_ASKED],
            counts[Kind.ANSWERED] + counts[Kind.HAPPENED],
            counts[Kind.ANSWERED],
            counts[Kind.NOT_CHOSEN],
            counts[Kind.AMBIGUOUS],
            counts[Kind.UNSUPPORTED],
            counts[Kind.DIVERGED],
            counts[Kind.UNTRIED],
        )


class Tours(msgspec.Struct, frozen=True):
    """The tours of an instance: the number of tests, and of their steps in all.

    No test suite covers the same in fewer steps than `lower_bound`, which is 0 where unknown.
    """

    tests: int = 0
    steps: int = 0
    lower_bound: int = 0


class InstanceCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """A model instance, and what the port did on each of its transitions.

    `outcomes` has a letter for each transition, in the order of the explored graph: `a` request
    covered, `h` time or fault covered, `d` answered, but not as allowed, `n` allowed outcome not
    observed, `m` ambiguous, `l` unsupported, `u` untried, `-` not selected. `digest` identifies
    that graph. `broker` has the broker settings of the instance, `group_transitions` how often the
    run took each transition between group states.
    """

    name: str
    members: int
    states: int
    depth: int
    transitions: TransitionCounts
    outcomes: str
    tours: Tours = Tours()
    broker: dict[str, int] = {}
    digest: str = ""
    group_transitions: dict[str, int] = {}

    def __post_init__(self) -> None:
        """Raise a ValueError if the counts do not match the outcomes."""
        if not set(self.outcomes) <= set(Kind):
            msg = f"the outcomes of {self.name} have an unknown letter"
            raise ValueError(msg)
        if TransitionCounts.of(self.outcomes) != self.transitions:
            msg = f"the transition counts of {self.name} are not those of its outcomes"
            raise ValueError(msg)

    @property
    def label(self) -> str:
        """The name with the number of members, as coverage files have it."""
        return f"{self.name}/{self.members}"


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of adjacent transitions of an instance, counted by outcome."""

    instance: str
    pairs: TransitionCounts
    tours: Tours


class Stage(msgspec.Struct, frozen=True):
    """A stage of a long run: the sequences done, and how many of them are undecided.

    Both include the earlier runs that this one resumes.
    """

    name: str
    sequences: int
    steps: int
    undecided: int
    seconds: float


class Outage(msgspec.Struct, frozen=True):
    """An outage of the coordinator in a long run, in seconds after the start of the run.

    `seconds` is how long it lasted, null if the coordinator did not come back; `reason` is what the
    availability monitor saw.
    """

    after_seconds: float
    seconds: float | None
    reason: str


@dataclass
class Result:
    """What a verification found. `reports.verification_record` makes its record."""

    port: str
    settings: Settings
    kafka: str
    instances: list[InstanceCoverage] = field(default_factory=list)
    pairs: list[Pairs] = field(default_factory=list)
    sequences: int = 0
    steps: int = 0
    findings: list[Finding] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    seconds: float = 0.0
    assumed_defaults: list[str] = field(
        default_factory=list
    )  # settings that the broker does not report
    more: int = 0  # findings beyond `max_findings`: neither minimised nor reported
    not_reproduced: int = 0  # findings on a real clock that did not occur again
    ended_early: str = ""  # the reason, if the run was cut short
    tolerances: Tolerances | None = None  # tolerances of a port on a real clock
    started: str = ""  # when, in UTC
    time_over: str = ""  # what was cut short as the time was over
    answered: bool = False  # whether the port sent any response
    curve: list[Point] = field(default_factory=list)
    covered: Covered = field(default_factory=dict)  # only if it is to be saved
    stages: list[Stage] = field(default_factory=list)  # of a long run
    outages: list[Outage] = field(default_factory=list)  # of the coordinator, in a long run
    code: Code | None = None  # of the port, if its code coverage was measured
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds
    known: tuple[str, ...] = ()  # deviations that the port was known to have, perhaps sometimes
    fixed: tuple[str, ...] = ()  # those of them that it no longer has

    @property
    def transitions(self) -> int:
        """The number of transitions of all instances."""
        return sum(each.transitions.total for each in self.instances)

    @property
    def covered_transitions(self) -> int:
        """How many of them the port covered."""
        return sum(each.transitions.covered for each in self.instances)

    def is_known(self, finding: Finding) -> bool:
        """Whether the cause of a finding was known before the run."""
        return finding.cause is not None and str(always(finding.cause)) in self.known

    @property
    def conforms(self) -> bool:
        """Whether the run was complete, the port answered a request, and nothing new was found."""
        covered = any(each.transitions.requests_covered for each in self.instances)
        new = any(not self.is_known(finding) for finding in self.findings)
        return self.answered and covered and not new and not self.ended_early
