"""`groupcheck brokers`: list the brokers that groupcheck can start."""

from __future__ import annotations

import argparse
import sys

from groupcheck.cli.exit_status import CONFORMS

HELP = "list the brokers that groupcheck can start, and whether they can run here"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description; there are no options."""
    command.description = (
        "Lists the brokers that verify and replay can start, what each needs, and whether it can "
        "run on this machine."
    )


def run(_options: argparse.Namespace) -> int:
    """List the brokers that can be started by name, and which of them can run here."""
    from groupcheck.properties.brokers.catalogue import listing
    from groupcheck.reports.formatting import bounded_lines

    brokers = listing()
    wide = max(len(broker.name) for broker in brokers)
    lines = []
    for broker in brokers:
        here = "can run here" if broker.missing is None else f"cannot run here: {broker.missing}"
        lines += [
            f"{broker.name:{wide}}  {broker.title}, checked against {broker.profile}: {here}",
            f"{'':{wide}}  needs {broker.needs}",
        ]
    sys.stdout.write(bounded_lines(lines))
    return CONFORMS
