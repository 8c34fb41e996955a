"""The observations of a port's tests, against which deviations are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from math import inf
from typing import Final, NamedTuple

from groupcheck.model.classic.exploring.canonical import CanonicalForm
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Profile
from groupcheck.model.classic.transition import Input
from groupcheck.model.engine.edits import Edit, FirstNumber, about, rules_beside
from groupcheck.model.engine.exploration import StateSpace, Transition
from groupcheck.model.engine.graph import TransitionReference
from groupcheck.model.engine.rules import Version
from groupcheck.model.versions import trim
from groupcheck.model.vocabulary import Request
from groupcheck.properties.coverage.transition_coverage import Coverage, Fork, edges_taken
from groupcheck.properties.deviations.shared_steps import Part, SharedSteps, noting
from groupcheck.properties.explored import deviating_space, rules_affected
from groupcheck.properties.findings.finding import Exchange, Finding
from groupcheck.properties.oracle import DivergedError, Oracle
from groupcheck.properties.ports.numbering import first_generation, renumbered, revealed_generation
from groupcheck.properties.ports.port import Observation
from groupcheck.properties.run import Checks, FoundError
from groupcheck.properties.tolerances import Tolerances

MOST_TRANSITIONS: Final = 400  # covered ones of each rule, which a deviation has to allow


class ObservedTest(NamedTuple):
    """What a port did in one test, under these settings of the broker."""

    broker: Mapping[str, int]
    exchanges: tuple[Exchange, ...]
    tolerances: Tolerances | None = None
    first_generation: int = 1  # the generation from which the exchanges count

    @classmethod
    def of(cls, finding: Finding) -> ObservedTest:
        """The test that a finding is from."""
        late_ms, early_ms = finding.config.timer_late_ms, finding.config.timer_early_ms
        tolerances = Tolerances(late_ms, early_ms) if late_ms else None
        first = first_generation(finding.sequence.model)
        return cls(finding.sequence.broker, finding.exchanges, tolerances, first)

    def exchanges_of(self, model: Profile) -> Iterator[tuple[Input, Observation]]:
        """The exchanges, with the generations renumbered for a model."""
        shift = first_generation(model) - self.first_generation
        return (renumbered(given, seen, shift) for given, seen in self.exchanges)

    def allowed_by(
        self, model: Profile, steps: SharedSteps | None = None, *, known: bool = True
    ) -> bool:
        """Whether a model allows the whole test; `steps` has the known steps of the model.

        A test does not count as allowed if its state is unknown before its end, but as if it were
        if it need not be `known`.
        """
        oracle = self._oracle(model, steps)
        try:
            for given, seen in self.exchanges_of(model):
                if oracle.is_unknown:
                    return not known
                oracle.follow(given, seen)
        except DivergedError:
            return False
        return True

    def tried(self, model: Profile) -> set[str]:
        """The rules and procedures that Kafka or a model tries: an edit of others changes nothing.

        A rule is tried if its table is used, even if no rule of the table is applied.
        """
        used: set[Part] = set()
        kafka = EVERY_PROFILE[model.name]
        for each in (model, kafka):
            self.allowed_by(noting(each, used))
        tables = kafka.version.tables
        rules = {
            rule.id for part, name in used if part == "tables" for rule in tables.get(name, ())
        }
        return rules | {name for part, name in used if part == "procedures"}

    def _oracle(self, model: Profile, steps: SharedSteps | None) -> Oracle:
        successors_of = None if steps is None else steps.of
        return Oracle(model, self.broker, self.tolerances, successors_of)

    def applied(self, *models: Profile, steps: SharedSteps | None = None) -> set[str]:
        """The rules that models may apply, each until it rejects an observation."""
        return set(chain.from_iterable(self._applied(each, steps) for each in models))

    def _applied(self, model: Profile, steps: SharedSteps | None) -> Iterator[str]:
        oracle = self._oracle(model, steps)
        with suppress(DivergedError):
            for given, seen in self.exchanges_of(model):
                outcomes = oracle.predict(given)
                yield from chain.from_iterable(outcome.applied for outcome in outcomes)
                oracle.accept(given, outcomes, seen)

    def finding(self, model: Profile) -> Finding | None:
        """The finding that ends the test under a model; None if the model allows the test."""
        checks = Checks(model, self.broker, self.tolerances)
        try:
            for given, seen in self.exchanges_of(model):
                checks.observe(given, checks.oracle.predict(given), seen)
        except FoundError as found:
            return found.finding
        return None


def count_covered(test: ObservedTest, coverage: Coverage, model: Profile, *, failed: bool) -> None:
    """Count the transitions of an explored instance that a test has shown, by these rules.

    The test counts until it differs from the rules, or its last input, at which the port `failed`.
    """
    oracle = Oracle(model, test.broker, test.tolerances)
    before = fork = None
    for number, (given, seen) in enumerate(test.exchanges_of(model), 1):
        here = _node(coverage.space, oracle)
        if here is not None:  # else a timer was late, and the test waited for it
            before, fork = here, _fork(coverage, here, given, oracle)
        is_allowed = not (failed and number == len(test.exchanges))
        try:
            oracle.follow(given, seen)
        except DivergedError:
            is_allowed = False
        if before is None or fork is None:
            if not is_allowed:
                return
            continue
        if not is_allowed:
            coverage.diverge(before, fork)
            return
        after = _node(coverage.space, oracle)
        if after is not None:
            edges, indexes = coverage.space.edges[before], [b.edge for b in fork.branches]
            taken = edges_taken(edges, indexes, after, oracle.applied)
            coverage.show(fork, [TransitionReference(before, edge) for edge in taken])


def _node(space: StateSpace, oracle: Oracle) -> int | None:
    """The node of all possible states; None if they differ, or are not in the instance."""
    nodes = {space.numbers.get(space.canonical(state).node) for state in oracle.states}
    return nodes.pop() if len(nodes) == 1 else None


def _fork(coverage: Coverage, node: int, given: Input, oracle: Oracle) -> Fork | None:
    """The fork of a node that an input is; None if the instance does not have it.

    A port that lacks the version of a request gets an older one.
    """
    form = coverage.space.canonical(oracle.states[0])
    found = [each for each in coverage.forks(node) if _is_the_same(each.given, given, form)]
    return min(found, key=lambda each: getattr(each.given, "api_version", 0), default=None)


def _is_the_same(planned: Input, given: Input, form: CanonicalForm) -> bool:
    """Whether an input is the planned one in its test's names, perhaps of an older version."""
    if not isinstance(planned, Request) or not isinstance(given, Request):
        return type(planned) is type(given)
    version = min(planned.api_version, given.api_version)
    if planned.api != given.api or version != given.api_version:
        return False
    restored: Request = form.restore(planned, given.request_id)
    return trim(restored.body, version) == trim(given.body, version)


