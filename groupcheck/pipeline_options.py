"""The options of the commands that run on Spark."""

from __future__ import annotations

import argparse
from pathlib import Path

from groupcheck.pipeline_commands import check, ingest


def add_ingest(command: argparse.ArgumentParser) -> None:
    """The options of `groupcheck ingest`."""
    command.description = (
        "Takes traces in, plain, compressed or Parquet, and segments of the offsets topic, as a "
        "table of events with the events of a group together; what cannot be read goes to a table "
        "of its own. docs/pipeline.md says what is in them."
    )
    command.epilog = "Exit status: 0 it is taken in, 2 it could not be."
    _add_sources(command, "a trace, or a folder of them")
    command.add_argument(
        "--out", metavar="DIR", required=True, help="the folder to write the tables to"
    )
    _add_common(command)
    command.set_defaults(command=ingest)


def add_check(command: argparse.ArgumentParser) -> None:
    """The options of `groupcheck check`."""
    command.description = (
        "Holds what each group did to the model: accepted, rejected, or undecided with the reason. "
        "docs/pipeline.md says what is in the tables that --report writes."
    )
    command.epilog = "Exit status: 0 no group is rejected, 1 one is, 2 nothing can be said."
    _add_sources(command, "a folder that ingest has written, or traces and folders of them")
    command.add_argument(
        "--profile",
        metavar="VERSION",
        help="the Kafka to judge by, whatever the sources say: 0.10.0, 0.10.2, 2.7 or 4.1",
    )
    command.add_argument("--report", metavar="DIR", help="write the tables to that folder")
    command.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write a page: verdicts, findings, and the rebalances of the groups that have most",
    )
    _add_common(command)
    command.set_defaults(command=check)


def _add_sources(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("sources", metavar="SOURCE", nargs="+", help=what)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--overwrite", action="store_true", help="write a folder of groupcheck's anew"
    )
    command.add_argument(
        "--master", metavar="URL", help="where Spark runs (local[*], in this process)"
    )
    command.add_argument(
        "--conf",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of Spark's, such as spark.driver.memory=4g",
    )
    command.add_argument(
        "--json", action="store_true", help="print the result as JSON, not as text"
    )
