"""The result record: what `--save` and `--report` write and every renderer reads.

`result.schema.json` beside this module is its JSON Schema. Instances, stages and outages are
records of `properties.result`, code coverage is one of `properties.code`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec

from groupcheck.properties.code.code import Code
from groupcheck.properties.coverage.curve import Point
from groupcheck.properties.result import InstanceCoverage, Outage, Pairs, Stage

FORMAT: Final = 1

Command = Literal["verify", "replay", "check", "explore"]


class RuleCoverage(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of the version: `applied` at least once, `not_applied`, and guards seen false.

    A guard is seen false where a later rule of the same table was applied.
    """

    applied: tuple[str, ...]
    not_applied: tuple[str, ...]
    guard_false: tuple[str, ...]


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A phase of a run, as its progress bar names it, and how long it took."""

    name: str
    seconds: float


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `started` is ISO 8601, in UTC.

    Only a long run on a real clock has `stages`, and `outages` of its coordinator. `tolerances` are
    in milliseconds, null in virtual time.
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
    tolerances: dict[str, int] | None
    curve: tuple[Point, ...] = ()
    stages: tuple[Stage, ...] = ()
    outages: tuple[Outage, ...] = ()
    phases: tuple[Phase, ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the request of a step, observed or not.

    A `wrong` one is not allowed, a `missing` one is due, a `pending` one is not due yet.
    """

    kind: Literal["allowed", "wrong", "missing", "pending"]
    step: int
    text: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step, and the answers after it. A fault, or the passing of time, has no `sender`."""

    text: str
    sender: str = ""
    answers: tuple[Answer, ...] = ()


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What Kafka allows at the last step, and the rules that give it."""

    answer: str
    because: str


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the observed answer or state beside the same field as Kafka allows it."""

    field: str
    observed: str
    allowed: str

    @property
    def differs(self) -> bool:
        """Whether they differ."""
        return self.observed != self.allowed


class CitedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule in words, with the line of Kafka's source."""

    rule: str
    description: str
    source: str


class Explanation(CitedRule, frozen=True, kw_only=True):
    """A rule by which the observed answer would be correct.

    It did not apply because an `earlier_rule` did, because its guard does not hold, or because its
    timer has `timer_left_ms` left.
    """

    guard_holds: bool
    earlier_rule: CitedRule | None
    timer_left_ms: int | None


