"""The options of the command line, and their help; what the commands do is not here."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from groupcheck import __version__
from groupcheck.commands import bench, explore, replay, verify
from groupcheck.status import STATUS, ImpossibleError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ImpossibleError(message)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line; `command` of what it parses is the function to call."""
    made = _Parser(
        prog="groupcheck",
        description="Tells whether a Kafka consumer-group coordinator behaves as Kafka's does.",
        epilog=f"groupcheck COMMAND --help says more. {STATUS}",
    )
    made.add_argument("--version", action="version", version=f"groupcheck {__version__}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    _add_verify(commands)
    _add_replay(commands)
    _add_explore(commands)
    _add_bench(commands)
    return made


PORTS = """\
PORT is the coordinator under test:
  builtin                 the one that comes with groupcheck, of Kafka 2.7
  python:MODULE:FACTORY   a Python object that FACTORY() makes; the module may
                          be in the current directory, or installed
  exec:COMMAND            a program that speaks docs/port-protocol.md on its
                          standard input and output
  kafka://HOST:PORT[?SETTING=NUMBER&...]
                          a broker, in real time; many small groups are left
                          there, so let it be one that is for tests; what is
                          said of a setting goes before what the broker tells
  librdkafka-mock         the mock broker inside librdkafka, in real time

The last two need the packages of groupcheck[wire].
"""


def _add_verify(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "verify",
        help="run a coordinator against the model",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Explores a model of Kafka's coordinator, runs the port against it, and says how
much of the model's behaviour the port showed, or gives the shortest sequences
of requests that it answers as Kafka never would.
""",
        epilog=f"{PORTS}\n{STATUS}",
    )
    command.add_argument("port", metavar="PORT", help="the coordinator, in a form given below")
    command.add_argument(
        "--profile",
        metavar="VERSION",
        default="2.7",
        help="the Kafka to judge by: 0.10.0, 0.10.2, 2.7 or 4.1 (2.7)",
    )
    command.add_argument(
        "--members",
        metavar="N",
        type=_number(1, 3),
        default=2,
        help="members in the state graph that is explored, 1 to 3 (2)",
    )
    command.add_argument(
        "--examples",
        metavar="N",
        type=_number(0, 10**9),
        default=100,
        help="random sequences to try, beyond the graph (100)",
    )
    command.add_argument(
        "--steps",
        metavar="N",
        type=_number(1, 10_000),
        default=60,
        help="steps in the longest sequence (60)",
    )
    command.add_argument(
        "--seed",
        metavar="N",
        type=_number(0, 2**63 - 1),
        default=0,
        help="what random choices are drawn from: the same seed, the same run (0)",
    )
    command.add_argument(
        "--report",
        metavar="DIR",
        type=Path,
        help="write the result and each finding there, in the place of an earlier report",
    )
    command.add_argument(
        "--json", action="store_true", help="print the result as JSON, not as text"
    )
    command.set_defaults(command=verify)


def _add_replay(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "replay",
        help="do the sequence of a finding again",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Does the sequence of a finding on a port once more, and judges the answers.",
        epilog=f"{PORTS}\n{STATUS}",
    )
    command.add_argument(
        "trace", metavar="FILE", type=Path, help="finding_*.jsonl of a report (verify --report)"
    )
    command.add_argument("port", metavar="PORT", help="the coordinator, in a form given below")
    command.set_defaults(command=replay)


def _add_explore(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "explore",
        help="explore the model itself",
        description="Explores the model breadth first, counts what TLC counts, and says what its "
        "state graph shows: what can be reached and how, and what makes a group change its state.",
    )
    command.add_argument("--profile", default="2.7", help="the Kafka version (2.7)")
    command.add_argument("--members", type=_number(1, 9), default=2, help="1 to 9 (2)")
    command.add_argument(
        "--generations",
        metavar="N",
        type=_number(1, 99),
        default=1,
        help="tell so many generations apart, all after them being like the last (1)",
    )
    part = command.add_mutually_exclusive_group()
    part.add_argument(
        "--space", metavar="NAME", nargs="+", default=(), help="only these spaces (all of them)"
    )
    part.add_argument(
        "--features",
        metavar="NAME",
        nargs="+",
        default=(),
        help="one space instead, of these features together (README)",
    )
    command.add_argument(
        "--no-symmetry",
        action="store_true",
        help="members keep their names, as they do for TLC: states that differ in them count apart",
    )
    command.add_argument(
        "--max-states",
        metavar="N",
        type=_number(1, 10**9),
        default=100_000,
        help="give up a space with more states, each of some 20 kB of memory (100000)",
    )
    command.add_argument(
        "--witness", metavar="RULE", help="show a shortest path to that rule of the model"
    )
    command.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="write the graphs (GraphML, DOT, JSON), and the path to RULE (ITF, and a trace to be "
        "replayed), there; takes five times the memory",
    )
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.set_defaults(command=explore)


def _add_bench(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "bench",
        help="measure the explorer beside TLC, in a clone of the repository",
        description="Runs the explorer and TLC on the same instances, one after the other, and "
        "prints how many states a second each finds, and the ratio.",
        epilog="Exit status: 0 both found the same, 1 they did not, 2 they could not be run.",
    )
    command.add_argument("--profile", default="2.7", help="the Kafka version (2.7)")
    command.add_argument(
        "--members",
        metavar="N",
        type=_number(1, 3),
        nargs="+",
        default=(1, 2, 3),
        help="instances of so many members (1 2 3)",
    )
    command.add_argument(
        "--generations",
        metavar="N",
        type=_number(1, 99),
        nargs="+",
        default=(1,),
        help="so many generations told apart (1)",
    )
    command.add_argument(
        "--space",
        metavar="NAME",
        nargs="+",
        default=("membership", "metadata", "storing", "order"),
        help="these spaces (membership metadata storing order)",
    )
    command.set_defaults(command=bench)


def _number(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        msg = f"{text!r} is not a whole number from {least} to {most}"
        raise argparse.ArgumentTypeError(msg)

    return number
