"""`groupcheck report`: convert saved results to other formats, and compare them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    NO_VERDICT,
    CommandError,
    check_coverage,
    ending_with_message,
)
from groupcheck.cli.options import add_shared, add_table, add_verbose
from groupcheck.cli.output import print_text

if TYPE_CHECKING:
    from groupcheck.reports.changes import Changes
    from groupcheck.reports.record import ResultRecord

HELP = "convert saved results to other formats, and compare them with a baseline"

STANDARD_OUTPUT: Final = Path("-")

FORMATS: Final = {
    "json": "write the result as JSON; several results are merged",
    "junit": "write JUnit XML, for Jenkins, GitLab and others",
    "html": "write one HTML page that needs no network: graph, transitions, findings",
    "markdown": "write Markdown, for example to GITHUB_STEP_SUMMARY",
    "badge": "write an SVG badge with the share of transitions covered",
}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck report`."""
    command.description = (
        "Merges saved results (verify --report; replay, check and explore --save) and prints or "
        "converts them; nothing is run again. An output FILE may be -, for standard output instead "
        "of the summary."
    )
    command.epilog = (
        "Exit status with a baseline: 0 no new finding, 1 a new finding, 2 the run ended early or "
        "covered nothing. Without a baseline: 0 conforms, 1 diverges, 2 there is no verdict. With "
        "both: 3 coverage is below --fail-under."
    )
    command.add_argument(
        "files", metavar="FILE", type=Path, nargs="+", help="a result.json, or a report directory"
    )
    table = """
--baseline FILE  compare with an earlier result: report new, known and fixed findings, and fail if
                 there is a new one
--fail-on-lost   also fail if a transition that the baseline covers is not covered
"""
    add_table(command, table)
    add_shared(command, "fail_under")
    for name, what in FORMATS.items():
        command.add_argument(f"--{name}", metavar="FILE", type=Path, help=what)
    table = """
--github   also print annotations for GitHub Actions
--out DIR  write the files of verify --report to DIR; replaces an earlier report
"""
    add_table(command, table)
    add_verbose(command, "settings, time, each model instance, the rules")


def run(options: argparse.Namespace) -> int:
    """Merge saved results, compare them, and write the formats that are asked for.

    Raises:
        CommandError: a file cannot be read or written, the results belong to different models, or
            too little is covered.
    """
    from groupcheck.reports.changes import changes
    from groupcheck.reports.github import as_annotations
    from groupcheck.reports.merging import Named, NotMergedError, merged

    _check(options)
    with ending_with_message(NotMergedError):
        saved = merged([Named(str(path), _read(path)) for path in options.files])
    before = _baseline(options.baseline, saved) if options.baseline else None
    changed = changes(saved, before, lost_fails=options.fail_on_lost)
    status = _status(saved, changed)
    made = {
        path: convert(saved, changed)
        for name, convert in _formats().items()
        if (path := getattr(options, name)) is not None
    }
    printed = made.pop(STANDARD_OUTPUT, None)
    written = _write(made, saved, changed, options.out, status)
    if printed is None:
        print_text(_summary(saved, changed, written, more=options.verbose))
    else:
        sys.stdout.write(printed)
    if options.github:
        sys.stdout.write(as_annotations(saved, changed))
    check_coverage(saved, status, options.fail_under)
    return status


def _formats() -> dict[str, Callable[[ResultRecord, Changes], str]]:
    """The function for each format, by the name of its option."""
    from groupcheck.reports.badge import as_badge
    from groupcheck.reports.explored_graphs import explored_again
    from groupcheck.reports.html import as_html
    from groupcheck.reports.junit import as_junit
    from groupcheck.reports.markdown import as_markdown
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.record_file import as_text

    def html(saved: ResultRecord, changed: Changes) -> str:
        with Bars() as bars:
            return as_html(saved, changed, explored_again(saved, bars("exploring the model", None)))

    return {
        "json": lambda saved, _changed: as_text(saved),
        "html": html,
        "junit": as_junit,
        "markdown": as_markdown,
        "badge": lambda saved, _changed: as_badge(saved),
    }


def _check(options: argparse.Namespace) -> None:
    """Check that the options do not contradict each other."""
    if [getattr(options, name) for name in FORMATS].count(STANDARD_OUTPUT) > 1:
        msg = "only one FILE can be -, standard output"
        raise CommandError(msg)
    if options.fail_on_lost and options.baseline is None:
        msg = "--fail-on-lost needs a --baseline"
        raise CommandError(msg)


def _read(path: Path) -> ResultRecord:
    from groupcheck.reports.record_file import MalformedResultError, read

    with ending_with_message(MalformedResultError, action=f"read the result in {path}"):
        return read(path)


def _baseline(path: Path, saved: ResultRecord) -> ResultRecord:
    """Read the baseline; it has to come from the same command and profile."""
    before = _read(path)
    if before.command != saved.command:
        msg = f"the baseline is a result of {before.command}, not of {saved.command}"
        raise CommandError(msg)
    if before.profile != saved.profile:
        msg = f"the baseline is of Kafka {before.profile}, not of {saved.profile}"
        raise CommandError(msg)
    return before


def _status(saved: ResultRecord, changed: Changes) -> int:
    if changed.fails and saved.decided:
        return DIVERGES
    return NO_VERDICT if saved.ended_early or not saved.decided else CONFORMS


def _write(
    made: dict[Path, str],
    saved: ResultRecord,
    changed: Changes,
    directory: Path | None,
    status: int,
) -> list[Path]:
    """Write the converted results, and the files of a report directory."""
    from groupcheck.reports.files import write

    written: list[Path] = []
    if directory is not None:
        with ending_with_message(action=f"write the report to {directory}", status=status):
            written = write(saved, directory, changed=changed)
    for path, text in made.items():
        with ending_with_message(action=f"write the report to {path}", status=status):
            path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _summary(saved: ResultRecord, changed: Changes, written: list[Path], *, more: bool) -> str:
    from groupcheck.reports.changes import lines
    from groupcheck.reports.terminal import summary

    notes = [f"written    {path}" for path in written]
    return summary(saved, [], changed.new, [*notes, *lines(changed)], more=more)
