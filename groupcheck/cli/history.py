"""`groupcheck history`: check that a history of overlapping requests is linearizable."""

from __future__ import annotations

import argparse
from pathlib import Path

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, CommandError, ending_with_message
from groupcheck.cli.options import add_number, add_table
from groupcheck.cli.output import print_text
from groupcheck.numeric_options import NUMBERS, whole

HELP = "check that a history of overlapping requests is linearizable"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck history`."""
    command.description = (
        "Searches, for each group of a history, for an order of its requests that Kafka allows: "
        "each request takes effect at a moment between its start and its end. docs/histories.md "
        "describes the file format."
    )
    command.epilog = (
        "Exit status: 0 each group has an allowed order, 1 a group has none, 2 there is no verdict."
    )
    command.add_argument("file", metavar="FILE", type=Path, help="the history, as JSON Lines")
    # A history recorded in virtual time may be checked exactly, without tolerance.
    for number in (NUMBERS["late_ms"]._replace(least=0), NUMBERS["grace_ms"]._replace(usual="")):
        add_number(command, number)
    table = """
--max-points N  stop the search after N points, at about 2 kB and 0.3 ms each (200000)
"""
    add_table(command, table, max_points=(whole(1, 10**9), 200_000))


def run(options: argparse.Namespace) -> int:
    """Check a history.

    Raises:
        CommandError: the file cannot be read, or the search reached its limit.
    """
    from groupcheck.model.bodies import shown
    from groupcheck.properties.histories.history_checker import check_groups
    from groupcheck.properties.histories.history_file import load
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.sequence import MalformedTraceError
    from groupcheck.properties.tolerances import Tolerances
    from groupcheck.reports.history import history_text

    tolerances = Tolerances(late_ms=options.late_ms, grace_ms=options.grace_ms)
    with (
        ending_with_message(MalformedTraceError, action=f"read {options.file}"),
        interruptible(),
    ):
        history = load(options.file)
        checked = check_groups(history, tolerances, options.max_points)
    if checked.rejected is None and checked.undecided is not None:
        msg = (
            f"no verdict on group {shown(checked.undecided)} after {checked.points} points of the "
            "search; --max-points allows more"
        )
        raise CommandError(msg)
    print_text(history_text(checked, None if history.exact else tolerances))
    return DIVERGES if checked.rejected else CONFORMS
