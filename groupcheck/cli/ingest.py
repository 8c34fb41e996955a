"""`groupcheck ingest`: read recordings and logs into tables, on Spark."""

from __future__ import annotations

import argparse
import sys

from groupcheck.cli.exit_status import CONFORMS
from groupcheck.cli.options import add_shared
from groupcheck.cli.output import print_json
from groupcheck.cli.spark import spark_session

HELP = "read recordings and logs into tables, on Spark"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck ingest`."""
    command.description = (
        "Reads recordings, broker logs and the offsets topic, plain, compressed or Parquet, into a "
        "table of events, ordered by group; lines that cannot be read go to a table of their own. "
        "docs/tables.md describes the tables."
    )
    command.epilog = "Exit status: 0 the sources are read, 2 they cannot be read."
    command.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        help="a recording, a broker log, a folder of them, or kafka://HOST:PORT, the live offsets "
        "topic",
    )
    add_shared(command, "time_zone", "overwrite")
    command.add_argument("--out", required=True, metavar="DIR", help="write the tables to DIR")
    add_shared(command, "master", "conf", "json")


def run(options: argparse.Namespace) -> int:
    """Read sources into tables.

    Raises:
        CommandError: the job fails.
    """
    with spark_session(options) as spark:
        from groupcheck.pipeline import ingest as job

        done = job.ingest(
            spark,
            options.sources,
            options.out,
            overwrite=options.overwrite,
            time_zone=options.time_zone,
        )
    from groupcheck.reports.pipeline import ingested

    counts, reasons = done.counts._asdict(), done.reasons
    if options.json:
        result = {"groups": done.groups, "out": options.out, "reasons": dict(reasons)}
        print_json(counts | result)
    else:
        sys.stdout.write(ingested(counts, done.groups, reasons, options.out))
    return CONFORMS
