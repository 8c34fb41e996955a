"""Computes the code coverage by transition from the data of coverage.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coverage.exceptions import CoverageException

from groupcheck.properties.code.code import Code, FileRan, FunctionRan, Label, coded
from groupcheck.properties.code.tracing import OUTSIDE, Tracing


class NoCodeError(Exception):
    """No line of the code was executed, or it cannot be read."""


def measured(tracing: Tracing) -> Code:
    """The code coverage of a tracing.

    Raises:
        NoCodeError: no line of the measured files and folders was executed.
    """
    labels = list(tracing.steps)
    files = [
        FileRan(
            _shown(Path(path), tracing.paths),
            Path(path).read_text(encoding="utf-8"),
            dict(_ran(reported["contexts"], labels)),
            tuple(_functions(reported)),
        )
        for path, reported in _reported(tracing).items()
    ]
    return coded(files, tracing.steps)


def _reported(tracing: Tracing) -> dict[str, dict[str, Any]]:
    """The report of coverage.py for each file, by its path."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "code.json"
        try:
            tracing.coverage.json_report(
                outfile=str(out), include=tracing.patterns, show_contexts=True
            )
        except CoverageException as error:
            watched = ", ".join(map(str, tracing.paths))
            msg = f"no step of the port executed code in {watched} ({error})"
            raise NoCodeError(msg) from error
        files: dict[str, dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["files"]
    return {str(Path(path).resolve()): each for path, each in files.items()}


def _ran(
    contexts: Mapping[str, list[str]], labels: list[Label]
) -> Iterator[tuple[int, frozenset[Label]]]:
    for line, names in contexts.items():
        under = frozenset(labels[int(name)] for name in names if name != OUTSIDE)
        if under:
            yield int(line), under


def _functions(reported: Mapping[str, Any]) -> Iterator[FunctionRan]:
    """The functions of a file in its order. Code outside of functions runs when it is imported."""
    found = []
    for name, each in reported["functions"].items():
        lines = sorted((*each["executed_lines"], *each["missing_lines"]))
        if name and lines:
            untaken = frozenset((first, last) for first, last in each["missing_branches"])
            branches = len(untaken) + len(each["executed_branches"])
            never = frozenset(each["missing_lines"])
            found.append(FunctionRan(name, tuple(lines), never, branches, untaken))
    yield from sorted(found, key=lambda function: function.lines)


def _shown(path: Path, watched: tuple[Path, ...]) -> str:
    """The path of a file relative to the measured folder."""
    for each in watched:
        if path.is_relative_to(each):
            return path.relative_to(each.parent).as_posix()
    return path.as_posix()
