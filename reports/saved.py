"""A result as it is saved, of whichever command: what all faces of a report are made of.

It is JSON (result.json of a report) whose form is that of the records here; `result.schema.json`,
beside this module, says the same as a JSON Schema. A result of several runs put together has the
same form. What only some commands have is in `saved_sections`. How a result comes to be saved
(`told`, `told_otherwise`), and how it is read (`saved_file`), is not here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from groupcheck.properties.code.code import Code
from groupcheck.properties.coverage.kind import Kind
from groupcheck.properties.result import Shares
from groupcheck.reports.saved_sections import Check, Exploration

FORMAT: Final = 3

Command = Literal["verify", "replay", "check", "explore"]


class Tours(msgspec.Struct, frozen=True, kw_only=True):
    """The tours of a space: so many tests of so many steps; none show as much in fewer than least.

    `least` is 0 where it is not known.
    """

    tests: int = 0
    steps: int = 0
    least: int = 0


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """A space of the model, and how its labelled edges came out.

    `edge_kinds` has a letter for each labelled edge in the order of the explored graph, which
    `digest` tells from any other graph: a answered as Kafka would, h happened (time or a fault, and
    shown), d answered unlawfully, n a lawful branch that the port did not take, m tried but not to
    be told apart, l not supported, u not tried, - not asked for. `broker` has the settings that it
    was explored with, and `arrows` how often each arrow from one state of the group to another was
    taken.
    """

    name: str
    members: int
    states: int
    edges: int
    depth: int
    edges_shown: int
    edges_answered: int
    edges_not_chosen: int
    edges_ambiguous: int
    edges_left_out: int
    edges_diverged: int
    edges_untried: int
    edge_kinds: str
    tours: Tours
    broker: dict[str, int] = {}
    digest: str = ""
    arrows: dict[str, int] = {}

    def __post_init__(self) -> None:
        """Raise a ValueError if the figures are not those of the letters."""
        if not set(self.edge_kinds) <= set(Kind):
            msg = "edge_kinds has a letter that means nothing"
            raise ValueError(msg)
        if Shares.of(self.edge_kinds) != self.shares:
            msg = f"the figures of {self.name} are not those of its edge_kinds"
            raise ValueError(msg)

    @property
    def shares(self) -> Shares:
        """How its edges came out."""
        return Shares(
            self.edges,
            self.edges_shown,
            self.edges_answered,
            self.edges_not_chosen,
            self.edges_ambiguous,
            self.edges_left_out,
            self.edges_diverged,
            self.edges_untried,
        )


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of adjacent edges of a space, and how they came out."""

    space: str
    pairs: int
    shown: int
    not_chosen: int
    ambiguous: int
    left_out: int
    diverged: int
    untried: int
    tours: Tours

    @property
    def shares(self) -> Shares:
        """How they came out; how many are requests is not kept."""
        return Shares(
            self.pairs,
            self.shown,
            0,
            self.not_chosen,
            self.ambiguous,
            self.left_out,
            self.diverged,
            self.untried,
        )


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of the version: those seen to hold, never, and not to hold where another then did.

    A rule that is `applied` was seen to hold, one that is `passed_over` was seen not to.
    """

    applied: tuple[str, ...]
    starved: tuple[str, ...]
    passed_over: tuple[str, ...]


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the coverage curve."""

    seconds: float
    steps: int
    shown: int


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a long run: the sequences that were done of it, and how many are undecided.

    Earlier runs that this one goes on from are counted too.
    """

    name: str
    sequences: int
    steps: int
    undecided: int
    seconds: float


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """When the coordinator was away in a long run: how long after the start, and for how long.

    `seconds` is null if it did not come back; `reason` says what was seen of it.
    """

    after_seconds: float
    seconds: float | None
    reason: str


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of a run, as its progress bar names it, and how long it took."""

    name: str
    seconds: float


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run: of what, with what, and how it went. `started` is ISO 8601, in UTC.

    Only a long run on a real clock has `stages`, and `outages` of its coordinator.
    """

    port: str
    groupcheck: str
    python: str
    started: str
    seconds: float
    sequences: int
    steps: int
    ended_early: str
    settings: dict[str, bool | int | str]
    windows: dict[str, int] | None
    curve: tuple[Moment, ...] = ()
    stages: tuple[Stage, ...] = ()
    outages: tuple[Outage, ...] = ()
    phases: tuple[Phase, ...] = ()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What happens in a sequence diagram: an arrow (request, answer, wrong, silence), or a note."""

    kind: Literal["request", "answer", "wrong", "silence", "note"]
    label: str
    source: str = ""
    target: str = ""


