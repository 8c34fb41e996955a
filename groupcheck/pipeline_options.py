"""The options of the commands that run on Spark."""

from __future__ import annotations

import argparse
from pathlib import Path

from groupcheck.numbers import whole
from groupcheck.pipeline_commands import check, ingest
from groupcheck.saving import add_save
from groupcheck.telling import add_verbose


def add_ingest(command: argparse.ArgumentParser) -> None:
    """The options of `groupcheck ingest`."""
    command.description = (
        "Takes traces, brokers' logs and the offsets topic in, plain, compressed or Parquet, as a "
        "table of events with the events of a group together; what cannot be read goes to a table "
        "of its own. docs/pipeline.md says what is in them."
    )
    command.epilog = "Exit status: 0 it is taken in, 2 it could not be."
    _add_sources(
        command,
        "a trace, a broker's log, a folder of them, or kafka://HOST:PORT, the live offsets topic",
    )
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
    _add_sources(
        command,
        "a folder that ingest has written; traces, logs and folders of them; or kafka://HOST:PORT",
    )
    command.add_argument(
        "--profile",
        metavar="VERSION",
        help="the Kafka to judge by, whatever the sources say: 0.10.0, 0.10.2, 2.7 or 4.1",
    )
    command.add_argument("--report", metavar="DIR", help="write the tables to that folder")
    _add_follow(command)
    command.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write a page: verdicts, findings, and the rebalances of the groups that have most",
    )
    _add_common(command)
    add_save(command)
    add_verbose(command, "every finding in full, of the first 20")
    command.set_defaults(command=check)


def add_engine(command: argparse.ArgumentParser) -> None:
    """The options of `groupcheck explore` by which it runs on Spark."""
    command.add_argument(
        "--engine",
        choices=["python", "spark"],
        default="python",
        help="what explores: this process, or Spark, which holds no space in memory, and "
        "looks for no components (python)",
    )
    command.add_argument(
        "--work",
        metavar="DIR",
        help="where Spark keeps the layers; a run that was ended goes on from there (a folder that "
        "is removed)",
    )
    _add_session(command)


def _add_follow(command: argparse.ArgumentParser) -> None:
    """How what keeps arriving is followed."""
    command.add_argument(
        "--follow",
        action="store_true",
        help="go on, with the files that come to the folder SOURCE or the records of the topic, "
        "until Ctrl-C; the tables of --report grow by a part for each batch",
    )
    command.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="with --follow: from where it goes on when it is begun anew",
    )
    command.add_argument(
        "--idle",
        metavar="SECONDS",
        type=whole(0, 10**9),
        default=3_600,
        help="with --follow: judge a group as far as it has come when nothing of it has come for "
        "so long (3600)",
    )
    command.add_argument(
        "--every",
        metavar="SECONDS",
        type=whole(0, 10**6),
        default=2,
        help="with --follow: how often to look at what has come; 0: once, and end (2)",
    )


def _add_sources(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("sources", metavar="SOURCE", nargs="+", help=what)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--time-zone",
        metavar="ZONE",
        default="UTC",
        help="of times in brokers' logs that do not say theirs, such as Europe/Berlin (UTC)",
    )
    command.add_argument(
        "--overwrite", action="store_true", help="write a folder of groupcheck's anew"
    )
    _add_session(command)
    command.add_argument(
        "--json", action="store_true", help="print the result as JSON, not as text"
    )


def _add_session(command: argparse.ArgumentParser) -> None:
    """How Spark is set."""
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
