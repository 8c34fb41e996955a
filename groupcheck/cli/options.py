"""Options that several commands have, and the texts that their help has in common."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from groupcheck.cli.exit_status import STATUS
from groupcheck.numbers import PROFILE, Number, whole

PORTS: Final = f"""\
PORT is the coordinator under test:
  builtin                 groupcheck's own coordinator, of Kafka 2.7 or 4.1
  python:MODULE:FACTORY   a Python object that FACTORY() returns; the module is
                          in the current directory or installed
  exec:COMMAND            a program that speaks docs/port-protocol.md on its
                          standard input and output
  kafka://HOST:PORT[?SETTING=NUMBER&...]
                          a live broker; the run leaves many small groups, so
                          use a test broker; a SETTING overrides the value
                          that the broker reports
  librdkafka-mock         the mock broker of librdkafka, in real time
  kafka:VERSION           Apache Kafka 4.1, 2.7 or 0.10.2, started for the run
                          and removed after it; this form and the next two
                          also take ?SETTING=NUMBER&...
  kfake                   the fake cluster of franz-go, in Go
  serve[:VERSION]         groupcheck's own server
                          (groupcheck brokers lists what each of them needs)

All but the first three need the packages of groupcheck[wire].

{STATUS}"""


def add_port_help(command: argparse.ArgumentParser, description: str) -> None:
    """Describe a command that takes a PORT, with every form of PORT below its options."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = description, PORTS


def add_number(command: argparse.ArgumentParser, number: Number) -> None:
    """Add a numeric option."""
    command.add_argument(
        number.flag, metavar="N", type=number.parse, default=number.default, help=number.help
    )


def add_profile(command: argparse.ArgumentParser) -> None:
    """Add the Kafka version of commands that need no port."""
    command.add_argument("--profile", default=PROFILE, help=f"the Kafka version ({PROFILE})")


def add_members(command: argparse.ArgumentParser, most: int) -> None:
    """Add the number of members of a model instance."""
    command.add_argument(
        "--members",
        metavar="N",
        type=whole(1, most),
        default=2,
        help=f"members in the model instance, 1 to {most} (2)",
    )


def add_instances(
    command: argparse._ActionsContainer, usual: tuple[str, ...], what: str = ""
) -> None:
    """Add the choice of model instances; `usual` are those without the option."""
    command.add_argument(
        "--instance",
        metavar="NAME",
        nargs="+",
        default=usual,
        help=f"only these model instances ({' '.join(usual) or what})",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Add --json."""
    command.add_argument(
        "--json", action="store_true", help="print the result as JSON instead of text"
    )


def add_save(command: argparse.ArgumentParser) -> None:
    """Add --save."""
    command.add_argument(
        "--save", metavar="FILE", type=Path, help="save the result to FILE, for groupcheck report"
    )


def add_verbose(command: argparse.ArgumentParser, what: str) -> None:
    """Add -v."""
    command.add_argument("-v", "--verbose", action="store_true", help=f"print more: {what}")


def add_spark(command: argparse.ArgumentParser) -> None:
    """Add the settings of Spark."""
    command.add_argument(
        "--master", metavar="URL", help="the Spark master (local[*], in this process)"
    )
    command.add_argument(
        "--conf",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a Spark setting, such as spark.driver.memory=4g",
    )


def add_sources(command: argparse.ArgumentParser, what: str) -> None:
    """Add the sources of `ingest` and `check`, and how their times are read."""
    command.add_argument("sources", metavar="SOURCE", nargs="+", help=what)
    command.add_argument(
        "--time-zone",
        metavar="ZONE",
        default="UTC",
        help="time zone of log lines without one, such as Europe/Berlin (UTC)",
    )
    command.add_argument(
        "--overwrite",
        action="store_true",
        help="replace the output folder if groupcheck wrote it",
    )