class Diagram(msgspec.Struct, frozen=True, kw_only=True):
    """A finding as a sequence diagram, its participants from the left to the right."""

    title: str
    participants: Annotated[tuple[str, ...], msgspec.Meta(min_length=2)]
    events: tuple[Event, ...]
    verdict: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise a ValueError if it cannot be drawn."""
        known = set(self.participants)
        arrows = [event for event in self.events if event.kind != "note"]
        ends = {end for arrow in arrows for end in (arrow.source, arrow.target)}
        if len(known) != len(self.participants) or not ends <= known:
            msg = "an arrow begins or ends at nobody, or somebody is there twice"
            raise ValueError(msg)


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A field of what came back, beside the same field of what Kafka does."""

    field: str
    seen: str
    lawful: str

    @property
    def differs(self) -> bool:
        """Whether they are not the same."""
        return self.seen != self.lawful


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, told in all ways.

    `accepted_steps` were answered lawfully; `states` are the model's after each step of `trace`,
    the first of them before all, as fields in words; `compared` is what came back at the last step
    beside what Kafka does. `would_be_right` are the rules by which the answer would be right, `law`
    the one that it breaks. `itf` is the trace for the tools of TLA+. What was found without a port
    has an empty one; of what was found in a log, or in the model, there is less: no `diagram`,
    `states` or `itf`, and perhaps no `trace`. Of a sequence of more than 300 steps there are no
    `states` and no `itf`.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{8}$")]
    port: str
    title: str
    story: str
    accepted_steps: int
    would_be_right: tuple[dict[str, Any], ...]
    law: dict[str, str] | None
    trace: tuple[dict[str, Any], ...]
    diagram: Diagram | None
    states: tuple[dict[str, str], ...]
    compared: tuple[Compared, ...]
    itf: dict[str, Any] | None

    def __post_init__(self) -> None:
        """Raise a ValueError if a text of it could do something to a terminal, or to XML."""
        texts = [self.title, *self.story.split("\n")]
        if drawn := self.diagram:
            texts += [drawn.title, *drawn.verdict, *drawn.participants]
            texts += [event.label for event in drawn.events]
        texts += [text for state in self.states for pair in state.items() for text in pair]
        texts += [text for each in self.compared for text in (each.field, each.seen, each.lawful)]
        if not all(map(str.isprintable, texts)):
            msg = "a text of it cannot be printed"
            raise ValueError(msg)


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run of a command, or several of the same together, came to.

    Only `verify` has spaces, pairs, rules and code. Of the others `lines` are what they tell beside
    findings and verdict; an exploration, and a check, have a section of their own. `sequences` are
    of a recording its groups, of a check all histories; `steps` are what was judged of them.
    """

    format: Literal[3] = FORMAT
    command: Command = "verify"
    port: str
    profile: str
    kafka: str
    conforms: bool
    verdict: str
    ended_early: str
    sequences: int
    steps: int
    seconds: float
    unsupported: tuple[str, ...]
    presumed: tuple[str, ...]
    more_findings: int
    not_reproduced: int
    spaces: tuple[Space, ...]
    pairs: tuple[Pairs, ...]
    rules: Rules | None
    runs: tuple[Run, ...]
    findings: tuple[Found, ...]
    code: Code | None = None
    lines: tuple[str, ...] = ()
    check: Check | None = None
    exploration: Exploration | None = None

    def __post_init__(self) -> None:
        """Raise a ValueError if its sections are not those of its command, or cannot be printed."""
        there = {"check": self.check, "explore": self.exploration}
        if any((self.command == name) != (each is not None) for name, each in there.items()):
            msg = f"its sections are not those of {self.command}"
            raise ValueError(msg)
        if not all(map(str.isprintable, self.lines)):
            msg = "a line of it cannot be printed"
            raise ValueError(msg)

    @property
    def edges(self) -> int:
        """The labelled edges of all spaces."""
        return sum(space.edges for space in self.spaces)

    @property
    def shown(self) -> int:
        """How many of them were shown."""
        return sum(space.edges_shown for space in self.spaces)

    @property
    def answered(self) -> int:
        """How many of those are requests; without any, nothing can be said of the port."""
        return sum(space.edges_answered for space in self.spaces)

    @property
    def decided(self) -> bool:
        """Whether anything can be said of what was looked at."""
        if self.check is not None:
            return self.check.accepted + self.check.rejected > 0
        return self.command != "verify" or self.answered > 0

    @property
    def undecided(self) -> int:
        """The sequences of long runs of which nothing is known, as the port was away meanwhile."""
        return sum(stage.undecided for run in self.runs for stage in run.stages)
