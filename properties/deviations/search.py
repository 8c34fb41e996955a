"""Finds the deviations of a port: the simplest edits of the rules that explain its tests.

A deviation has to explain every test that has found a difference so far, and to allow each answer
that the port gave at a covered transition. If a later test contradicts it, another one that also
explains that test replaces it; else it is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, combinations, islice
from typing import Final, NamedTuple, TypeVar

from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.rules.timers import PASS
from groupcheck.model.classic.state import Advance
from groupcheck.model.classic.step import Profile
from groupcheck.model.engine.edits import (
    AddEffect,
    ChangeAnswer,
    DropEffect,
    DropGuard,
    DropRule,
    Edit,
    Exchange,
    FirstNumber,
    FromVersion,
    Instead,
    OnlyAnswer,
    RequireGuard,
    Sometimes,
    UnknownPartError,
    about,
)
from groupcheck.model.vocabulary import JoinGroupResponse
from groupcheck.properties.coverage.transition_coverage import Coverage
from groupcheck.properties.deviations.candidates import (
    ALTERNATIVES,
    REST,
    SIMPLE,
    Stage,
    candidates,
    first_numbers,
    is_optional,
    is_timer,
    is_vague,
)
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest, Shown
from groupcheck.properties.deviations.shared_steps import SharedSteps
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.sequence import Sequence

SEVERAL: Final = 3  # tests that one edit has to explain before other edits are tried
MOST_TOGETHER: Final = 12  # tests, the shortest, of which it has to explain several
MOST_PAIRED: Final = 24  # the edits that are tried in pairs
MAY_BE_WIDE: Final = (
    DropRule,
    DropGuard,
    RequireGuard,
    Exchange,
    FromVersion,
    Instead,
    AddEffect,
    OnlyAnswer,
)
# An edit is wide if it makes more other rules unreachable, or the model more times as large.
MOST_LOST: Final = 2
MOST_GROWTH: Final = 2

Deviations = tuple[Edit, ...]
T = TypeVar("T")


class KnownDeviation(NamedTuple):
    """A known deviation of a port, and a trace that shows it."""

    edit: Edit
    trace: Sequence


class _TimeOverError(Exception):
    """The search has no more time."""


class Search:
    """The deviations that the tests of a port show; `adopted` are those found so far."""

    def __init__(
        self,
        profile: Profile,
        adopted: Deviations = (),
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.profile = profile
        self._is_over = is_over
        self.adopted = adopted
        self.evidence: list[ObservedTest] = []
        self._alternatives: dict[str, Callable[[], Iterable[Edit]]] = {}
        # The keys of findings, and what was adopted.
        self._unexplained: set[tuple[object, ...]] = set()
        self._left: set[frozenset[str]] = set()  # what was adopted before it changed
        self._steps = SharedSteps(profile)
        self._refuted: set[str] = set()

    @cached_property
    def _edits(self) -> tuple[Edit, ...]:
        """Every single edit of the profile; a port without findings needs none of them.

        Time passes for every port: an edit of that rule only hides what differs.
        """
        stopped = {rule.id for rule in self.profile.version.tables[PASS.name]}
        return tuple(each for each in edits_of(self.profile) if about(each) not in stopped)

    @property
    def model(self) -> Profile:
        """The profile with the deviations."""
        return deviating(self.profile, self.adopted)

    def _allows(self, model: Profile, test: ObservedTest) -> bool:
        return self._known_steps().allow(test, model)

    def _is_no_finding(self, test: ObservedTest) -> bool:
        """Whether the deviations allow a test, as far as its state is known."""
        return test.allowed_by(self.model, self._known_steps(), known=False)

    def _applied(self, test: ObservedTest, *models: Profile) -> set[str]:
        return test.applied(*models, steps=self._known_steps())

    def _known_steps(self) -> SharedSteps:
        model = self.model
        if self._steps.profile is not model:
            self._steps = self._steps.after(model)
        return self._steps

    def learn(self, findings: Iterable[Finding], coverages: Iterable[Coverage]) -> bool:
        """Adopt edits that explain these findings, the simplest first; False if none does.

        The simple stages are tried on each finding, the shortest first; then the other stages.
        Observations that contradict each other, as of a port that does not always do the same,
        never bring back edits that were adopted together before: the search ends.
        """
        before, covered = self.adopted, Shown(coverages, self.profile.version)
        with suppress(_TimeOverError):
            self._learn(findings, covered, before)
        if self.adopted == before:
            return False
        self._left.add(frozenset(map(str, before)))
        if frozenset(map(str, self.adopted)) in self._left:
            self.adopted = before
            return False
        return True

    def _learn(self, findings: Iterable[Finding], covered: Shown, before: Deviations) -> None:
        pending = [finding for finding in findings if finding.failure is None]
        pending.sort(key=lambda each: len(each.exchanges))
        tests = [ObservedTest.of(finding) for finding in pending]
        # A different numbering hides all other explanations.
        self._number_otherwise(pending, tests, covered)
        self._explain_together(tests, covered)
        while self._explain(pending, tests, covered, before, SIMPLE):
            pass
        if self._adopt_timer(tests, covered, before):
            self._explain(pending, tests, covered, before, SIMPLE)
        self._explain(pending, tests, covered, before, REST)
        self._refute(tests)

    def _explain(
        self,
        findings: list[Finding],
        tests: list[ObservedTest],
        covered: Shown,
        before: Deviations,
        stages: tuple[Stage, ...],
    ) -> bool:
        """Adopt edits of these stages, each for one finding; False if none explains any."""
        adopted = self.adopted
        for finding, test in zip(findings, tests, strict=True):
            tried = (stages, finding.key, *map(str, self.adopted))
            if tried in self._unexplained:
                continue
            if self._is_no_finding(test):
                if self._allows(self.model, test):
                    self._add_evidence(test)
                continue
            better = self._replacing(test, tests, covered, stages)
            better = better or self._adding(finding, covered, before, tests, stages)
            if better is not None:
                self.adopted = better
                self._add_evidence(test)
            else:
                self._unexplained.add(tried)
        return self.adopted != adopted

    def _in_time(self, edits: Iterable[T]) -> Iterator[T]:
        """The edits, while there is time to try them."""
        for edit in edits:
            if self._is_over():
                raise _TimeOverError
            yield edit

    def _refute(self, tests: list[ObservedTest]) -> None:
        """Drop each deviation that a test contradicts, if the others explain that test."""
        for test in tests:
            if self._is_no_finding(test):
                continue
            for deviation in self.adopted:
                model = self._model_of(self.without(deviation))
                if model and self._allows(model, test):
                    self.adopted = self.without(deviation)
                    self._refuted.add(str(deviation))
                    break

    def take_unexplained(self) -> list[Finding]:
        """Remove from the evidence the tests no longer explained, and return their findings."""
        found = [(test, test.finding(self.model)) for test in self.evidence]
        self.evidence = [test for test, finding in found if finding is None]
        return [finding for _, finding in found if finding is not None]

    def _number_otherwise(
        self, findings: list[Finding], tests: list[ObservedTest], covered: Shown
    ) -> None:
        """Adopt another first number if that explains a finding, with at most one more edit.

        Of several such edits, it is the one that explains most tests.
        """
        for finding, test in zip(findings, tests, strict=True):
            for number in first_numbers(finding):
                found = self._numbered(number, finding, tests, covered)
                if found:
                    self.adopted = (*self.adopted, *found)
                    self._add_evidence(test)
                    return

    def _numbered(
        self, number: Edit, finding: Finding, tests: list[ObservedTest], covered: Shown
    ) -> Deviations:
        """Another first number, with one more edit if needed; empty if they explain no finding."""
        test = ObservedTest.of(finding)
        if self._may_add((number,), (test,), covered):
            return (number,)
        others = self._of(finding, Stage.OWN, Stage.NEAR, Stage.CERTAIN, Stage.FAR)
        pairs = ((number, other) for other in self._in_time(others))
        found = [pair for pair in pairs if self._may_add(pair, (test,), covered)]
        return max(found, key=lambda e: self._explained((*self.adopted, *e), tests), default=())

    def _explain_together(self, tests: list[ObservedTest], covered: Shown) -> None:
        """Adopt edits that each explain several tests, those that explain most first."""
        tests = tests[:MOST_TOGETHER]
        tried = [test.tried(self.model) for test in tests] if len(tests) >= SEVERAL else []
        while found := self._shared_by(tests, tried, covered):
            edit, others = found
            self.adopted = (*self.adopted, edit)
            self._alternatives[str(edit)] = partial(iter, others)
            for test in tests:
                if self._allows(self.model, test):
                    self._add_evidence(test)

    def _shared_by(
        self, tests: list[ObservedTest], tried: list[set[str]], covered: Shown
    ) -> tuple[Edit, list[Edit]] | None:
        """The edit that explains the most tests, at least `SEVERAL` that try its rule, or None.

        It may be wide if it explains all tests in which its rule is then applied. With it come
        all edits that explain several, the best first.
        """
        pending = [
            (test, rules)
            for test, rules in zip(tests, tried, strict=False)
            if not self._allows(self.model, test)
        ]
        explained: list[tuple[int, Edit]] = []  # an edit with a version cannot be a key
        for edit in self._in_time(each for each in self._edits if not is_optional(each)):
            rule = about(edit)
            touched = [test for test, rules in pending if not rule or rule in rules]
            number = self._explained((*self.adopted, edit), touched, SEVERAL)
            if number >= SEVERAL:
                explained.append((number, edit))
        rest = [test for test, _ in pending]
        explained.sort(key=lambda each: -each[0])
        best = [edit for _, edit in explained]
        wide: list[Edit] = []
        for number, edit in explained:
            # What another design keeps in its state, no covered transition shows.
            is_certain = number == len(pending) and not about(edit)
            if self._is_wide(self.adopted, edit, covered):
                wide.append(edit)
            elif self._may_add((edit,), (), None if is_certain else covered):
                return edit, best
        predict = (e for e in wide if self._predicts((*self.adopted, e), e, rest))
        found = next((edit for edit in predict if self._may_add((edit,), (), covered)), None)
        return None if found is None else (found, best)

    def _predicts(self, deviations: Deviations, edit: Edit, tests: list[ObservedTest]) -> bool:
        """Whether the deviations explain all tests in which the rule of one is applied."""
        model = self._model_of(deviations)
        return model is not None and all(
            self._allows(model, test) or about(edit) not in self._applied(test, model)
            for test in tests
        )

    def _adopt_timer(self, tests: list[ObservedTest], covered: Shown, before: Deviations) -> bool:
        """Adopt a timer that may fire early or late, the one that explains most tests.

        It has to explain several: all that are left, or all in which time passes last. Edits
        adopted since `before` that explain nothing else are dropped.
        """
        left = [test for test in tests if not self._is_no_finding(test)]
        timed = _ending_with_time(tests)
        found: list[tuple[int, Deviations]] = []
        for timer in self._in_time(filter(is_timer, self._edits)):
            deviations = (*self.adopted, timer)
            number = self._explained(deviations, left)
            every = number == len(left) >= SEVERAL
            if every or (number and timed and self._explains(deviations, *timed)):
                found.append((number, deviations))
        for _, deviations in sorted(found, key=lambda each: -each[0]):
            if self._may_add(deviations[-1:], (), covered):
                self.adopted = deviations
                for test in left:
                    if self._allows(self.model, test):
                        self._add_evidence(test)
                self.drop_needless(since=before)
                return True
        return False

    def _add_evidence(self, test: ObservedTest) -> None:
        if test not in self.evidence:
            self.evidence.append(test)

    def explains(self, finding: Finding) -> bool:
        """Whether the deviations explain a finding."""
        return finding.failure is None and self._allows(self.model, ObservedTest.of(finding))

    def without(self, deviation: Edit) -> Deviations:
        """The adopted deviations without this one."""
        return tuple(each for each in self.adopted if each is not deviation)

    def findings(self) -> list[Finding]:
        """For each deviation, a finding that shows it and allows the others."""
        caused: list[Finding] = []
        for deviation in self.adopted:
            others = self._model_of(self.without(deviation)) or self.profile
            found = [each for test in self.evidence if (each := test.finding(others))]
            if found:
                shortest = min(found, key=lambda finding: len(finding.exchanges))
                caused.append(shortest._replace(cause=deviation))
        return caused

    def drop_needless(self, since: Deviations = ()) -> None:
        """Drop the deviations, other than those `since`, that no explanation needs."""
        # Edits that allow any value come first, since they may hide other differences.
        for deviation in sorted(self.adopted, key=lambda each: not is_vague(each)):
            if deviation not in since and self._explains(self.without(deviation)):
                self.adopted = self.without(deviation)

    def _replacing(
        self,
        test: ObservedTest,
        tests: list[ObservedTest],
        covered: Shown,
        stages: tuple[Stage, ...],
    ) -> Deviations | None:
        """The adopted deviations with one replaced or dropped, so that they explain a test."""
        timed = _ending_with_time(tests)
        for deviation in reversed(self.adopted):
            if isinstance(deviation, FirstNumber):
                continue
            kept = self.without(deviation)
            if self._explains(kept, test):
                return kept
            if not self._is_shown_by(test, deviation):
                continue
            for other in self._in_time(self._instead_of(deviation, stages)):
                if is_timer(other) and test not in timed:
                    continue
                needed = timed if is_timer(other) else (test,)
                explains = self._explains((*kept, other), *needed)
                if explains and not self._is_too_wide(kept, other, covered, kept, tests):
                    self._alternatives[str(other)] = self._alternatives.get(str(deviation), tuple)
                    return (*kept, other)
        return None

    def _is_shown_by(self, test: ObservedTest, deviation: Edit) -> bool:
        """Whether a test applies the rule of a deviation; true if it is about no rule."""
        if about(deviation) not in self.profile.rules:
            return True
        without = self._model_of(self.without(deviation))
        return without is None or about(deviation) in self._applied(test, self.model, without)

    def _instead_of(self, deviation: Edit, stages: tuple[Stage, ...]) -> Iterator[Edit]:
        """Other edits that may explain the test that a deviation explains, the simplest first."""
        found = self._alternatives.get(str(deviation), tuple)()
        others = {str(each): each for each in found}.values()  # each once
        if stages is REST:
            yield from filter(is_vague, others)
            return
        exact = [each for each in others if not is_vague(each)]
        yield from (each for each in exact if not isinstance(each, ChangeAnswer))
        yield from filter(is_timer, self._edits)
        if isinstance(deviation, DropRule | DropGuard | DropEffect):
            yield Sometimes(deviation)
        yield from (each for each in exact if isinstance(each, ChangeAnswer))

    def _adding(
        self,
        finding: Finding,
        covered: Shown,
        before: Deviations,
        tests: list[ObservedTest],
        stages: tuple[Stage, ...],
    ) -> Deviations | None:
        """The adopted deviations and the simplest edit by which they explain a finding.

        Together with the deviations from `before`, a wide edit has to explain all tests.
        """
        test = ObservedTest.of(finding)
        for stage in stages:
            if stage is Stage.PAIRS:
                pairs = self._pairs(finding)
                if pair := next(
                    (e for e in self._in_time(pairs) if self._may_add(e, (test,), covered)), None
                ):
                    return (*self.adopted, *pair)
                continue
            edits = self._in_time(candidates(stage, finding, self._edits, self.model))
            found = [each for each in edits if self._may_add((each,), (test,), covered)]
            # Of equally simple edits, the one that explains most tests.
            explained = {str(e): self._explained((*self.adopted, e), tests) for e in found}
            for edit in sorted(found, key=lambda each: -explained[str(each)]):
                wide = self._is_too_wide(self.adopted, edit, covered, before, tests)
                if wide and stage < Stage.PAIRS and stage is not Stage.WIDE_ANSWER:
                    continue
                self._alternatives[str(edit)] = partial(self._found_beside, found, finding)
                return (*self.adopted, edit)
        return None

    def _found_beside(self, found: list[Edit], finding: Finding) -> Iterator[Edit]:
        return chain(found, self._of(finding, *ALTERNATIVES))

    def _pairs(self, finding: Finding) -> Iterable[Deviations]:
        """Pairs of edits of different rules: two of one rule would explain it away."""
        edits = self._of(finding, Stage.CERTAIN, Stage.GENERATION, Stage.OWN, Stage.NEAR)
        pairs = combinations(islice(edits, MOST_PAIRED), 2)
        return (pair for pair in pairs if about(pair[0]) != about(pair[1]))

    def _of(self, finding: Finding, *stages: Stage) -> Iterator[Edit]:
        found = (candidates(each, finding, self._edits, self.model) for each in stages)
        return chain.from_iterable(found)

    def _may_add(
        self, edits: Deviations, tests: tuple[ObservedTest, ...], covered: Shown | None
    ) -> bool:
        """Whether the deviations with these edits explain all observations, and these tests."""
        deviations = (*self.adopted, *edits)
        if not self._refuted.isdisjoint(map(str, edits)) or not self._explains(deviations, *tests):
            return False
        model = deviating(self.profile, deviations)
        return covered is None or covered.allowed_by(model, edits, self._known_steps())

    def _is_wide(self, kept: Deviations, edit: Edit, covered: Shown) -> bool:
        """Whether adding an edit to these changes much more than what was observed."""
        if not isinstance(edit, MAY_BE_WIDE):
            return False
        before, after = (deviating(self.profile, each) for each in (kept, (*kept, edit)))
        lost, growth = covered.effect(edit, before, after)
        return lost > MOST_LOST or growth > MOST_GROWTH

    def _is_too_wide(
        self,
        kept: Deviations,
        edit: Edit,
        covered: Shown,
        others: Deviations,
        tests: list[ObservedTest],
    ) -> bool:
        """Whether an edit is wide, and with the others does not explain all tests of its rule."""
        explains = self._predicts((*others, edit), edit, tests)
        return not explains and self._is_wide(kept, edit, covered)

    def _explains(self, deviations: Deviations, *tests: ObservedTest) -> bool:
        model = self._model_of(deviations)
        return model is not None and all(
            self._allows(model, test) for test in (*tests, *self.evidence)
        )

    def _explained(self, deviations: Deviations, tests: list[ObservedTest], least: int = 1) -> int:
        """The number of tests that the deviations explain; 0 if it is less than `least`."""
        model = self._model_of(deviations) if len(tests) >= least else None
        if model is None:
            return 0
        missed = 0
        for test in tests:  # the shortest first: most edits explain none
            missed += not self._allows(model, test)
            if missed > len(tests) - least:
                return 0
        return len(tests) - missed

    def _model_of(self, deviations: Deviations) -> Profile | None:
        """The profile with these deviations; None if they exclude each other."""
        try:
            return deviating(self.profile, deviations)
        except UnknownPartError:
            return None


def _ending_with_time(tests: Iterable[ObservedTest]) -> tuple[ObservedTest, ...]:
    """The tests in whose last step time passes; none if they are few.

    On a real clock it passes in every step. Those in which a parked JoinGroup is answered count.
    """
    found = tuple(each for each in tests if _ends_with_time(each))
    return found if len(found) >= SEVERAL else ()


def _ends_with_time(test: ObservedTest) -> bool:
    given, seen = test.exchanges[-1]
    if isinstance(given, Advance):
        return True
    return test.tolerances is not None and any(
        isinstance(answer.body, JoinGroupResponse)
        and answer.request_id != getattr(given, "request_id", None)
        for answer in seen.responses
    )
