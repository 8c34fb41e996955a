"""The summary at the end of a run, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from groupcheck.properties.coverage.covered import (
    Covered,
    MalformedCoverageError,
    merged,
    read_or_empty,
    write,
)
from groupcheck.pytest_plugin.results import Run
from groupcheck.reports.formatting import counted, percent
from groupcheck.reports.merging import Named
from groupcheck.reports.merging import merged as merged_results
from groupcheck.reports.record_file import as_text


class Summary:
    """The runs of all ports; `expected` are the reasons of expected findings by their ids."""

    def __init__(self, kafka: str, expected: dict[str, str], directory: Path | None) -> None:
        self._kafka = kafka
        self._expected = expected
        self._directory = directory
        self._runs: list[Run] = []
        self._tests = 0
        self._skipped: dict[str, None] = {}  # reasons
        self._written: list[str] = []

    def add(self, run: dict[str, Any] | None) -> None:
        """Add a test, and the run that it made, as `results.plain` has it."""
        self._tests += 1
        if run:
            self._runs.append(msgspec.convert(run, Run))

    def skip(self, reason: str) -> None:
        """Add a test that was skipped because the port does not have a feature."""
        self._tests += 1
        self._skipped[reason] = None

    def fixed(self, rules: Callable[[], tuple[str, ...]]) -> list[str]:
        """The expected findings that did not occur, if every test ran on every port."""
        if not self._expected:
            return []
        ports = {run.result.port for run in self._runs}
        if self._tests < (len(rules()) + 1) * max(len(ports), 1):
            return []
        found = {finding.id for run in self._runs for finding in run.result.findings}
        return [each for each in self._expected if each not in found]

    def cover(self, path: Path) -> bool:
        """Add the coverage of all runs to a file. Returns whether that succeeded."""
        runs = [run.covered for run in self._runs if run.covered]
        try:
            before = read_or_empty(path)
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
        """Write the merged result of all runs, if there is one. Returns whether that succeeded."""
        results = [Named(run.result.port, run.result) for run in self._runs]
        if not results:
            return True
        try:
            path.write_text(as_text(merged_results(results)), encoding="utf-8")
        except OSError as error:
            self._written += [f"result     cannot be written to {path}: {error.strerror}"]
            return False
        self._written += [f"result     {path}, for groupcheck report"]
        return True

    def lines(self, fixed: Iterable[str]) -> Iterator[str]:
        """The lines of the summary: for each port its coverage and each of its findings once."""
        for port in dict.fromkeys(run.result.port for run in self._runs):
            yield from self._of_port(port)
        for skipped in sorted(
            {*self._skipped, *(each for run in self._runs for each in run.skipped)}
        ):
            yield f"skipped    {skipped}"
        for finding_id in fixed:
            yield f"fixed      {finding_id}: remove it from groupcheck_expected"
        files = {file for run in self._runs for file in run.files}
        if files:
            yield f"written    {counted(len(files), 'file')} in {self._directory}"
        yield from self._written

    def _of_port(self, port: str) -> Iterator[str]:
        runs = [run for run in self._runs if run.result.port == port]
        results = [run.result for run in runs]
        yield f"port       {port}, checked against {self._kafka}"
        covered = sum(result.covered for result in results)
        yield f"covered    {_share(covered, sum(result.transitions for result in results))}"
        steps = counted(sum(result.steps for result in results), "step")
        yield f"ran        {counted(sum(each.sequences for each in results), 'sequence')}, {steps}"
        unsupported = dict.fromkeys(what for run in runs for what in run.unsupported)
        if unsupported:
            yield f"skipped    not supported by the port: {', '.join(unsupported)}"
        found = {finding.id: finding.title for result in results for finding in result.findings}
        for finding_id, title in found.items():
            reason = self._expected.get(finding_id)
            yield f"finding    {finding_id} {title}" + (f" (expected: {reason})" if reason else "")


def _in_all(covered: Covered) -> str:
    instances = [each for profile in covered.values() for each in profile.instances.values()]
    part, whole = (sum(getattr(i, name) for i in instances) for name in ("shown", "transitions"))
    share = _share(part, whole)
    return f"{share} in all runs"


def _share(covered: int, transitions: int) -> str:
    share = percent(covered, transitions)
    return f"{covered:,} of {counted(transitions, 'transition')} ({share})"