class LinkedRule(CitedRule, frozen=True, kw_only=True):
    """A rule with the address of its line in Kafka's repository."""

    link: str


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A deviation of a port: it does what Kafka would do with this `edit` of its `rules`.

    `deviation` is to be read after "behaves as if".
    """

    deviation: str
    edit: dict[str, Any]
    rules: tuple[LinkedRule, ...]


class Property(msgspec.Struct, frozen=True, kw_only=True):
    """An invariant or temporal property, with its source."""

    name: str
    description: str
    source: str


class FindingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, with all the data of the renderers.

    The last of the `steps` does not conform: `difference` describes it in one line, `observed` is
    the port's answer, and `expected` has the allowed ones. `compared` is the last answer field by
    field. If the port failed, `failure` says how, and `output` has its last lines. `explanations`
    are rules by which the answer would be correct, `property` is the one that it violates. `cause`
    is the deviation that explains it, `deviations` are others that the steps show; a `known`
    finding is no failure. `broker` has the settings that are not the defaults. `states` are the
    model's before the first step and after each, as text by field; `itf` is the trace in Apalache's
    exchange format. `notes` are further lines.

    A finding without a port has an empty `port` and no `severity`; one in a recording or a log has
    the `group_id`, and the `line` of its `source`. One in a log or in the model has
    no `states` or `itf`, and may have no `steps` and no `trace`. A trace of more than 300 steps has
    no `states` and no `itf`.
    """

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{8}$")]
    title: str
    port: str = ""
    group_id: str = ""
    source: str = ""
    line: int | None = None
    kafka: str = ""
    severity: Literal["", "safety", "liveness", "protocol", "cosmetic"] = ""
    cause: Cause | None = None
    known: bool = False
    broker: dict[str, int] = {}
    deviations: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    difference: str = ""
    failure: str = ""
    output: tuple[str, ...] = ()
    observed: str = ""
    expected: tuple[Expected, ...] = ()
    compared: tuple[Compared, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    property: Property | None = None
    notes: tuple[str, ...] = ()
    states: tuple[dict[str, str], ...] = ()
    trace: tuple[dict[str, Any], ...] = ()
    itf: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Raise a ValueError if a text has control characters, or an answer is to no step."""
        fields = msgspec.structs.asdict(self)
        for name in ("port", "cause", "trace", "itf"):
            del fields[name]
        if not all(map(str.isprintable, _texts(msgspec.to_builtins(fields)))):
            msg = "a text of the finding has control characters"
            raise ValueError(msg)
        answers = [answer for step in self.steps for answer in step.answers]
        if not all(1 <= answer.step <= len(self.steps) for answer in answers):
            msg = "an answer of the finding is to no step"
            raise ValueError(msg)


def _texts(value: object) -> Iterator[str]:
    """The texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _texts(pair)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A strongly connected component; no transition leaves a `terminal` one."""

    states: int
    terminal: bool


class ExploredInstance(msgspec.Struct, frozen=True, kw_only=True):
    """A model instance and its statistics.

    `generated` is null with symmetry reduction, `components` where they were not computed. Every
    transition can be reached in `longest_witness` steps.
    """

    name: str
    states: int
    transitions: int
    generated: int | None
    depth: int
    longest_witness: int
    digest: str
    seconds: float
    out_degree: dict[str, float]
    discovered: dict[str, float]
    actions: dict[str, int]
    rules: dict[str, int]
    components: tuple[Component, ...] | None


class CheckedProperty(Property, frozen=True, kw_only=True):
    """A property that was checked; `expected` says that Kafka of this version violates it."""

    holds: bool
    expected: bool


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """A shortest trace to a rule, in the messages of the port protocol."""

    rule: str
    instance: str
    steps: tuple[dict[str, Any], ...]


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    """An exploration of the model.

    `group_transitions` counts, for each transition between group states, the rules that cause it.
    `properties` is null if none were checked; `errors` are other errors in the model.
    """

    members: int
    features: tuple[str, ...]
    generations: int
    symmetry: bool
    errors: tuple[str, ...]
    instances: tuple[ExploredInstance, ...]
    group_transitions: dict[str, dict[str, int]]
    rules_not_applied: tuple[str, ...]
    properties: tuple[CheckedProperty, ...] | None
    witness: Witness | None


class FrequentRebalances(msgspec.Struct, frozen=True, kw_only=True):
    """A group that rebalances often: how many `times`, and the most frequent reason."""

    group_id: str
    times: int
    reason: str


class Rebalance(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance of a group. Times are in ms after the start of the session; null is not observed.

    The history of the group ends at `last_ms`.
    """

    source: str
    session: int
    group_id: str
    last_ms: int
    began_ms: int
    joined_ms: int | None
    ended_ms: int | None
    reason: str
    generation: int | None
    members: int | None
    last_client: str | None
    outcome: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Groups checked against the model, counted by verdict, and the `reasons` of undecided ones.

    `events_checked` of the `events` are in accepted prefixes. The counts of transitions are null in
    a merged result; `transitions_explored` are those of the explored instances. `read` counts the
    input, null if it was read before. `rebalances` are those of the groups that have most.
    """

    groups: int
    accepted: int
    rejected: int
    undecided: int
    events: int
    events_checked: int
    reasons: dict[str, int]
    transitions_covered: int | None
    transitions_explored: int | None
    explored_and_covered: int | None
    rebalancing: tuple[FrequentRebalances, ...]
    read: dict[str, int] | None
    rebalances: tuple[Rebalance, ...]


class ResultRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run of a command, or of several runs of the same command merged.

    Only `verify` has instances, pairs, rules and code; `answered` says whether its port sent any
    response, `time_over` that its time was over. The others have the `lines` that they print beside
    findings and verdict; `explore` and `check` have a section of their own. `sequences` are the
    groups of a recording or a check; `steps` are those that were checked.
    """

    format: Literal[1] = FORMAT
    command: Command = "verify"
    port: str
    profile: str
    kafka: str
    conforms: bool
    answered: bool = True
    verdict: str = ""
    ended_early: str = ""
    time_over: str = ""
    sequences: int = 0
    steps: int = 0
    seconds: float
    unsupported: tuple[str, ...] = ()
    assumed_defaults: tuple[str, ...] = ()
    findings: tuple[FindingRecord, ...]
    findings_truncated: int = 0
    findings_not_reproduced: int = 0
    fixed: tuple[str, ...] = ()
    instances: tuple[InstanceCoverage, ...] = ()
    pairs: tuple[Pairs, ...] = ()
    rules: RuleCoverage | None = None
    runs: tuple[Run, ...]
    code: Code | None = None
    lines: tuple[str, ...] = ()
    check: Check | None = None
    exploration: Exploration | None = None

    def __post_init__(self) -> None:
        """Raise a ValueError if its sections are not those of its command, or cannot be printed."""
        sections = {"check": self.check, "explore": self.exploration}
        if any((self.command == name) != (each is not None) for name, each in sections.items()):
            msg = f"its sections are not those of {self.command}"
            raise ValueError(msg)
        if not all(map(str.isprintable, self.lines)):
            msg = "a line has control characters"
            raise ValueError(msg)

    @property
    def transitions(self) -> int:
        """The number of transitions of all instances."""
        return sum(each.transitions.total for each in self.instances)

    @property
    def covered(self) -> int:
        """How many of them were covered."""
        return sum(each.transitions.covered for each in self.instances)

    @property
    def supported(self) -> int:
        """How many of the transitions are not unsupported by the port."""
        return self.transitions - sum(each.transitions.unsupported for each in self.instances)

    @property
    def new(self) -> tuple[FindingRecord, ...]:
        """The findings that were not known before the run."""
        return tuple(finding for finding in self.findings if not finding.known)

    @property
    def decided(self) -> bool:
        """Whether there is a verdict: a port has to answer a request, a check to decide a group."""
        if self.check is not None:
            return self.check.accepted + self.check.rejected > 0
        tested = self.findings or any(i.transitions.requests_covered for i in self.instances)
        return self.command != "verify" or (self.answered and bool(tested))

    @property
    def undecided(self) -> int:
        """The sequences of long runs that an outage of the coordinator interrupted."""
        return sum(stage.undecided for run in self.runs for stage in run.stages)
