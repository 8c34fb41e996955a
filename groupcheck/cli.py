"""The command line: options in, one clear line or a report out, an exit status.

0 the port conforms, 1 it diverges, 2 the run itself was impossible.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from groupcheck import __version__

if TYPE_CHECKING:
    from groupcheck.properties.result import Result

CONFORMS, DIVERGES, IMPOSSIBLE = 0, 1, 2

STATUS = "Exit status: 0 conforms, 1 diverges, 2 the run itself was impossible."


class _Impossible(Exception):  # noqa: N818 - it ends the run, with its message as the one line
    """The run is impossible; the message says why, and what was told until then stands."""

    def __init__(self, why: str, status: int = IMPOSSIBLE) -> None:
        super().__init__(why)
        self.status = status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Impossible(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        status, complaint = _run(arguments)
    if told.getvalue():
        status = _print(told.getvalue(), status)
    if complaint:
        _say(complaint)
    return status


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """The exit status, and the one line to be said if something was impossible."""
    try:
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options), ""
    except _Impossible as impossible:
        return impossible.status, str(impossible)
    except KeyboardInterrupt:
        return IMPOSSIBLE, "interrupted, before anything was found"
    except SystemExit:  # all that was asked for was --help or --version
        return CONFORMS, ""


def _print(text: str, status: int) -> int:
    """Print what a command told; its status, or that nothing can be said for want of output."""
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")  # noqa: TRY301 - there is one way to say it
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        _give_up_output()
        if not isinstance(error, BrokenPipeError):  # a reader that has gone is in its right
            _say(f"cannot write to standard output: {error.strerror}")
        return DIVERGES if status == DIVERGES else IMPOSSIBLE
    return status


def _give_up_output() -> None:
    """What could not be written is not tried again when the interpreter exits."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(line: str) -> None:
    from groupcheck.reports.words import bounded

    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # the exit status says it too
            sys.stderr.write(f"groupcheck: {bounded(line)}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="groupcheck",
        description="Tells whether a Kafka consumer-group coordinator behaves as Kafka's does.",
        epilog=f"groupcheck COMMAND --help says more. {STATUS}",
    )
    parser.add_argument("--version", action="version", version=f"groupcheck {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_verify(commands)
    _add_replay(commands)
    _add_explore(commands)
    return parser


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
    verify = commands.add_parser(
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
    verify.add_argument("port", metavar="PORT", help="the coordinator, in a form given below")
    verify.add_argument(
        "--profile",
        metavar="VERSION",
        default="2.7",
        help="the Kafka to judge by: 0.10.0, 0.10.2 or 2.7 (2.7)",
    )
    verify.add_argument(
        "--members",
        metavar="N",
        type=_number(1, 3),
        default=2,
        help="members in the state graph that is explored, 1 to 3 (2)",
    )
    verify.add_argument(
        "--examples",
        metavar="N",
        type=_number(0, 10**9),
        default=100,
        help="random sequences to try, beyond the graph (100)",
    )
    verify.add_argument(
        "--steps",
        metavar="N",
        type=_number(1, 10_000),
        default=60,
        help="steps in the longest sequence (60)",
    )
    verify.add_argument(
        "--seed",
        metavar="N",
        type=_number(0, 2**63 - 1),
        default=0,
        help="what random choices are drawn from: the same seed, the same run (0)",
    )
    verify.add_argument(
        "--report",
        metavar="DIR",
        type=Path,
        help="write the result and each finding there, in the place of an earlier report",
    )
    verify.add_argument("--json", action="store_true", help="print the result as JSON, not as text")
    verify.set_defaults(command=_verify)


def _add_replay(commands: argparse._SubParsersAction[_Parser]) -> None:
    replay = commands.add_parser(
        "replay",
        help="do the sequence of a finding again",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Does the sequence of a finding on a port once more, and judges the answers.",
        epilog=f"{PORTS}\n{STATUS}",
    )
    replay.add_argument(
        "trace", metavar="FILE", type=Path, help="finding_*.jsonl of a report (verify --report)"
    )
    replay.add_argument("port", metavar="PORT", help="the coordinator, in a form given below")
    replay.set_defaults(command=_replay)


def _add_explore(commands: argparse._SubParsersAction[_Parser]) -> None:
    explore = commands.add_parser(
        "explore",
        help="explore the model itself",
        description="Explores the model breadth first, counts what TLC counts, and says what its "
        "state graph shows: what can be reached and how, and what makes a group change its state.",
    )
    explore.add_argument("--profile", default="2.7", help="the Kafka version (2.7)")
    explore.add_argument("--members", type=_number(1, 9), default=2, help="1 to 9 (2)")
    explore.add_argument(
        "--space", metavar="NAME", nargs="+", default=(), help="only these spaces (all of them)"
    )
    explore.add_argument(
        "--no-symmetry",
        action="store_true",
        help="members keep their names, as they do for TLC: states that differ in them count apart",
    )
    explore.add_argument(
        "--max-states",
        metavar="N",
        type=_number(1, 10**9),
        default=100_000,
        help="give up a space with more states, each of some 20 kB of memory (100000)",
    )
    explore.add_argument(
        "--witness", metavar="RULE", help="show a shortest path to that rule of the model"
    )
    explore.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="write the graphs (GraphML, DOT, JSON), and the path to RULE (ITF, and a trace to be "
        "replayed), there; takes five times the memory",
    )
    explore.add_argument("--json", action="store_true", help="print the result as JSON")
    explore.set_defaults(command=_explore)


def _number(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        msg = f"{text!r} is not a whole number from {least} to {most}"
        raise argparse.ArgumentTypeError(msg)

    return number


def _verify(options: argparse.Namespace) -> int:
    from groupcheck.model.profiles import PROFILES
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.result import Settings
    from groupcheck.properties.verify import Verification
    from groupcheck.reports.progress import Bars

    _check_known(options.profile, PROFILES)
    settings = Settings(
        options.profile, options.members, options.examples, options.steps, options.seed
    )
    try:
        source = port_source(options.port, seed=options.seed)
    except (UnknownPortError, PortUnavailableError) as error:
        raise _Impossible(str(error)) from error
    if options.report is not None:
        _prepare(options.report)
    gc.set_threshold(50_000)  # states are tuples of tuples, and hardly any of them are garbage
    try:
        with Bars() as bars:
            result = Verification(source, settings, bars).run()
    except PortUnavailableError as error:
        raise _Impossible(str(error)) from error
    finally:
        source.stop()
    return _report(result, options)


def _report(result: Result, options: argparse.Namespace) -> int:
    """Write what was asked for, and print the result whether or not it could be written."""
    from groupcheck.reports.files import as_json, write
    from groupcheck.reports.terminal import summary

    status = IMPOSSIBLE
    if result.findings:
        status = DIVERGES
    elif result.conforms:
        status = CONFORMS
    files: list[Path] = []
    unwritten = None
    if options.report is not None:
        try:
            files = write(result, options.report)
        except OSError as error:
            unwritten = _unwritten(options.report, error, status or IMPOSSIBLE)
    sys.stdout.write(
        json.dumps(as_json(result), indent=1) + "\n" if options.json else summary(result, files)
    )
    if unwritten is not None:
        raise unwritten
    return status


def _prepare(report: Path) -> None:
    from groupcheck.reports.files import prepare

    try:
        prepare(report)
    except OSError as error:
        raise _unwritten(report, error) from error


def _unwritten(report: Path, error: OSError, status: int = IMPOSSIBLE) -> _Impossible:
    return _Impossible(f"cannot write the report to {report}: {error.strerror}", status)


def _replay(options: argparse.Namespace) -> int:
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.run import NotReplayedError, replay_on
    from groupcheck.properties.sequence import MalformedTraceError, load
    from groupcheck.reports.story import story

    try:
        sequence = load(options.trace)
        with interruptible():
            replayed = replay_on(sequence, port_source(options.port))
    except OSError as error:
        msg = f"cannot read {options.trace}: {error.strerror}"
        raise _Impossible(msg) from error
    except (
        MalformedTraceError,
        UnknownPortError,
        PortUnavailableError,
        NotReplayedError,
    ) as error:
        raise _Impossible(str(error)) from error
    omission = f"{replayed.omission}\n" if replayed.omission else ""
    if replayed.finding is not None:
        sys.stdout.write(story(replayed.finding) + omission)
        return DIVERGES
    done = len(sequence.steps) - len(replayed.left_out)
    count = "1 step" if done == 1 else f"{done} steps"
    sys.stdout.write(f"{count}, each answered as Kafka would\n{omission}")
    return CONFORMS


def _explore(options: argparse.Namespace) -> int:
    from groupcheck.model.exploration import KB_A_STATE, Settings, UnfitSettingsError, run
    from groupcheck.model.explorer import Space, TooManyStatesError
    from groupcheck.model.profiles import PROFILES
    from groupcheck.properties.laws import Counterexample, counterexamples
    from groupcheck.reports.exploration import as_json, summary
    from groupcheck.reports.graph_files import write_graph, write_witness
    from groupcheck.reports.progress import Bars

    _check_known(options.profile, PROFILES)
    settings = Settings(
        PROFILES[options.profile],
        options.members,
        tuple(options.space),
        not options.no_symmetry,
        options.max_states,
        options.witness,
    )
    files: list[Path] = []
    broken: dict[str, Counterexample] = {}
    bars = Bars()

    def keep(name: str, space: Space) -> None:
        if settings.symmetry:
            bars(f"laws, {name}", None)
            for each in counterexamples(name, space):
                broken.setdefault(each.law.name, each)
        if options.out:
            bars(f"writing {name}", None)
            files.extend(write_graph(name, space, options.out))

    gc.set_threshold(50_000)  # as in _verify
    try:
        with bars:
            exploration = run(settings, bars, keep)
        if options.out and exploration.witness:
            files += write_witness(exploration.witness, options.out)
    except UnfitSettingsError as error:
        raise _Impossible(str(error)) from error
    except TooManyStatesError as error:
        msg = f"{error}; --max-states allows more, each takes some {KB_A_STATE} kB of memory"
        raise _Impossible(msg) from error
    except OSError as error:
        msg = f"cannot write the graphs to {options.out}: {error.strerror}"
        raise _Impossible(msg) from error
    laws = list(broken.values()) if settings.symmetry else None
    sys.stdout.write(
        json.dumps(as_json(exploration, laws), indent=1) + "\n"
        if options.json
        else summary(exploration, files, laws)
    )
    wrong = exploration.errors or any(each.known is None for each in broken.values())
    return DIVERGES if wrong else CONFORMS


def _check_known(profile: str, profiles: Mapping[str, object]) -> None:
    if profile not in profiles:
        msg = f"unknown profile {profile!r}; known: {', '.join(profiles)}"
        raise _Impossible(msg)
