"""The commands, and the parser of the whole command line.

A command is a module with `HELP`, `add_options` and `run`. To add one, write the module and add it
to `COMMANDS`. Commands import what they need when they run, so `--help` imports no library.
"""

from __future__ import annotations

import argparse
from typing import Final, NoReturn, Protocol

from groupcheck import __version__
from groupcheck.cli import (
    bench,
    brokers,
    check,
    coverage,
    explore,
    graph,
    history,
    ingest,
    replay,
    report,
    serve,
    verify,
)
from groupcheck.cli.exit_status import STATUS, CommandError


class Command(Protocol):
    """What the module of a command contains."""

    @property
    def __name__(self) -> str: ...

    HELP: str

    def add_options(self, command: argparse.ArgumentParser, /) -> None:
        """Add the description and the options to the parser of the command."""

    def run(self, options: argparse.Namespace, /) -> int:
        """Run the command and return its exit status."""


# In the order of `groupcheck --help`. The name of a module is the name of its command.
COMMANDS: Final[tuple[Command, ...]] = (
    verify,
    brokers,
    replay,
    history,
    coverage,
    report,
    explore,
    graph,
    bench,
    serve,
    ingest,
    check,
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(message)


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line; `run` of a parsed command line runs the command."""
    made = _Parser(
        prog="groupcheck",
        description="Checks that a Kafka group coordinator behaves like Kafka's.",
        epilog=f"groupcheck COMMAND --help describes a command. {STATUS}",
    )
    made.add_argument("--version", action="version", version=f"groupcheck {__version__}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        command = commands.add_parser(module.__name__.rpartition(".")[2], help=module.HELP)
        module.add_options(command)
        command.set_defaults(run=module.run)
    return made
