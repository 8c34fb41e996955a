"""What the tests of pytest's suite have come to: it travels with their reports, and is summed up.

A test may run in another process than the one that tells the summary, so what it came to is told
in plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from groupcheck.model.spaces.clients import Feature
from groupcheck.properties.coverage.covered import (
    Covered,
    MalformedCoverageError,
    as_values,
    covered_of,
    merged,
    read,
    write,
)
from groupcheck.properties.parts import RANDOM_PARTS
from groupcheck.properties.skipping import SKIPPED
from groupcheck.properties.verify import Verification
from groupcheck.reports.merging import of_parts
from groupcheck.reports.saved import Saved
from groupcheck.reports.saved_file import as_text
from groupcheck.reports.story import title
from groupcheck.reports.terminal import percent
from groupcheck.reports.told import told as saved_of
from groupcheck.reports.words import counted

# Of what one test came to; its values can be sent to another process.
Told = dict[str, Any]


def told_of(
    verification: Verification,
    lacking: Mapping[Feature, str],
    files: list[str],
    *,
    covered: bool,
    saved: bool,
) -> Told:
    """What a part came to; what it has shown edge by edge, and all, only if that is asked for."""
    result = verification.result
    return {
        "port": result.port,
        "edges": result.edges,
        "edges_shown": result.shown,
        "sequences": result.sequences,
        "steps": result.steps,
        "skipped": [f"{feature}: {reason}" for feature, reason in lacking.items()],
        "unsupported": [what for what in result.unsupported if not what.endswith(SKIPPED)],
        "findings": {finding.finding_id: title(finding) for finding in result.findings},
        "files": files,
        "covered": as_values(verification.covered()) if covered else None,
        "saved": msgspec.to_builtins(saved_of(result)) if saved else None,
    }


class Gathered:
    """What all tests came to; `expected` are the findings that are known, with their reasons."""

    def __init__(self, kafka: str, expected: dict[str, str], directory: Path | None) -> None:
        self._kafka = kafka
        self._expected = expected
        self._directory = directory
        self._told: dict[str, Told] = {}
        self._skipped: dict[str, str] = {}  # why, by the id of the test
        self._written: list[str] = []

    def add(self, nodeid: str, told: Told) -> None:
        """What a test came to."""
        self._told[nodeid] = told

    def skip(self, nodeid: str, reason: str) -> None:
        """A test was not run, as its port lacks what it is about."""
        self._skipped[nodeid] = reason

    def repaired(self, rules: Callable[[], tuple[str, ...]]) -> list[str]:
        """The known findings that were found no more, if all was tried: all rules, on each port."""
        if not self._expected:
            return []
        ports = {told["port"] for told in self._told.values()}
        whole = (len(rules()) + RANDOM_PARTS) * max(len(ports), 1)
        if len(self._told) + len(self._skipped) < whole:
            return []
        found = self._found(self._told.values())
        return [each for each in self._expected if each not in found]

    def cover(self, path: Path) -> bool:
        """Add what was shown to a coverage file; False if it cannot be."""
        now = [("this run", covered_of(t["covered"])) for t in self._told.values() if t["covered"]]
        try:
            before = coverage_in(path)
            together = merged([*now, (str(path), before)])
            write(path, together.covered)
        except (OSError, MalformedCoverageError) as error:
            why = getattr(error, "strerror", None) or str(error)
            self._written += [f"coverage   cannot be added to {path}: {why}"]
            return False
        self._written += [f"coverage   {_in_all(together.covered)} in {path}"]
        self._written += [f"coverage   begun anew, {what}" for what in together.refused]
        return True

    def save(self, path: Path) -> bool:
        """Write all of it as one result, if there was anything; False if that cannot be."""
        every = [told["saved"] for told in self._told.values() if told["saved"]]
        parts = [msgspec.convert(values, Saved) for values in every]
        if not parts:
            return True
        try:
            path.write_text(as_text(of_parts(parts)), encoding="utf-8")
        except OSError as error:
            self._written += [f"result     cannot be written to {path}: {error.strerror}"]
            return False
        self._written += [f"result     {path}, for groupcheck report"]
        return True

    def lines(self, repaired: Iterable[str]) -> Iterator[str]:
        """What was shown of the model, and each finding once."""
        for port in dict.fromkeys(told["port"] for told in self._told.values()):
            yield from self._of_port(port)
        for skipped in sorted({*self._skipped.values(), *self._each("skipped")}):
            yield f"skipped    {skipped}"
        for finding_id in repaired:
            yield f"repaired   {finding_id} is found no more: take it out of groupcheck_expected"
        files = self._each("files")
        if files:
            yield f"written    {counted(len(files), 'file')} in {self._directory}"
        yield from self._written

    def _each(self, name: str) -> dict[str, None]:
        """The texts of that name that any test has told, each once."""
        return dict.fromkeys(text for told in self._told.values() for text in told[name])

    def _of_port(self, port: str) -> Iterator[str]:
        told = [each for each in self._told.values() if each["port"] == port]
        edges, shown = (sum(each[name] for each in told) for name in ("edges", "edges_shown"))
        yield f"port       {port}, judged as {self._kafka}"
        yield f"shown      {shown:,} of {counted(edges, 'labelled edge')} ({percent(shown, edges)})"
        sequences, steps = (sum(each[name] for each in told) for name in ("sequences", "steps"))
        yield f"ran        {counted(sequences, 'sequence')}, {counted(steps, 'step')}"
        unsupported = dict.fromkeys(what for each in told for what in each["unsupported"])
        if unsupported:
            yield f"left out   not supported by the port: {', '.join(unsupported)}"
        for finding_id, said in self._found(told).items():
            known = self._expected.get(finding_id)
            yield f"finding    {finding_id} {said}" + (f" (known: {known})" if known else "")

    @staticmethod
    def _found(told: Iterable[Told]) -> dict[str, str]:
        return {key: said for each in told for key, said in each["findings"].items()}


def coverage_in(path: Path) -> Covered:
    """What is in a coverage file; nothing, if it is not there yet.

    Raises:
        MalformedCoverageError: it is no coverage.
        OSError: it cannot be read, or is to be in a directory that is not there.
    """
    try:
        return read(path)
    except FileNotFoundError:
        if path.parent.is_dir():
            return {}
        raise


def _in_all(covered: Covered) -> str:
    spaces = [space for each in covered.values() for space in each.spaces.values()]
    edges, shown = sum(each.edges for each in spaces), sum(each.shown for each in spaces)
    share = percent(shown, edges)
    return f"{shown:,} of {counted(edges, 'labelled edge')} shown in all runs ({share})"
