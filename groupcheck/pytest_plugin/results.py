"""What a verification shows, divided among the tests of the suite.

One verification serves all tests of a port. Its results are plain data, because pytest-xdist runs
tests in several processes: the first that needs them verifies, and the others read them.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from groupcheck.model.instances.inputs import Feature
from groupcheck.properties.coverage.covered import Covered
from groupcheck.properties.rule_checks import rule_of, transitions_by_rule
from groupcheck.properties.unsupported import SKIPPED
from groupcheck.properties.verify import Verification
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.text import story, title
from groupcheck.reports.verification_record import result_record

# The name of the part that is about no single rule.
NO_RULE = ""


class Part(msgspec.Struct):
    """What a verification shows for one test: its transitions, and the texts of findings by id."""

    transitions: int = 0
    covered: int = 0
    findings: dict[str, str] = {}
    ended_early: str = ""


class Run(msgspec.Struct):
    """What a verification shows; `parts` by rule, and `NO_RULE` for the rest.

    `findings` are titles by id, `files` names. `result` and `covered_transitions` are there
    only if asked for.
    """

    port: str
    transitions: int = 0
    covered: int = 0
    sequences: int = 0
    steps: int = 0
    skipped: list[str] = []
    unsupported: list[str] = []
    findings: dict[str, str] = {}
    ended_early: str = ""
    parts: dict[str, Part] = {}
    files: list[str] = []
    result: ResultRecord | None = None
    covered_transitions: Covered | None = None


def run_of(
    verification: Verification,
    tests: Sequence[str],
    missing: Mapping[Feature, str],
    *,
    covered: bool,
    saved: bool,
) -> Run:
    """The results of a verification that was run, for these tests: rules, and maybe `NO_RULE`.

    A finding belongs to the test of the rule that it contradicts. What belongs to none of the
    tests, belongs to `NO_RULE` if that is one of them, or else to the first.
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
        part.findings[finding.finding_id] = story(finding)
    return Run(
        port=result.port,
        transitions=result.transitions,
        covered=result.covered_transitions,
        sequences=result.sequences,
        steps=result.steps,
        skipped=[f"{feature}: {reason}" for feature, reason in missing.items()],
        unsupported=[what for what in result.unsupported if not what.endswith(SKIPPED)],
        findings={finding.finding_id: title(finding) for finding in result.findings},
        ended_early=result.ended_early,
        parts=parts,
        result=result_record(result) if saved else None,
        covered_transitions=verification.covered() if covered else None,
    )


def plain(run: Run) -> dict[str, Any]:
    """A run as values that pytest-xdist can send to the main process, without its parts."""
    values: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(run, parts={}))
    return values


def run_once(file: Path, verified: Callable[[], Run]) -> tuple[Run, bool]:
    """The run of the first process that asks for it, and whether that is this one."""
    with file.open("a+b") as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)  # until it is closed
        shared.seek(0)
        if data := shared.read():
            return msgspec.json.decode(data, type=Run), False
        run = verified()
        # The main process gets these from the report of a test.
        run_without = msgspec.structs.replace(run, result=None, covered_transitions=None)
        shared.write(msgspec.json.encode(run_without))
        return run, True
