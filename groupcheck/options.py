"""The options of the command line, and their help; what the commands do is not here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final, NoReturn

from groupcheck import __version__
from groupcheck.commands import bench, brokers, coverage, history, serve, verify
from groupcheck.exploring import explore
from groupcheck.numbers import NUMBERS, PROFILE, PROFILE_HELP, Number, memory, whole
from groupcheck.pipeline_options import add_check, add_engine, add_ingest
from groupcheck.replaying import replay
from groupcheck.reporting import graph, report
from groupcheck.saving import add_save
from groupcheck.status import STATUS, ImpossibleError
from groupcheck.telling import add_verbose


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
    _add_brokers(commands)
    _add_replay(commands)
    _add_history(commands)
    _add_coverage(commands)
    _add_report(commands)
    _add_explore(commands)
    _add_graph(commands)
    _add_bench(commands)
    _add_serve(commands)
    add_ingest(commands.add_parser("ingest", help="take in traces, on Spark"))
    add_check(commands.add_parser("check", help="judge what groups did, on Spark"))
    return made


# What a report can be made into, by the names of the options.
FACES: Final = {
    "json": "write the result, of several runs as one, that this command reads again",
    "junit": "write JUnit XML, for Jenkins, GitLab and others",
    "html": "write one page of HTML that needs no network: graph, edges, findings",
    "markdown": "write Markdown, such as GITHUB_STEP_SUMMARY takes",
    "badge": "write a badge, as SVG: how many of the labelled edges were shown",
}

PORTS = """\
PORT is the coordinator under test:
  builtin                 the one of groupcheck itself, of Kafka 2.7 or 4.1
  python:MODULE:FACTORY   a Python object that FACTORY() makes; the module may
                          be in the current directory, or installed
  exec:COMMAND            a program that speaks docs/port-protocol.md on its
                          standard input and output
  kafka://HOST:PORT[?SETTING=NUMBER&...]
                          a broker, in real time; many small groups are left
                          there, so let it be one that is for tests; what is
                          said of a setting goes before what the broker tells
  librdkafka-mock         the mock broker inside librdkafka, in real time
  kafka:VERSION           Apache Kafka 4.1, 2.7 or 0.10.2, started for the run
                          and gone with it; so are the next two, and all three
                          take ?SETTING=NUMBER&... as well
  kfake                   the fake cluster of franz-go, in Go
  serve[:VERSION]         groupcheck's own server
                          (groupcheck brokers says what each of them needs)

All but the first three need the packages of groupcheck[wire].
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
    command.add_argument("--profile", metavar="VERSION", help=PROFILE_HELP)
    for number in NUMBERS.values():
        _add_number(command, number)
    _add_long_run(command)
    command.add_argument(
        "--every-space",
        action="store_true",
        help="walk the spaces of all that a version has, too (virtual time only; minutes)",
    )
    command.add_argument(
        "--pairs",
        action="store_true",
        help="try every pair of adjacent edges, too (virtual time only; minutes)",
    )
    command.add_argument(
        "--report",
        metavar="DIR",
        type=Path,
        help="write the result and each finding there, in the place of an earlier report",
    )
    command.add_argument(
        "--coverage",
        metavar="FILE",
        type=Path,
        help="add to that file what was shown (groupcheck coverage)",
    )
    command.add_argument(
        "--code",
        metavar="PATH",
        type=Path,
        action="append",
        help="tell which lines of that file or folder run under which labelled edges (builtin and "
        "python: only; may be given several times)",
    )
    command.add_argument(
        "--json", action="store_true", help="print the result as JSON, not as text"
    )
    add_verbose(command, "settings, time, each space, the rules")
    command.set_defaults(command=verify)


def _add_long_run(command: argparse.ArgumentParser) -> None:
    """A long run on a real clock (docs/long-runs.md)."""
    command.add_argument(
        "--sequences",
        metavar="N",
        type=whole(1, 10**9),
        default=0,
        help="on a real clock, a long run of so many (docs/long-runs.md)",
    )
    command.add_argument(
        "--side-by-side",
        metavar="N",
        type=whole(1, 1_000),
        default=100,
        help="so many of them at once, each in a group of its own (100)",
    )
    command.add_argument(
        "--resume",
        metavar="FILE",
        type=Path,
        help="keep there what a long run has done, and go on from it",
    )


