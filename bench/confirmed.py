"""Which rules a broker confirms: `python bench/confirmed.py [PORT...] [-v] [--write]`.

An edit drops a rule, a guard or an effect of the model (`model/classic/edits.py`). If the edited
model does not allow a recorded test of a broker (`tests/recorded`), the test confirms what the edit
drops. Prints a table by API and broker; `-v` lists what no test confirms. `--write` stores the
result in `reports/confirmed.tsv`, which `groupcheck rules` and docs/rules.md read. All four brokers
take two minutes on two cores.

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
from typing import Final, NamedTuple

from groupcheck.model.classic.config import Config
from groupcheck.model.classic.edits import edits_of
from groupcheck.model.classic.state import Coordinator
from groupcheck.model.classic.step import Outcome, Profile
from groupcheck.model.classic.transition import Input, successors
from groupcheck.model.engine.edits import DropEffect, DropGuard, DropRule, Edit, about, rules_beside
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.deviations.observed import ObservedTest
from groupcheck.properties.histories.recorded_tests import load
from groupcheck.properties.oracle import Oracle
from groupcheck.reports.confirmed import Confirmed, confirmed, total, write
from groupcheck.reports.rules import by_area

FOLDER: Final = Path(__file__).parents[1] / "tests" / "recorded"
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
        for config, state, given in self._steps_of(edit):
            outcomes, tests = self.steps[config, state, given]
            untried = [number for number in tests if number not in tried]
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
        rule = about(edit)
        if rule not in self.profile.rules:  # it is a procedure, which any rule may use
            return iter(self.steps)
        # Without a guard a rule may also apply where other rules of its table do.
        guard = isinstance(edit, DropGuard)
        rules = rules_beside(edit, self.profile.version) if guard else {rule}
        return chain.from_iterable(self._by_rule[each] for each in sorted(rules))


def _differ(some: list[Outcome], others: list[Outcome]) -> bool:
    return {each[:2] for each in some} != {each[:2] for each in others}


class Found(NamedTuple):
    """For a broker: its version, the parts of each rule, and the edits that no test contradicts."""

    port: str
    version: str
    rules: dict[str, Confirmed]
    unconfirmed: list[str]


def drops(profile: Profile) -> list[Edit]:
    """The edits of a version that drop a rule, a guard or an effect."""
    return [edit for edit in edits_of(profile) if isinstance(edit, DROPS)]


def found_in(path: Path) -> Found:
    """The rules that the recorded tests of a broker confirm."""
    recorded = Recorded(path)
    profile = recorded.profile
    each = {edit: Confirmed(int(recorded.confirms(edit)), 1) for edit in drops(profile)}
    rules: dict[str, list[Confirmed]] = defaultdict(list)
    for edit, one in each.items():
        rules[about(edit)].append(one)
    return Found(
        recorded.port,
        profile.name,
        {rule: total(parts) for rule, parts in rules.items()},
        [str(edit) for edit, one in each.items() if not one.parts],
    )


def main() -> int:
    """Run the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("ports", metavar="PORT", nargs="*")
    options.add_argument("-v", "--verbose", action="store_true")
    options.add_argument("--write", action="store_true", help="store the result")
    given = options.parse_args()
    names = [f"{port.replace(':', '-')}.jsonl.xz" for port in given.ports]
    paths = [FOLDER / name for name in names] or sorted(FOLDER.iterdir())
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        every = pool.map(found_in, paths, chunksize=1)
    for found in every:
        for edit in found.unconfirmed if given.verbose else ():
            sys.stdout.write(f"{found.port}: no test contradicts: {edit}\n")
    new = {(one.version, rule): parts for one in every for rule, parts in one.rules.items()}
    sys.stdout.write(table([found.port for found in every], by_area(new)))
    if given.write:
        versions = {found.version for found in every}
        kept = {at: parts for at, parts in confirmed().items() if at[0] not in versions}
        write(kept | new)
    return 0


def table(ports: list[str], areas: Mapping[str, Sequence[object]]) -> str:
    """A row for each area, and a column for each broker."""
    rows: dict[str, Sequence[object]] = {"confirmed on a broker": ports, **areas}
    lines = (f"{head:24}" + "".join(f"{cell!s:>20}" for cell in row) for head, row in rows.items())
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
