"""Explains a finding: the rules by which the answer would be correct, and a violated property.

Each rule that could have answered is applied as if its guard held. Its answer is compared with the
observed one: the kind alone (error codes, and whether there is a member list), or all of it where
the kind is the allowed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupcheck.model.classic.rules.timers import due
from groupcheck.model.classic.state import ReleaseAppends
from groupcheck.model.classic.step import Outcome, outcomes
from groupcheck.model.classic.transition import successors
from groupcheck.model.engine.edits import plain
from groupcheck.model.vocabulary import (
    ErrorCode,
    JoinGroupResponse,
    Request,
    ResponseBody,
)
from groupcheck.properties.compare import differing_field, normal
from groupcheck.properties.findings.counterfactual import Trial, Unapplied
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.oracle import view_of
from groupcheck.properties.temporal.observed_violation import violated_property
from groupcheck.properties.temporal.property import Property

# The number of possible states of the port in which the rules are applied.
MOST_STATES: Final = 8

# No timer is longer.
FAR_MS: Final = 2**62


class Explanation(NamedTuple):
    """The rules by which the answer would be correct, the nearest first; a violated property."""

    rules: tuple[Unapplied, ...] = ()
    violated: Property | None = None


class _Matches:
    """Compares an outcome with the observed answer, or with the observed inner state."""

    def __init__(self, finding: Finding) -> None:
        self._finding = finding
        self.difference = finding.difference
        self._symbols = {symbol: symbol for symbol in finding.names.values()}
        self._view = view_of(finding.exchanges[-1].seen.groups or ())

    def __call__(self, outcome: Outcome, *, kind_only: bool = False) -> bool:
        """Whether an outcome matches; with `kind_only`, whether its kind does."""
        difference = self.difference
        if difference is None:
            return False
        if difference.field is not None:
            names, group = self._finding.names, outcome.coordinator.group
            return not kind_only and differing_field(group, self._view, names) is None
        if difference.request_id is None:
            return False
        answer, seen = self._answer(outcome, difference.request_id), difference.seen
        if answer is None or seen is None:
            return answer is seen
        if difference.allowed is not None and _kind(difference.allowed) == _kind(seen):
            return not kind_only and answer == seen
        return _kind(answer) == _kind(seen)

    def _answer(self, outcome: Outcome, request_id: int) -> ResponseBody | None:
        """The answer of an outcome to the request with the differing answer."""
        version = next(
            step.api_version
            for step in self._finding.sequence.steps
            if isinstance(step, Request) and step.request_id == request_id
        )
        bodies = (plain(r.body) for r in outcome.responses if r.request_id == request_id)
        return next((normal(body, self._symbols, version) for body in bodies), None)


def _kind(body: ResponseBody) -> tuple[object, ...]:
    listed = isinstance(body, JoinGroupResponse) and bool(body.members)
    return (type(body), listed, *_codes(body))


def _codes(value: object) -> Iterator[ErrorCode]:
    if isinstance(value, ErrorCode):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _codes(each)


def explain(finding: Finding) -> Explanation:
    """The explanation of a finding; empty if the port failed."""
    rejection, outcome = finding.rejection, finding.outcome
    if rejection is None or outcome is None or not rejection.states:
        return Explanation()
    matches = _Matches(finding)
    rules: dict[str, Unapplied] = {}
    instead: list[Outcome] = []
    for unapplied, other in _others(finding, outcome, matches):
        rules.setdefault(unapplied.rule.id, unapplied)
        if other is not None:
            instead.append(other)
    ordered = sorted(rules.values(), key=_distance)
    return Explanation(tuple(ordered), violated_property(finding, outcome, instead))


def _distance(unapplied: Unapplied) -> tuple[bool, bool, bool]:
    """A rule whose guard holds is the nearest; the checks for an available coordinator are last."""
    check = unapplied.rule.id.rpartition("/")[2] in {"not-active", "loading", "not-coordinator"}
    return check, not unapplied.guard_holds, unapplied.earlier_rule is None


def _others(
    finding: Finding, allowed: Outcome, matches: _Matches
) -> Iterator[tuple[Unapplied, Outcome | None]]:
    """The rules whose outcomes match, with these outcomes."""
    rejection, given = finding.rejection, finding.sequence.steps[-1]
    if rejection is None:
        return
    profile = finding.sequence.model
    if isinstance(given, Request):
        for state in rejection.states[:MOST_STATES]:
            trial = Trial(state, given, profile, finding)
            yield from ((each, after) for each, after in trial.forced() if matches(after))
            yield from (
                (each, None)
                for each, after in trial.with_member()
                if matches(after, kind_only=True)
            )
    yield from _later(finding, allowed, matches)


def _later(
    finding: Finding, allowed: Outcome, matches: _Matches
) -> Iterator[tuple[Unapplied, Outcome | None]]:
    """The timers and held appends whose end would have given the answer."""
    profile, config = finding.sequence.model, finding.config
    state = allowed.coordinator

    def following(after: Outcome) -> Outcome:
        answers = allowed.responses + after.responses
        return Outcome(after.coordinator, answers, allowed.applied + after.applied, after.reasons)

    for timer in due(state, FAR_MS) if state.active else ():
        for after in outcomes(state, profile, config, timer.fire):
            if after.applied and matches(following(after)):
                rule = profile.rules[after.applied[0]]
                yield Unapplied(rule, timer_left_ms=timer.left_ms), following(after)
    if state.appends:
        for after in successors(state, ReleaseAppends(), profile, config):
            if after.applied and matches(following(after)):
                yield Unapplied(profile.rules[after.applied[0]]), None
