"""`groupcheck ingest`: read recordings and logs into tables, in this process or on Spark."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import CONFORMS
from groupcheck.cli.options import add_shared
from groupcheck.cli.output import print_json
from groupcheck.cli.spark import session_unless_small

if TYPE_CHECKING:
    from groupcheck.pipeline.ingest import Ingested

HELP = "read recordings and logs into tables"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck ingest`."""
    command.description = (
        "Reads recordings, broker logs and the offsets topic, plain, compressed or Parquet, into a "
        "table of events, ordered by group; lines that cannot be read go to a table of their own. "
        "Sources of up to 20 MB (compressed, 2 MB) are read in this process, others on Spark, as "
        "with --master and --conf. "
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
    done = _ingested(options)
    from groupcheck.reports.pipeline import ingested

    counts, reasons = done.counts._asdict(), done.reasons
    if options.json:
        result = {"groups": done.groups, "out": options.out, "reasons": dict(reasons)}
        print_json(counts | result)
    else:
        sys.stdout.write(ingested(counts, done.groups, reasons, options.out))
    return CONFORMS


def _ingested(options: argparse.Namespace) -> Ingested:
    with session_unless_small(options) as spark:
        from groupcheck.pipeline.ingest import Request, in_process, ingest

        asked = Request(options.sources, options.out, options.overwrite, options.time_zone)
        if spark is None:
            return ingest(asked, in_process)
        from groupcheck.pipeline.ingest_on_spark import on_spark

        return ingest(asked, partial(on_spark, spark))
