"""Finds the deviations of a port: the simplest edits of the rules that explain its tests.

A deviation has to explain every test that has shown a difference so far, and to allow each answer
that the port has given to a covered transition. A test that contradicts it later replaces it by
another one that explains that test, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

from groupcheck.model.edits import edits_of
from groupcheck.model.engine.edits import (
    ANY,
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    FirstNumber,
    Sometimes,
    UnknownPartError,
    rules_beside,
)
from groupcheck.model.engine.exploration import Transition
from groupcheck.model.engine.rules import Version
from groupcheck.model.instances.instance import Instance
from groupcheck.model.profiles import GENERATION
from groupcheck.model.state import Coordinator
from groupcheck.model.step import Profile
from groupcheck.model.transition import Input, successors, tables_of
from groupcheck.model.vocabulary import Request, Response
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.ports.numbering import (
    first_generation,
    renumbered,
    revealed_generation,
)
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import Checks, FoundError
from groupcheck.properties.sequence import Sequence
from groupcheck.properties.tolerances import Tolerances

# The covered transitions by which a deviation is checked, and the edits that are tried in pairs.
MOST_TRANSITIONS: Final = 400
MOST_PAIRED: Final = 24

Deviations = tuple[Edit, ...]


class ObservedTest(NamedTuple):
    """What a port did in one test, under these settings of the broker."""

    broker: Mapping[str, int]
    exchanges: tuple[Exchange, ...]
    tolerances: Tolerances | None = None
    first_generation: int = 1  # by which the generations in the exchanges are counted

    @classmethod
    def of(cls, finding: Finding) -> ObservedTest:
        """The test that a finding is from."""
        late_ms, early_ms = finding.config.timer_late_ms, finding.config.timer_early_ms
        tolerances = Tolerances(late_ms, early_ms) if late_ms else None
        first = first_generation(finding.sequence.model)
        return cls(finding.sequence.broker, finding.exchanges, tolerances, first)

    def exchanges_of(self, model: Profile) -> Iterator[tuple[Input, Observation]]:
        """The exchanges, with the numbers that the generations have in a model."""
        shift = first_generation(model) - self.first_generation
        return (renumbered(given, seen, shift) for given, seen in self.exchanges)

    def allowed_by(self, model: Profile) -> bool:
        """Whether a model allows all of it."""
        oracle = Oracle(model, self.broker, self.tolerances)
        try:
            for given, seen in self.exchanges_of(model):
                oracle.accept(given, oracle.predict(given), seen)
        except DivergedError:
            return False
        return True

    def finding(self, model: Profile) -> Finding | None:
        """The finding that it ends in under a model; None if that allows all of it."""
        checks = Checks(model, self.broker, self.tolerances)
        try:
            for given, seen in self.exchanges_of(model):
                checks.observe(given, checks.oracle.predict(given), seen)
        except FoundError as found:
            return found.finding
        return None


class KnownDeviation(NamedTuple):
    """A deviation that a port is known to have, and a trace that shows it."""

    edit: Edit
    trace: Sequence


class Search:
    """The deviations of a port, as far as its tests show them; `adopted` are those found so far."""

    def __init__(self, profile: Profile, adopted: Deviations = ()) -> None:
        self.profile = profile
        self.adopted = adopted
        self.evidence: list[ObservedTest] = []
        self._edits = tuple(edits_of(profile))
        self._alternatives: dict[str, list[Edit]] = {}
        self._unexplained: set[tuple[object, ...]] = set()  # keys of findings, and what was adopted

    @property
    def model(self) -> Profile:
        """The profile with the deviations."""
        return deviating(self.profile, self.adopted)

    def learn(self, findings: Iterable[Finding], coverages: Iterable[Coverage]) -> bool:
        """Adopt what explains these findings, the shortest first; False if nothing does."""
        before, covered = self.adopted, _Covered(coverages, self.profile.version)
        pending = [finding for finding in findings if finding.failure is None]
        # What is numbered otherwise stands in the way of every other explanation.
        pending.sort(key=lambda each: (not any(first_numbers(each)), len(each.exchanges)))
        while pending:
            finding, *pending = pending
            test = ObservedTest.of(finding)
            tried = (finding.key, *map(str, self.adopted))
            if tried in self._unexplained or test.allowed_by(self.model):
                continue
            others = [ObservedTest.of(other) for other in pending]
            better = self._explaining(finding, test, others, covered)
            if better is not None:
                self.adopted = better
                self.evidence.append(test)
            else:
                self._unexplained.add(tried)
        return self.adopted != before

    def explains(self, finding: Finding) -> bool:
        """Whether the deviations explain a finding."""
        return finding.failure is None and ObservedTest.of(finding).allowed_by(self.model)

    def without(self, deviation: Edit) -> Deviations:
        """The adopted deviations but this one."""
        return tuple(each for each in self.adopted if each is not deviation)

    def findings(self) -> list[Finding]:
        """For each deviation a finding that shows it, and excuses the others."""
        caused: list[Finding] = []
        for deviation in self.adopted:
            others = deviating(self.profile, self.without(deviation))
            found = [each for test in self.evidence if (each := test.finding(others))]
            if found:
                shortest = min(found, key=lambda finding: len(finding.exchanges))
                caused.append(shortest._replace(cause=deviation))
        return caused

    def drop_needless(self) -> None:
        """Drop the deviations without which everything is explained, too."""
        for deviation in self.adopted:
            if self._explains(self.without(deviation)):
                self.adopted = self.without(deviation)

    def _explaining(
        self, finding: Finding, test: ObservedTest, pending: list[ObservedTest], covered: _Covered
    ) -> Deviations | None:
        """The adopted deviations, changed so that they explain one more test."""
        for deviation in reversed(self.adopted):
            kept = self.without(deviation)
            if self._explains(kept, test):
                return kept
            for other in self._instead_of(deviation):
                if self._explains((*kept, other), test):
                    self._alternatives[str(other)] = self._alternatives.get(str(deviation), [])
                    return (*kept, other)
        numbers = list(first_numbers(finding))
        changes = {str(each): each for each in changed_answers(finding)}.values()
        vague = [each for each in changes if any(value is ANY for _, value in each.fields)]
        certain = [each for each in changes if not any(value is ANY for _, value in each.fields)]
        applied = {rule for outcome in finding.allowed for rule in outcome.fired}
        own = [each for each in self._edits if _rule_of(each) in applied]
        tables = _rules_beside(finding, self.model.version) - applied
        near = [each for each in self._edits if _rule_of(each) in tables]
        far = [each for each in self._edits if _rule_of(each) not in tables | applied]
        for edits in (numbers, own, certain, near, far, vague):
            found = [e for e in edits if self._may_add((e,), test, covered)]
            if found:
                # Of equally simple ones, the one that explains most.
                best = max(found, key=lambda e: self._explained((*self.adopted, e), pending))
                self._alternatives[str(best)] = [*found, *own, *near, *certain, *vague]
                return (*self.adopted, best)
        for pair in combinations([*certain, *own, *near][:MOST_PAIRED], 2):
            if self._may_add(pair, test, covered):
                return (*self.adopted, *pair)
        return None

    def _instead_of(self, deviation: Edit) -> Iterator[Edit]:
        """What else may explain the test that a deviation explains, the simplest first."""
        exact = self._alternatives.get(str(deviation), [])
        yield from (each for each in exact if not isinstance(each, ChangeAnswer))
        if isinstance(deviation, DropRule | DropGuard | DropEffect):
            yield Sometimes(deviation)
        yield from (each for each in exact if isinstance(each, ChangeAnswer))

    def _may_add(self, edits: Deviations, test: ObservedTest, covered: _Covered) -> bool:
        deviations = (*self.adopted, *edits)
        if not self._explains(deviations, test):
            return False
        return covered.allowed_by(deviating(self.profile, deviations), edits)

    def _explains(self, deviations: Deviations, *tests: ObservedTest) -> bool:
        try:
            model = deviating(self.profile, deviations)
        except UnknownPartError:  # the deviations exclude each other
            return False
        return all(test.allowed_by(model) for test in (*tests, *self.evidence))

    def _explained(self, deviations: Deviations, tests: list[ObservedTest]) -> int:
        model = deviating(self.profile, deviations)
        return sum(test.allowed_by(model) for test in tests)


class _Covered:
    """The covered transitions, by the rules that they apply."""

    def __init__(self, coverages: Iterable[Coverage], version: Version) -> None:
        self._version = version
        self._by_rule: dict[str, list[tuple[Instance, Coordinator, Transition]]] = {}
        for coverage in coverages:
            space = coverage.space
            for hop in coverage.shown:
                edge = space.edges[hop.node][hop.edge]
                for rule in edge.fired:
                    covered = self._by_rule.setdefault(rule, [])
                    covered.append((space.instance, space.nodes[hop.node], edge))

    def allowed_by(self, model: Profile, edits: Deviations) -> bool:
        """Whether the model of these edits allows the answers to what their tables decide on."""
        if any(isinstance(edit, FirstNumber) for edit in edits) and self._shows_generations():
            return False
        rules = {rule for edit in edits for rule in rules_beside(edit, self._version)}
        for rule in rules:
            for instance, state, edge in self._by_rule.get(rule, [])[:MOST_TRANSITIONS]:
                outcomes = successors(state, edge.given, model, instance.config)
                if not any(tuple(sorted(o.responses)) == edge.responses for o in outcomes):
                    return False
        return True

    def _shows_generations(self) -> bool:
        """Whether a generation has been shown by its number."""
        every = (edge for covered in self._by_rule.values() for _, _, edge in covered)
        answers = (response.body for edge in every for response in edge.responses)
        return any(revealed_generation(body) is not None for body in answers)


def first_numbers(finding: Finding) -> Iterator[FirstNumber]:
    """The first generation of the port, if its answer shows another generation than is allowed."""
    first = first_generation(finding.sequence.model)
    for difference in finding.rejection.differences if finding.rejection else ():
        allowed, seen = map(revealed_generation, (difference.allowed, difference.seen))
        if allowed is not None and seen is not None and allowed != seen:
            yield FirstNumber(GENERATION, first + seen - allowed)


def _rule_of(edit: Edit) -> str:
    """The rule that an edit is about; the first of two."""
    rule: str = getattr(edit, "rule", "") or getattr(edit, "first", "")
    return rule


def _rules_beside(finding: Finding, version: Version) -> set[str]:
    """The rules of the tables that decide on the last request."""
    last = finding.sequence.steps[-1]
    tables = tables_of(last.api) if isinstance(last, Request) else ()
    return {rule.id for name in tables for rule in version.tables.get(name, ())}


def changed_answers(finding: Finding) -> Iterator[ChangeAnswer]:
    """The changes of an answer by which an outcome would be what was observed."""
    if finding.rejection is None:
        return
    for outcome, difference in zip(
        finding.rejection.outcomes, finding.rejection.differences, strict=True
    ):
        if difference.allowed is None or difference.seen is None:
            continue
        if type(difference.allowed) is not type(difference.seen):
            continue
        rule = _reason(outcome.responses, outcome.reasons, difference.request_id)
        fields = dict(_changes(difference.allowed, difference.seen))
        if rule and fields:
            yield ChangeAnswer(rule, tuple(fields.items()))
            yield ChangeAnswer(rule, tuple((name, ANY) for name in fields))


def _reason(
    responses: tuple[Response, ...], reasons: tuple[str, ...], request_id: int | None
) -> str:
    for response, reason in zip(responses, reasons, strict=True):
        if response.request_id == request_id:
            return reason
    return ""


def _changes(allowed: Any, seen: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """The fields in which two records differ, with the value seen, or ANY where there are more.

    Of lists of as many records, these are the fields of the records: `topics.error_code`.
    """
    found: dict[str, Any] = {}
    for field, ours, theirs in zip(allowed._fields, allowed, seen, strict=True):
        if ours == theirs:
            continue
        for name, value in _inner(field, ours, theirs):
            same = name not in found or (found[name] is not ANY and found[name] == value)
            found[name] = value if same else ANY
    yield from found.items()


def _inner(name: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """The same, of one field."""
    if not isinstance(ours, tuple) or not isinstance(theirs, tuple) or not theirs:
        yield name, theirs
    elif len(ours) != len(theirs) or not all(hasattr(each, "_fields") for each in ours + theirs):
        yield name, ANY
    else:
        for one, other in zip(ours, theirs, strict=True):
            yield from ((f"{name}.{inner}", value) for inner, value in _changes(one, other))
