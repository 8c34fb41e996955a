"""What a verification was asked for and what it came to; how it was made is not here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from groupcheck.properties.finding import Finding


class Settings(NamedTuple):
    """How much is done: `members` bounds the spaces, the others bound the tests."""

    profile: str = "2.7"
    members: int = 2
    examples: int = 100
    steps: int = 60
    seed: int = 0
    max_findings: int = 25


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


@dataclass
class SpaceResult:
    """One space: what was explored of the model, and what of it the port has shown."""

    name: str
    states: int
    edges: int
    depth: int
    shares: Shares


@dataclass
class Result:
    """All that a verification came to; the one thing that reports are made from."""

    port: str
    settings: Settings
    kafka: str
    spaces: list[SpaceResult] = field(default_factory=list)
    sequences: int = 0
    steps: int = 0
    findings: list[Finding] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    seconds: float = 0.0
    presumed: list[str] = field(default_factory=list)  # broker settings that nobody told
    more: int = 0  # findings beyond the most that are made minimal and told
    not_reproduced: int = 0  # findings on a real clock that never came again, and are not told
    ended_early: str = ""  # why, if the run did not come to its end

    @property
    def edges(self) -> int:
        """The labelled edges of all spaces."""
        return sum(space.edges for space in self.spaces)

    @property
    def shown(self) -> int:
        """How many of them the port has shown."""
        return sum(space.shares.shown for space in self.spaces)

    @property
    def answered(self) -> int:
        """How many of those shown are requests; without any, nothing can be said of the port."""
        return sum(space.shares.answered for space in self.spaces)

    @property
    def conforms(self) -> bool:
        """Whether the port was run to the end, answered something, and nothing was found."""
        return self.answered > 0 and not self.findings and not self.ended_early
