"""The commands, and the parser of the whole command line.

To add a command, write a module with `HELP`, `add_options(parser)` and `run(options)`, where `run`
returns the exit status, and add its name to `COMMANDS`. A command imports what it needs when it
runs, so `--help` imports no library.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final, NoReturn

from groupcheck import __version__
from groupcheck.cli.exit_status import STATUS, CommandError

# In the order of `groupcheck --help`.
COMMANDS: Final = (
    "smoke",
    "verify",
    "brokers",
    "replay",
    "history",
    "coverage",
    "report",
    "explore",
    "graph",
    "rules",
    "bench",
    "serve",
    "ingest",
    "check",
    "assignors",
    "clients",
    "system",
    "cluster",
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
    for name in COMMANDS:
        module = import_module(f"groupcheck.cli.{name}")
        command = commands.add_parser(name, help=module.HELP)
        module.add_options(command)
        command.set_defaults(run=module.run)
    return made
