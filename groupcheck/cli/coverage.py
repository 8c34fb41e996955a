"""`groupcheck coverage`: merge the coverage files of several runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, NO_VERDICT, ending_with_message
from groupcheck.cli.options import add_shared, add_table
from groupcheck.cli.output import print_json

if TYPE_CHECKING:
    from groupcheck.properties.coverage.covered import Covered

HELP = "merge the coverage of several runs"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck coverage`."""
    command.description = (
        "Merges coverage files (verify --coverage), also of other machines, and prints which "
        "transitions and rules are covered, and which rules never applied."
    )
    command.epilog = (
        "Exit status: 0 all files are merged, 1 a part belongs to another model and is ignored, "
        "2 a file cannot be read or written."
    )
    command.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a coverage file")
    table = """
--out FILE  write the merged coverage
"""
    add_table(command, table)
    add_shared(command, "json")


def run(options: argparse.Namespace) -> int:
    """Merge coverage files and print what they cover.

    Raises:
        CommandError: a file cannot be read or written, or is no coverage file.
    """
    from groupcheck.properties.coverage.covered import merged
    from groupcheck.reports.covered import as_json, summary

    together = merged((str(path), read_coverage(path)) for path in options.files)
    if options.out:
        write_coverage(options.out, together.covered)
    if options.json:
        print_json(as_json(together))
    else:
        sys.stdout.write(summary(together))
    return DIVERGES if together.refused else CONFORMS


def read_coverage(path: Path, *, optional: bool = False) -> Covered:
    """Read a coverage file; an optional one that does not exist is empty.

    Raises:
        CommandError: it cannot be read, or is no coverage file.
    """
    from groupcheck.properties.coverage.covered import MalformedCoverageError, read, read_or_empty

    with ending_with_message(MalformedCoverageError, action=f"read the coverage in {path}"):
        return read_or_empty(path) if optional else read(path)


def write_coverage(path: Path, covered: Covered, status: int = NO_VERDICT) -> None:
    """Write a coverage file.

    Raises:
        CommandError: it cannot be written; `status` is the exit status of the command.
    """
    from groupcheck.properties.coverage.covered import write

    with ending_with_message(action=f"write the coverage to {path}", status=status):
        write(path, covered)