def _add_brokers(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "brokers",
        help="list the brokers that can be started by name, and which can run here",
        description="Lists the brokers that verify and replay start when they are named as PORT, "
        "what each needs, and whether it can run on this machine.",
    )
    command.set_defaults(command=brokers)


def _add_replay(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "replay",
        help="do the sequence of a finding again, or judge a recording",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Does the sequence of a finding on a port once more, and judges the answers.
Without a PORT it judges those of a recording (serve --record), group by group.
""",
        epilog=f"{PORTS}\n{STATUS}",
    )
    command.add_argument(
        "trace",
        metavar="FILE",
        type=Path,
        help="finding_*.jsonl of a report (verify --report), or a recording",
    )
    command.add_argument(
        "port", metavar="PORT", nargs="?", help="the coordinator, in a form given below"
    )
    add_save(command)
    add_verbose(command, "each step, or each group of a recording")
    command.set_defaults(command=replay)


def _add_history(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "history",
        help="judge what clients noted of requests that overlap",
        description="Looks, group by group, for an order of the requests in a history that is "
        "lawful for Kafka: each takes effect at some moment between its start and its end. "
        "docs/histories.md says how a history is written.",
        epilog="Exit status: 0 each group has one, 1 a group has none, 2 nothing can be said.",
    )
    command.add_argument("file", metavar="FILE", type=Path, help="the history, as JSON Lines")
    # What was noted of a coordinator in virtual time may be held to it exactly.
    for number in (NUMBERS["late_ms"]._replace(least=0), NUMBERS["grace_ms"]):
        _add_number(command, number)
    command.add_argument(
        "--max-points",
        metavar="N",
        type=whole(1, 10**9),
        default=200_000,
        help="how far to search, at some 2 kB of memory and 0.3 ms each (200000)",
    )
    command.set_defaults(command=history)


def _add_number(command: argparse.ArgumentParser, number: Number) -> None:
    command.add_argument(
        number.flag, metavar="N", type=number.parse, default=number.default, help=number.help
    )


def _add_coverage(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "coverage",
        help="put together what many runs have shown of the model",
        description="Puts coverage files together (verify --coverage), of other runs and other "
        "machines, and says which labelled edges and rules were shown, and which rules never ran.",
        epilog="Exit status: 0 all is put together, 1 some of it is of another model and was "
        "refused, 2 it could not be.",
    )
    command.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a coverage file")
    command.add_argument("--out", metavar="FILE", type=Path, help="write all of them there, as one")
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.set_defaults(command=coverage)


def _add_report(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "report",
        help="make a report of saved results, and compare them with earlier ones",
        description="Puts saved results together (verify --report; replay, check and explore "
        "--save), and tells them in any form; nothing is run again. A FILE that is written may "
        "be -, which is standard output in the place of the summary.",
        epilog="Exit status, with a baseline: 0 nothing is new, 1 a finding is, 2 the run ended "
        "early or showed nothing. Without one: 0 conforms, 1 diverges, 2 nothing can be said.",
    )
    command.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="a result.json, or the directory of a report",
    )
    command.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="an earlier result: tell what is new, known and gone since, and fail on what is new",
    )
    command.add_argument(
        "--fail-on-lost",
        action="store_true",
        help="fail, too, if labelled edges are not shown that the baseline shows",
    )
    for name, what in FACES.items():
        command.add_argument(f"--{name}", metavar="FILE", type=Path, help=what)
    command.add_argument(
        "--github", action="store_true", help="print annotations for GitHub Actions, too"
    )
    command.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="write all that verify --report writes there, in the place of an earlier report",
    )
    add_verbose(command, "settings, time, each space, the rules")
    command.set_defaults(command=report)


def _add_explore(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "explore",
        help="explore the model itself",
        description="Explores the model breadth first, counts what TLC counts, and says what its "
        "state graph shows: what can be reached and how, and what makes a group change its state.",
    )
    command.add_argument("--profile", default=PROFILE, help=f"the Kafka version ({PROFILE})")
    command.add_argument("--members", type=whole(1, 9), default=2, help="1 to 9 (2)")
    command.add_argument(
        "--generations",
        metavar="N",
        type=whole(1, 99),
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
        help="one space instead, of these features together (docs/explore.md)",
    )
    command.add_argument(
        "--no-symmetry",
        action="store_true",
        help="members keep their names, as they do for TLC: states that differ in them count apart",
    )
    command.add_argument(
        "--max-states",
        metavar="N",
        type=whole(1, 10**9),
        help="give up a space with more states (there is no limit)",
    )
    command.add_argument(
        "--max-memory",
        metavar="SIZE",
        type=memory,
        help="give up when this process needs more than so much, such as 512m or 4g; Spark has "
        "settings of its own (8 tenths of what the machine or container has left)",
    )
    command.add_argument(
        "--witness", metavar="RULE", help="show a shortest path to that rule of the model"
    )
    command.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="write the graphs (GraphML, DOT, JSON), tests that show every edge, and the path to "
        "RULE (ITF, and a trace to be replayed), there; takes five times the memory",
    )
    longest = "steps in the longest of the tests that --out writes"
    _add_number(command, NUMBERS["steps"]._replace(says=longest))
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    add_engine(command)
    add_save(command)
    add_verbose(command, "settings, rules, laws, digests")
    command.set_defaults(command=explore)


def _add_graph(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "graph",
        help="draw the states of a group, and what leads from one to another",
        description="Explores the model and draws its state graph: the states of a group, the "
        "arrows between them, and the rules that are the reason for each.",
    )
    command.add_argument(
        "file", metavar="FILE", type=Path, help="what to write: .svg, .png, .dot or .mmd (Mermaid)"
    )
    command.add_argument("--profile", default=PROFILE, help=f"the Kafka version ({PROFILE})")
    command.add_argument("--members", metavar="N", type=whole(1, 3), default=2, help="1 to 3 (2)")
    command.add_argument(
        "--space",
        metavar="NAME",
        nargs="+",
        default=("membership", "metadata", "storing"),
        help="of these spaces (membership metadata storing)",
    )
    command.set_defaults(command=graph)


def _add_bench(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "bench",
        help="measure the explorer beside TLC, in a clone of the repository",
        description="Runs the explorer and TLC on the same instances, one after the other, and "
        "prints how many states a second each finds, and the ratio.",
        epilog="Exit status: 0 both found the same, 1 they did not, 2 they could not be run.",
    )
    command.add_argument("--profile", default=PROFILE, help=f"the Kafka version ({PROFILE})")
    command.add_argument(
        "--members",
        metavar="N",
        type=whole(1, 3),
        nargs="+",
        default=(1, 2, 3),
        help="instances of so many members (1 2 3)",
    )
    command.add_argument(
        "--generations",
        metavar="N",
        type=whole(1, 99),
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


def _add_serve(commands: argparse._SubParsersAction[_Parser]) -> None:
    command = commands.add_parser(
        "serve",
        help="serve a coordinator to Kafka clients",
        description="Serves the built-in coordinator, with small topics in memory, to whatever "
        "speaks Kafka's protocol, until SIGINT or SIGTERM. It asks nobody who he is.",
        epilog="Exit status: 0 it has been stopped, 2 it could not be served.",
    )
    command.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_address,
        default=("127.0.0.1", 9092),
        help="where to listen; port 0 takes a free one (127.0.0.1:9092)",
    )
    command.add_argument(
        "--topic",
        metavar="NAME:PARTITIONS",
        type=_topic,
        action="append",
        default=[],
        help="a topic that is there from the start; others are made when they are asked for",
    )
    command.add_argument("--profile", default=PROFILE, help=f"the Kafka version ({PROFILE})")
    command.add_argument(
        "--config",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="a broker setting, such as group.initial.rebalance.delay.ms=0",
    )
    command.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help="keep groups and offsets there, safe before they are acknowledged (in memory)",
    )
    command.add_argument(
        "--record",
        metavar="FILE",
        type=Path,
        help="write what is asked of every group, and what is answered, to the end of FILE, to be "
        "judged by groupcheck replay",
    )
    command.set_defaults(command=serve)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port[:6]) < 2**16):
        msg = f"{text!r} is not HOST:PORT (an IPv6 address in brackets)"
        raise argparse.ArgumentTypeError(msg)
    return host, int(port)


def _topic(text: str) -> tuple[str, int]:
    name, _, partitions = text.rpartition(":")
    if not (name and partitions.isascii() and partitions.isdecimal() and len(partitions) < 10):
        msg = f"{text!r} is not NAME:PARTITIONS"
        raise argparse.ArgumentTypeError(msg)
    return name, int(partitions)
