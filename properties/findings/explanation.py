"""Why what was seen is not right: the rules by which it would be, and a law that it breaks.

Each rule that could have answered is tried as if its guard held. What comes of it is compared with
what was seen: with its sort (errors, and who is told of whom), or with all of it where the sort is
the lawful one. Nothing here judges a port: that was done before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupcheck.model.profiles import PROFILES
from groupcheck.model.rules.timers import due
from groupcheck.model.state import ReleaseAppends
from groupcheck.model.step import Outcome, outcomes
from groupcheck.model.transition import successors
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupResponse,
    Request,
    ResponseBody,
)
from groupcheck.properties.compare import differing_field, normal
from groupcheck.properties.findings.counterfactual import Refusal, Trial
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.laws.breach import law_broken
from groupcheck.properties.laws.law import Law
from groupcheck.properties.oracle import view_of

# Of so many states that the port may have been in the rules are tried.
MOST_STATES: Final = 8

# No timer runs longer.
FAR_MS: Final = 2**62


class Explanation(NamedTuple):
    """What there is to say of a finding: the rules, the nearest first, and a law it breaks."""

    refusals: tuple[Refusal, ...] = ()
    law: Law | None = None


class _Alike:
    """What was seen, to be compared with what would have come of something else."""

    def __init__(self, finding: Finding) -> None:
        self._finding = finding
        self.difference = finding.difference
        self._symbols = {symbol: symbol for symbol in finding.names.values()}
        self._view = view_of(finding.exchanges[-1].seen.groups or ())

    def __call__(self, outcome: Outcome, *, roughly: bool = False) -> bool:
        """Whether an outcome is what was seen; `roughly` if nothing but the sort can be said."""
        difference = self.difference
        if difference is None:
            return False
        if difference.field is not None:
            names, group = self._finding.names, outcome.coordinator.group
            return not roughly and differing_field(group, self._view, names) is None
        if difference.request_id is None:
            return False
        answer, seen = self._answer(outcome, difference.request_id), difference.seen
        if answer is None or seen is None:
            return answer is seen
        if difference.lawful is not None and _sort(difference.lawful) == _sort(seen):
            return not roughly and answer == seen
        return _sort(answer) == _sort(seen)

    def _answer(self, outcome: Outcome, request_id: int) -> ResponseBody | None:
        """What the request is answered that was answered otherwise than by Kafka."""
        version = next(
            step.api_version
            for step in self._finding.sequence.steps
            if isinstance(step, Request) and step.request_id == request_id
        )
        bodies = (r.body for r in outcome.responses if r.request_id == request_id)
        return next((normal(body, self._symbols, version) for body in bodies), None)


def _sort(body: ResponseBody) -> tuple[object, ...]:
    listed = isinstance(body, JoinGroupResponse) and bool(body.members)
    return (type(body), listed, *_codes(body))


def _codes(said: object) -> Iterator[ErrorCode]:
    if isinstance(said, ErrorCode):
        yield said
    elif isinstance(said, tuple):
        for each in said:
            yield from _codes(each)


def explain(finding: Finding) -> Explanation:
    """What there is to say of a finding; nothing if the port itself has failed."""
    rejection, outcome = finding.rejection, finding.outcome
    if rejection is None or outcome is None or not rejection.states:
        return Explanation()
    alike = _Alike(finding)
    refusals: dict[str, Refusal] = {}
    instead: list[Outcome] = []
    for refusal, other in _others(finding, outcome, alike):
        if refusal.rule.name not in refusals:
            refusals[refusal.rule.name] = refusal
        if other is not None:
            instead.append(other)
    ordered = sorted(refusals.values(), key=_remoteness)
    return Explanation(tuple(ordered), law_broken(finding, outcome, instead))


def _remoteness(refusal: Refusal) -> tuple[bool, bool, bool]:
    """What comes to nothing only because something else comes first is nearest."""
    gate = refusal.rule.name.rpartition("/")[2] in {"not-active", "loading", "not-coordinator"}
    return gate, not refusal.so, refusal.first is None


def _others(
    finding: Finding, lawful: Outcome, alike: _Alike
) -> Iterator[tuple[Refusal, Outcome | None]]:
    """The rules by which it would be right, and what would have come of each from where it was."""
    rejection, given = finding.rejection, finding.sequence.steps[-1]
    if rejection is None:
        return
    profile = PROFILES[finding.sequence.profile]
    if isinstance(given, Request):
        for state in rejection.states[:MOST_STATES]:
            trial = Trial(state, given, profile, finding)
            yield from ((each, after) for each, after in trial.forced() if alike(after))
            yield from (
                (each, None) for each, after in trial.obliged() if alike(after, roughly=True)
            )
    yield from _later(finding, lawful, alike)


def _later(
    finding: Finding, lawful: Outcome, alike: _Alike
) -> Iterator[tuple[Refusal, Outcome | None]]:
    """What would have come of a timer that is not over yet, and of appends that are held."""
    profile, config = PROFILES[finding.sequence.profile], finding.config
    state = lawful.coordinator

    def following(after: Outcome) -> Outcome:
        answers = lawful.responses + after.responses
        return Outcome(after.coordinator, answers, lawful.fired + after.fired, after.reasons)

    for timer in due(state.group, FAR_MS) if state.active else ():
        for after in outcomes(state, profile, config, timer.fire):
            if after.fired and alike(following(after)):
                rule = profile.rules[after.fired[0]]
                yield Refusal(rule, left_ms=timer.left_ms), following(after)
    if state.appends:
        for after in successors(state, ReleaseAppends(), profile, config):
            if alike(following(after)):
                yield Refusal(profile.rules[after.fired[0]]), None
