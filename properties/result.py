"""What a verification was asked for and what it came to; how it was made is not here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from groupcheck.properties.code.code import Code
from groupcheck.properties.coverage.covered import Covered
from groupcheck.properties.coverage.curve import Point
from groupcheck.properties.coverage.kind import Kind
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.windows import Windows


class Settings(NamedTuple):
    """How much is done: `members` bounds the spaces, the others bound the tests.

    With more than one member a port in virtual time is tried on the short spaces too, and with
    `every_space` on all that the version has; what it does not support is left out. With `pairs`
    one in virtual time is tried on every pair of adjacent edges, too. `walks` are random walks in
    bulk, done by as many processes as `jobs` says, if there is enough to be done. `sequences` are
    those of a long run on a real clock, `side_by_side` how many of them are under way at once.
    """

    profile: str = "2.7"
    members: int = 2
    examples: int = 100
    steps: int = 60
    seed: int = 0
    max_findings: int = 25
    every_space: bool = False
    pairs: bool = False
    walks: int = 0
    jobs: int = 1
    sequences: int = 0
    side_by_side: int = 100


class Shares(NamedTuple):
    """How the labelled edges of a space came out; all but `answered` add up to `edges`.

    `answered` are those of `shown` that are requests, not time or faults; `not_chosen` are branches
    of a fork whose other branches the port took; `ambiguous` were tried, but what was seen fits
    more than one branch; `left_out` are inputs the port does not support; `diverged` were answered
    unlawfully.
    """

    edges: int
    shown: int
    answered: int
    not_chosen: int
    ambiguous: int
    left_out: int
    diverged: int
    untried: int

    @classmethod
    def of(cls, kinds: str) -> Shares:
        """The edges of a space counted, each once."""
        counts = Counter(kinds)
        return cls(
            len(kinds) - counts[Kind.NOT_ASKED],
            counts[Kind.ANSWERED] + counts[Kind.HAPPENED],
            counts[Kind.ANSWERED],
            counts[Kind.NOT_CHOSEN],
            counts[Kind.AMBIGUOUS],
            counts[Kind.LEFT_OUT],
            counts[Kind.DIVERGED],
            counts[Kind.UNTRIED],
        )


class Tours(NamedTuple):
    """The tours of a space: how many tests of how many steps in all.

    No suite of tests shows what they have shown in fewer than the `least` steps.
    """

    tests: int = 0
    steps: int = 0
    least: int = 0

    @property
    def ratio(self) -> float | None:
        """How many times the least the steps are; None if nothing was shown."""
        return self.steps / self.least if self.least else None


NO_TOURS = Tours()


@dataclass
class SpaceResult:
    """One space: what was explored of the model, and what of it the port has shown.

    `kinds` has a letter for each labelled edge, in the order of the explored graph, `broker` the
    settings that the space is explored with, and `arrows` how often this run has taken each arrow
    from one state of the group to another.
    """

    name: str
    states: int
    edges: int
    depth: int
    shares: Shares
    tours: Tours = NO_TOURS
    kinds: str = ""
    broker: Mapping[str, int] = field(default_factory=dict)
    arrows: Mapping[str, int] = field(default_factory=dict)


class Stage(NamedTuple):
    """A stage of a long run: how many sequences of it were done, and how many are undecided.

    Both count what earlier runs did that this one goes on from.
    """

    name: str
    sequences: int
    steps: int
    undecided: int
    seconds: float


class Outage(NamedTuple):
    """When a coordinator was away: how long after the start, and for how long, if it came back."""

    after_s: float
    seconds: float | None
    reason: str


@dataclass
class Result:
    """All that a verification came to; the one thing that reports are made from."""

    port: str
    settings: Settings
    kafka: str
    spaces: list[SpaceResult] = field(default_factory=list)
    pairs: list[SpaceResult] = field(default_factory=list)  # whose edges are pairs of edges
    sequences: int = 0
    steps: int = 0
    findings: list[Finding] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    seconds: float = 0.0
    presumed: list[str] = field(default_factory=list)  # broker settings that nobody told
    more: int = 0  # findings beyond the most that are made minimal and told
    not_reproduced: int = 0  # findings on a real clock that never came again, and are not told
    ended_early: str = ""  # why, if the run did not come to its end
    windows: Windows | None = None  # within which a port on a real clock was judged
    started: str = ""  # when, in UTC
    curve: list[Point] = field(default_factory=list)
    covered: Covered = field(default_factory=dict)  # only if it is to be kept
    stages: list[Stage] = field(default_factory=list)  # of a long run
    outages: list[Outage] = field(default_factory=list)  # of the coordinator, in a long run
    code: Code | None = None  # of the port, if it was watched
    phases: Mapping[str, float] = field(default_factory=dict)  # how many seconds each took

    @property
    def edges(self) -> int:
        """The labelled edges of all spaces."""
        return sum(space.edges for space in self.spaces)

    @property
    def shown(self) -> int:
        """How many of them the port has shown."""
        return sum(space.shares.shown for space in self.spaces)

    @property
    def tours(self) -> Tours:
        """The tours of all spaces."""
        each = [space.tours for space in self.spaces]
        return Tours(*(sum(figures) for figures in zip(*each, strict=True)))

    @property
    def answered(self) -> int:
        """How many of those shown are requests; without any, nothing can be said of the port."""
        return sum(space.shares.answered for space in self.spaces)

    @property
    def conforms(self) -> bool:
        """Whether the port was run to the end, answered something, and nothing was found."""
        return self.answered > 0 and not self.findings and not self.ended_early
