"""The results of the suite's tests, and the summary at the end of a run.

With pytest-xdist a test runs in a worker process, so the result of a test consists of plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from groupcheck.model.instances.inputs import Feature
from groupcheck.properties.coverage.covered import (
    Covered,
    MalformedCoverageError,
    ProfileCovered,
    merged,
    read,
    write,
)
from groupcheck.properties.rule_checks import RANDOM_PARTS
from groupcheck.properties.unsupported import SKIPPED
from groupcheck.properties.verify import Verification
from groupcheck.reports.formatting import counted, percent
from groupcheck.reports.merging import of_parts
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.record_file import as_text
from groupcheck.reports.text import title
from groupcheck.reports.verification_record import result_record

# The result of one test; pytest-xdist can send its values to another process.
TestResult = dict[str, Any]


def result_of(
    verification: Verification,
    missing: Mapping[Feature, str],
    files: list[str],
    *,
    covered: bool,
    saved: bool,
) -> TestResult:
    """The result of a test; its coverage and its saved result only if they are asked for."""
    result = verification.result
    return {
        "port": result.port,
        "transitions": result.transitions,
        "transitions_covered": result.covered_transitions,
        "sequences": result.sequences,
        "steps": result.steps,
        "skipped": [f"{feature}: {reason}" for feature, reason in missing.items()],
        "unsupported": [what for what in result.unsupported if not what.endswith(SKIPPED)],
        "findings": {finding.finding_id: title(finding) for finding in result.findings},
        "files": files,
        "covered": msgspec.to_builtins(verification.covered()) if covered else None,
        "saved": msgspec.to_builtins(result_record(result)) if saved else None,
    }


class Summary:
    """The results of all tests; `expected` are the reasons of expected findings by their ids."""

    def __init__(self, kafka: str, expected: dict[str, str], directory: Path | None) -> None:
        self._kafka = kafka
        self._expected = expected
        self._directory = directory
        self._results: dict[str, TestResult] = {}
        self._skipped: dict[str, str] = {}  # why, by the id of the test
        self._written: list[str] = []

    def add(self, nodeid: str, result: TestResult) -> None:
        """Add the result of a test."""
        self._results[nodeid] = result

    def skip(self, nodeid: str, reason: str) -> None:
        """Add a test that was skipped because the port does not have a feature."""
        self._skipped[nodeid] = reason

    def fixed(self, rules: Callable[[], tuple[str, ...]]) -> list[str]:
        """The expected findings that did not occur, if every test ran on every port."""
        if not self._expected:
            return []
        ports = {result["port"] for result in self._results.values()}
        whole = (len(rules()) + RANDOM_PARTS) * max(len(ports), 1)
        if len(self._results) + len(self._skipped) < whole:
            return []
        found = self._found(self._results.values())
        return [each for each in self._expected if each not in found]

    def cover(self, path: Path) -> bool:
        """Add the coverage of all tests to a file. Returns whether that succeeded."""
        every = [result["covered"] for result in self._results.values() if result["covered"]]
        runs = msgspec.convert(every, list[dict[str, ProfileCovered]])
        try:
            before = read_coverage(path)
            together = merged([*(("this run", run) for run in runs), (str(path), before)])
            write(path, together.covered)
        except (OSError, MalformedCoverageError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self._written += [f"coverage   cannot be added to {path}: {why}"]
            return False
        self._written += [f"coverage   {_in_all(together.covered)} in {path}"]
        self._written += [f"coverage   restarted: {what}" for what in together.refused]
        return True

    def save(self, path: Path) -> bool:
        """Write the merged result of all tests, if there is one. Returns whether that succeeded."""
        every = [result["saved"] for result in self._results.values() if result["saved"]]
        parts = [msgspec.convert(values, ResultRecord) for values in every]
        if not parts:
            return True
        try:
            path.write_text(as_text(of_parts(parts)), encoding="utf-8")
        except OSError as error:
            self._written += [f"result     cannot be written to {path}: {error.strerror}"]
            return False
        self._written += [f"result     {path}, for groupcheck report"]
        return True

    def lines(self, fixed: Iterable[str]) -> Iterator[str]:
        """The lines of the summary: for each port its coverage and each of its findings once."""
        for port in dict.fromkeys(result["port"] for result in self._results.values()):
            yield from self._of_port(port)
        for skipped in sorted({*self._skipped.values(), *self._each("skipped")}):
            yield f"skipped    {skipped}"
        for finding_id in fixed:
            yield f"fixed      {finding_id}: remove it from groupcheck_expected"
        files = self._each("files")
        if files:
            yield f"written    {counted(len(files), 'file')} in {self._directory}"
        yield from self._written

    def _each(self, name: str) -> dict[str, None]:
        """The different texts of a field of all results."""
        return dict.fromkeys(text for each in self._results.values() for text in each[name])

    def _of_port(self, port: str) -> Iterator[str]:
        results = [each for each in self._results.values() if each["port"] == port]

        def total(name: str) -> int:
            return sum(each[name] for each in results)

        yield f"port       {port}, checked against {self._kafka}"
        yield f"covered    {_share(total('transitions_covered'), total('transitions'))}"
        steps = counted(total("steps"), "step")
        yield f"ran        {counted(total('sequences'), 'sequence')}, {steps}"
        unsupported = dict.fromkeys(what for each in results for what in each["unsupported"])
        if unsupported:
            yield f"unsupported {', '.join(unsupported)}"
        for finding_id, what in self._found(results).items():
            reason = self._expected.get(finding_id)
            yield f"finding    {finding_id} {what}" + (f" (expected: {reason})" if reason else "")

    @staticmethod
    def _found(results: Iterable[TestResult]) -> dict[str, str]:
        return {key: title for each in results for key, title in each["findings"].items()}


def read_coverage(path: Path) -> Covered:
    """Read a coverage file; one that does not exist yet is empty.

    Raises:
        MalformedCoverageError: it is not a coverage file.
        OSError: it cannot be read, or its directory does not exist.
    """
    try:
        return read(path)
    except FileNotFoundError:
        if path.parent.is_dir():
            return {}
        raise


def _in_all(covered: Covered) -> str:
    spaces = [space for each in covered.values() for space in each.instances.values()]
    share = _share(sum(each.shown for each in spaces), sum(each.transitions for each in spaces))
    return f"{share} in all runs"


def _share(covered: int, transitions: int) -> str:
    share = percent(covered, transitions)
    return f"{covered:,} of {counted(transitions, 'transition')} ({share})"