class Shown:
    """The covered transitions, by the rules that they apply, and their instances."""

    def __init__(self, coverages: Iterable[Coverage], version: Version) -> None:
        coverages = tuple(coverages)
        self._version = version
        self._spaces = [coverage.space for coverage in coverages]
        self._counts: dict[tuple[str, ...], int] = {}  # transitions of a space, by edits
        self._by_rule: dict[str, list[tuple[int, Coordinator, Transition]]] = {}
        for number, coverage in enumerate(coverages):
            space = coverage.space
            for transition in coverage.shown:
                edge = space.edges[transition.node][transition.edge]
                for rule in edge.applied:
                    covered = self._by_rule.setdefault(rule, [])
                    covered.append((number, space.nodes[transition.node], edge))

    def allowed_by(self, model: Profile, edits: Iterable[Edit], steps: SharedSteps) -> bool:
        """Whether the model with these edits allows the answers that they may change.

        Edits of more than a table may change any step before: only states that the model reaches
        count.
        """
        edits = tuple(edits)
        others = [edit for edit in edits if not isinstance(edit, FirstNumber)]
        if len(others) < len(edits) and self._shows_generations():
            return False
        affected = [rules_affected(edit, self._version) for edit in others]
        is_local = all(affected)
        rules = frozenset().union(*affected) if is_local else self._by_rule
        reached = cache(lambda number: deviating_space(self._spaces[number], model))
        # A transition may apply several rules: its outcomes are computed once.
        outcomes_of = [steps.of(model, space.instance.config) for space in self._spaces]
        for rule in rules:
            for number, state, edge in self._by_rule.get(rule, [])[:MOST_TRANSITIONS]:
                outcomes = outcomes_of[number](state, edge.given)
                if any(tuple(sorted(o.responses)) == edge.responses for o in outcomes):
                    continue
                if is_local:
                    return False
                found = reached(number)
                if found is None or state in found.numbers:
                    return False
        return True

    def effect(self, edit: Edit, before: Profile, after: Profile) -> tuple[int, float]:
        """What an edit does to a model: `after` is the model `before` with it.

        Only the smallest instance that applies a rule of the edit's table is explored.

        Returns:
            The number of rules, other than the edit's own, that become unreachable; and how many
            times as many transitions there are.
        """
        beside = rules_beside(edit, self._version)
        spaces = [space for space in self._spaces if not beside.isdisjoint(space.applied)]
        if not spaces:
            return 0, 1.0
        space = min(spaces, key=lambda space: space.transition_count)
        found = deviating_space(space, after)
        if found is None:
            return 0, inf
        lost = len(space.applied.keys() - found.applied.keys() - {about(edit)})
        return lost, found.transition_count / (self._transitions(space, before) or inf)

    def _transitions(self, space: StateSpace, model: Profile) -> int:
        """The number of transitions of an instance by other rules; 0 if it is too large."""
        if model is space.instance.profile:
            return space.transition_count
        key = (space.instance.text, *map(str, model.edits))
        if key not in self._counts:
            found = deviating_space(space, model)
            self._counts[key] = found.transition_count if found else 0
        return self._counts[key]

    def _shows_generations(self) -> bool:
        """Whether an answer has revealed the number of a generation."""
        every = (edge for covered in self._by_rule.values() for _, _, edge in covered)
        answers = (response.body for edge in every for response in edge.responses)
        return any(revealed_generation(body) is not None for body in answers)
