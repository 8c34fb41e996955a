"""The result of a verification, divided among the tests of the suite.

One verification serves all tests of a port. Its results are plain data, because pytest-xdist runs
tests in several processes: the first that needs them verifies, and the others read them.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.properties.coverage.covered import Covered
from groupcheck.properties.rule_checks import rule_of, transitions_by_rule
from groupcheck.properties.unsupported import SKIPPED
from groupcheck.properties.verify import Verification
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.verification_record import result_record

# The name of the part for no single rule.
NO_RULE = ""


class Part(msgspec.Struct):
    """The result for one test: its transitions, and the ids of its findings."""

    transitions: int = 0
    covered: int = 0
    findings: list[str] = []
    ended_early: str = ""


class Run(msgspec.Struct):
    """The result of a verification; `parts` by rule, and `NO_RULE` for the rest.

    `skipped` are features with reasons, `files` are names. `covered` is there only if asked for.
    """

    result: ResultRecord
    skipped: list[str] = []
    parts: dict[str, Part] = {}
    files: list[str] = []
    covered: Covered | None = None

    @property
    def unsupported(self) -> list[str]:
        """Unsupported features that are not skipped."""
        return [what for what in self.result.unsupported if not what.endswith(SKIPPED)]


def run_of(
    verification: Verification,
    tests: Sequence[str],
    missing: Mapping[Feature, str],
    *,
    covered: bool,
) -> Run:
    """The results of a verification that was run, for these tests: rules, and maybe `NO_RULE`.

    A finding belongs to the test of the rule that it contradicts. The rest belongs to `NO_RULE` if
    that is one of the tests, or else to the first test.
    """
    result = verification.result
    counts = transitions_by_rule(verification) if tests != [NO_RULE] else {}
    parts = {
        test: Part(counts[test].total, counts[test].covered) if test in counts else Part()
        for test in tests
    }
    if not counts:
        parts[NO_RULE] = Part(result.transitions, result.covered_transitions)
    rest = parts[NO_RULE if NO_RULE in parts else tests[0]]
    rest.ended_early = result.ended_early
    for finding in result.findings:
        rule = rule_of(finding, parts.keys() - {NO_RULE})
        part = rest if rule is None else parts[rule]
        part.findings.append(finding.finding_id)
    return Run(
        result=result_record(result),
        skipped=[f"{feature}: {reason}" for feature, reason in missing.items()],
        parts=parts,
        covered=verification.covered() if covered else None,
    )


def plain(run: Run) -> dict[str, Any]:
    """A run as values that pytest-xdist can send to the main process, without its parts."""
    values: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(run, parts={}))
    return values


def run_once(file: Path, verified: Callable[[], Run]) -> tuple[Run, bool]:
    """The run, which the first process makes, and whether this is that process."""
    with file.open("a+b") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)  # until it is closed
        shared.seek(0)
        if data := shared.read():
            return msgspec.json.decode(data, type=Run), False
        run = verified()
        # The main process gets the coverage from the report of a test.
        shared.write(msgspec.json.encode(msgspec.structs.replace(run, covered=None)))
        return run, True
