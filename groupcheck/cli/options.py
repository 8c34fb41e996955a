"""Options that several commands have, and the texts that their help has in common."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from groupcheck.cli.exit_status import STATUS
from groupcheck.numeric_options import PROFILE, NumericOption, percentage, whole

PORTS: Final = """\
PORT is the coordinator under test:
  builtin                 groupcheck's own coordinator, of Kafka 2.7 or 4.1
  python:MODULE:FACTORY   a Python object that FACTORY() returns; the module is
                          in the current directory or installed
  exec:COMMAND            a program that follows docs/port-protocol.md on its
                          standard input and output
  kafka://HOST:PORT[?SETTING=NUMBER&topic=NAME&...]
                          a live broker; the run leaves many small groups, so
                          use a test broker; a SETTING overrides the value
                          that the broker reports; offsets are committed for
                          the topics "topic" and "other", or those named
  librdkafka-mock         the mock broker of librdkafka, in real time
  kafka:VERSION           Apache Kafka 0.10.2, 2.4 to 4.4, started for the run
                          and removed after it; this form and the next four
                          also take ?SETTING=NUMBER&...
  kfake                   the fake cluster of franz-go, in Go
  tansu                   Tansu, a broker in Rust
  mokapi                  Mokapi, a tool that mocks APIs, in Go
  serve[:VERSION]         groupcheck's own server
                          (groupcheck brokers lists what each of them needs)

All but the first three need the packages of groupcheck[wire].
"""


def add_table(
    command: argparse._ActionsContainer,
    table: str,
    **settings: tuple[Callable[[str], object], object],
) -> None:
    """Add the options of a table, for example "--out DIR    write the files to DIR".

    A line has an option and its help, two spaces or more apart; a line that begins with a space
    continues the help. An option without a value is a flag. NAME... means one or more values,
    NAME,... for an option that may be repeated. FILE, DIR and PATH are paths.

    Args:
        command: the parser of the command.
        table: the options.
        settings: by the name of an option, the function that reads a value, and the default.
    """
    for row in re.sub(r"\n +", " ", table.strip()).splitlines():
        usage, _, what = row.partition("  ")
        flag, _, metavar = usage.partition(" ")
        name, several, _ = metavar.partition("...")
        if not metavar:
            command.add_argument(flag, action="store_true", help=what.strip())
            continue
        name, repeated, _ = name.partition(",")
        usual = Path if name in {"FILE", "DIR", "PATH"} else str
        read, default = settings.get(flag[2:].replace("-", "_"), (usual, [] if repeated else None))
        more: dict[str, Any] = {"action": "append"} if repeated else {}
        if several and not repeated:
            more = {"nargs": "+"}
        command.add_argument(
            flag, metavar=name, type=read, default=default, help=what.strip(), **more
        )


# Options that several commands have, by name; how some are read, and their defaults.
SHARED: Final = {
    "profile": f"--profile VERSION  the Kafka version ({PROFILE})",
    "json": "--json  print the result as JSON instead of text",
    "fail_under": "--fail-under PERCENT  exit with status 3 if less of the supported transitions "
    "is covered",
    "save": "--save FILE  save the result to FILE, for groupcheck report",
    "master": "--master URL  the Spark master (local[*], in this process)",
    "conf": "--conf NAME=VALUE,...  a Spark setting, such as spark.driver.memory=4g",
    "time_zone": "--time-zone ZONE  time zone of log lines without one, such as Europe/Berlin "
    "(UTC)",
    "overwrite": "--overwrite  replace the output folder if groupcheck wrote it",
}
READ: Final[Mapping[str, tuple[Callable[[str], object], object]]] = {
    "profile": (str, PROFILE),
    "time_zone": (str, "UTC"),
    "fail_under": (percentage, None),
}


def add_shared(command: argparse.ArgumentParser, *names: str) -> None:
    """Add options of `SHARED`."""
    for name in names:
        settings = {name: READ[name]} if name in READ else {}
        add_table(command, SHARED[name], **settings)


def add_port_help(command: argparse.ArgumentParser, description: str, status: str = STATUS) -> None:
    """Describe a command that takes a PORT, with every form of PORT below its options."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = description, f"{PORTS}\n{status}"


def add_number(command: argparse.ArgumentParser, number: NumericOption) -> None:
    """Add a numeric option."""
    command.add_argument(
        number.flag, metavar="N", type=number.parse, default=number.default, help=number.help
    )


def add_members(command: argparse.ArgumentParser, most: int) -> None:
    """Add the number of members of a model instance."""
    table = f"--members N  members in the model instance, 1 to {most} (2)"
    add_table(command, table, members=(whole(1, most), 2))


def add_instances(
    command: argparse._ActionsContainer, usual: tuple[str, ...], what: str = ""
) -> None:
    """Add the choice of model instances; `usual` are those without the option."""
    table = f"--instance NAME...  only these model instances ({' '.join(usual) or what})"
    add_table(command, table, instance=(str, usual))


def add_verbose(command: argparse.ArgumentParser, what: str) -> None:
    """Add -v."""
    command.add_argument("-v", "--verbose", action="store_true", help=f"print more: {what}")
