"""Which rules a broker confirms: `python bench/confirmed.py [PORT...] [-v] [--record] [--write]`.

An edit drops a rule, a guard or an effect of the model (`model/classic/edits.py`). If the edited
model does not allow a recorded test of a broker (`tests/recorded`), the test confirms what the edit
drops. If none does, a plan is made (`planned_tests.py`): a shortest sequence of requests and times
that shows the edit on one broker. An edit without a plan is hidden from clients.

Prints a table by API and broker (four by default), with the number of confirmed parts, of those
that clients can see, and of hidden ones; `-v` lists what no test confirms. `--record` plays the
plans on brokers, and adds the tests that confirm something to the recorded ones. `--write` stores
the result in `reports/confirmed.tsv`, which `groupcheck rules` and docs/rules.md read.

An edit is tried on each step of the recorded tests, from the states that the model allows there.
The edited model checks a test in full only if one of its steps has other outcomes, and 50 tests at
most.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from planned_tests import Plan, Played, Space, plan_of, played, spaces
from recorded_brokers import RECORDED, recording_of

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.edits import DropEffect, DropGuard, DropRule, Edit, about
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.explored import rules_affected
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.histories.recorded_tests import dump, load
from groupcheck.properties.histories.recording_file import opened
from groupcheck.properties.oracle import Oracle
from groupcheck.properties.ports.port import PortUnavailableError
from groupcheck.reports.confirmed import Confirmed, confirmed, total, write
from groupcheck.reports.finding_text import text_of
from groupcheck.reports.rules import by_area
from support.product import UndecidedError

MOST_TESTS: Final = 50  # that an edited model checks in full
DROPS: Final = DropRule | DropGuard | DropEffect


class Taken(NamedTuple):
    """A step of a recorded test: what the model allows, and the tests that have the step."""

    outcomes: list[Outcome]
    tests: list[int]


class Steps(Oracle):
    """Keeps each step that the oracle asks the model for while it checks a test."""

    def __init__(self, test: ObservedTest, profile: Profile) -> None:
        super().__init__(profile, test.broker, test.tolerances)
        self.taken: dict[tuple[Config, Coordinator, Input], list[Outcome]] = {}
        for given, seen in test.exchanges_of(profile):
            self.accept(given, self.predict(given), seen)

    def _successors(self, state: Coordinator, given: Input) -> list[Outcome]:
        outcomes = super()._successors(state, given)
        self.taken[self.config, state, given] = outcomes
        return outcomes


class Recorded:
    """The recorded tests of a broker, and their steps by the rules that they apply."""

    def __init__(self, path: Path) -> None:
        recorded = list(load(path))
        self.path = path
        self.port, self.profile = recorded[0].port, recorded[0].profile
        self.tests = [each.test for each in recorded]
        self.steps: dict[tuple[Config, Coordinator, Input], Taken] = {}
        for number, test in enumerate(self.tests):
            for step, outcomes in Steps(test, self.profile).taken.items():
                self.steps.setdefault(step, Taken(outcomes, [])).tests.append(number)
        self._by_rule: dict[str, list[tuple[Config, Coordinator, Input]]] = defaultdict(list)
        for step, taken in self.steps.items():
            for rule in {rule for outcome in taken.outcomes for rule in outcome.applied}:
                self._by_rule[rule].append(step)

    def confirms(self, edit: Edit) -> bool:
        """Whether the model with an edit rejects one of the tests."""
        edited = deviating(self.profile, (edit,))
        tried: set[int] = set()
        # The newest tests first: plans are at the end of a file.
        steps = sorted(self._steps_of(edit), key=lambda step: self.steps[step].tests[-1])
        for config, state, given in reversed(steps):
            outcomes, tests = self.steps[config, state, given]
            untried = [number for number in reversed(tests) if number not in tried]
            if not untried or not _differ(outcomes, successors(state, given, edited, config)):
                continue
            for number in untried[: MOST_TESTS - len(tried)]:
                tried.add(number)
                if not self.tests[number].allowed_by(edited):
                    return True
            if len(tried) >= MOST_TESTS:
                break
        return False

    def _steps_of(self, edit: Edit) -> Iterator[tuple[Config, Coordinator, Input]]:
        """The steps that an edit may change."""
        # Without a guard a rule may also apply where other rules do.
        rules = rules_affected(edit, self.profile.version)
        if rules and not isinstance(edit, DropGuard):
            rules = frozenset([about(edit)])
        if not rules:  # any step
            return iter(self.steps)
        return chain.from_iterable(self._by_rule[each] for each in sorted(rules))


def _differ(some: list[Outcome], others: list[Outcome]) -> bool:
    return {each[:2] for each in some} != {each[:2] for each in others}


class Part(NamedTuple):
    """A part of the rules: the edit that drops it, and whether a recorded test confirms it.

    If none does, `plan` shows it, unless it is hidden from clients.
    """

    edit: Edit
    confirmed: bool
    plan: Plan | None = None
    is_hidden: bool = False


def parts_of(recorded: Recorded, given: Sequence[Space]) -> list[Part]:
    """The parts of the rules of a version: each rule, guard and effect."""
    _shared["recorded"], _shared["spaces"] = recorded, given
    edits = [edit for edit in edits_of(recorded.profile) if isinstance(edit, DROPS)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        return pool.map(_part, edits, chunksize=4)


_shared: dict[str, Any] = {}  # which the processes inherit


def _part(edit: Edit) -> Part:
    if _shared["recorded"].confirms(edit):
        return Part(edit, confirmed=True)
    try:
        plan = plan_of(edit, _shared["spaces"])
    except UndecidedError:
        return Part(edit, confirmed=False)
    return Part(edit, confirmed=False, plan=plan, is_hidden=plan is None)


def record(recorded: Recorded, parts: Sequence[Part], given: Sequence[Space]) -> list[Part]:
    """Play the plans in the explored instances, and add the tests that confirm a part.

    Returns the parts with these tests.
    """
    plans = {part.edit: part.plan for part in parts if part.plan is not None}
    with opened(recorded.path, "rb") as file:
        before = file.read()
    found: list[Played] = []
    try:
        found.extend(played(recorded.port, given, plans, differs))
    except PortUnavailableError as error:
        sys.stderr.write(f"{recorded.port}: {error}\n")
    with opened(recorded.path, "wb") as file:
        file.write(before + "".join(dump(each.test, each.names) for each in found).encode())
    now = {edit for each in found for edit in each.rejects}
    return [part._replace(confirmed=part.confirmed or part.edit in now) for part in parts]


def differs(finding: Finding) -> None:
    """Print how a broker differs from the model."""
    sys.stderr.write(text_of(finding))


def by_rule(parts: Sequence[Part]) -> dict[str, Confirmed]:
    """The sums of each rule."""
    rules: dict[str, list[Confirmed]] = defaultdict(list)
    for part in parts:
        one = Confirmed(int(part.confirmed), int(not part.is_hidden), 1)
        rules[about(part.edit)].append(one)
    return {rule: total(each) for rule, each in rules.items()}


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("ports", metavar="PORT", nargs="*", default=RECORDED)
    options.add_argument("-v", "--verbose", action="store_true")
    options.add_argument("--record", action="store_true", help="play the plans on brokers")
    options.add_argument("--write", action="store_true", help="store the result")
    given = options.parse_args()
    new: dict[tuple[str, str], Confirmed] = {}
    for port in given.ports:
        recorded = Recorded(recording_of(port))
        instances = spaces(recorded.port, recorded.profile)
        parts = parts_of(recorded, instances)
        if given.record:
            parts = record(recorded, parts, instances)
        for part in parts if given.verbose else ():
            if not part.confirmed:
                hidden = " (hidden)" if part.is_hidden else ""
                sys.stdout.write(f"{recorded.port}: no test contradicts: {part.edit}{hidden}\n")
        version = recorded.profile.name
        new |= {(version, rule): sums for rule, sums in by_rule(parts).items()}
    sys.stdout.write(table(given.ports, by_area(new)))
    if given.write:
        versions = {version for version, _ in new}
        kept = {at: parts for at, parts in confirmed().items() if at[0] not in versions}
        write(kept | new)
    return 0


def table(ports: Sequence[str], areas: Mapping[str, Sequence[object]]) -> str:
    """A row for each area, and a column for each broker."""
    rows: dict[str, Sequence[object]] = {"confirmed on a broker": ports, **areas}
    lines = (f"{head:24}" + "".join(f"{cell!s:>24}" for cell in row) for head, row in rows.items())
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
