"""The command line: options in, one clear line or a report out, an exit status.

0 the port conforms, 1 it diverges, 2 the run itself was impossible.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from groupcheck import __version__

CONFORMS, DIVERGES, IMPOSSIBLE = 0, 1, 2


class _Impossible(Exception):  # noqa: N818 - it ends the run, with its message as the one line
    """The run is impossible; the message says why."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Impossible(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status."""
    try:
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except _Impossible as impossible:
        return _say(str(impossible))
    except KeyboardInterrupt:
        return _say("interrupted, before anything was found")
    except BrokenPipeError:
        sys.stderr.close()  # whoever read the output has gone, and that is their right
        return IMPOSSIBLE


def _say(line: str) -> int:
    sys.stderr.write(f"groupcheck: {line}\n")
    return IMPOSSIBLE


def _print(text: str) -> None:
    """Write to standard output; what its encoding has no sign for is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="groupcheck",
        description="Tells whether a Kafka consumer-group coordinator behaves as Kafka's does.",
        epilog="Exit status: 0 conforms, 1 diverges, 2 the run itself was impossible.",
    )
    parser.add_argument("--version", action="version", version=f"groupcheck {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_verify(commands)
    _add_replay(commands)
    _add_explore(commands)
    return parser


PORT_HELP = (
    "builtin | python:PACKAGE.MODULE:FACTORY | exec:COMMAND | kafka://HOST:PORT[?SETTING=NUMBER] |"
    " librdkafka-mock"
)


def _add_verify(commands: argparse._SubParsersAction[_Parser]) -> None:
    verify = commands.add_parser(
        "verify",
        help="run a coordinator against the model",
        description="Explores the model, runs the port against it, and says how much of the "
        "model's behaviour it showed, or gives the shortest sequences that it answers as Kafka "
        "never would.",
    )
    verify.add_argument("port", metavar="PORT", help=PORT_HELP)
    verify.add_argument("--profile", default="2.7", help="the Kafka version to be judged by (2.7)")
    verify.add_argument(
        "--members",
        type=_number(1, 3),
        default=2,
        help="members in the explored spaces, 1 to 3 (2)",
    )
    verify.add_argument(
        "--examples", type=_number(0, 10**9), default=100, help="random sequences (100)"
    )
    verify.add_argument(
        "--steps", type=_number(1, 10_000), default=60, help="the longest sequence, in steps (60)"
    )
    verify.add_argument(
        "--seed", type=_number(0, 2**63), default=0, help="of all random choices (0)"
    )
    verify.add_argument(
        "--report", metavar="DIR", type=Path, help="write findings and result there"
    )
    verify.add_argument("--json", action="store_true", help="print the result as JSON")
    verify.set_defaults(command=_verify)


def _add_replay(commands: argparse._SubParsersAction[_Parser]) -> None:
    replay = commands.add_parser(
        "replay",
        help="do a saved sequence again",
        description="Does a trace (finding_*.jsonl) on a port and judges it.",
    )
    replay.add_argument("trace", metavar="FILE", type=Path, help="the trace")
    replay.add_argument("port", metavar="PORT", help=PORT_HELP)
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
        value = int(text)
        if not least <= value <= most:
            msg = f"{value} is not within {least} and {most}"
            raise argparse.ArgumentTypeError(msg)
        return value

    number.__name__ = "number"
    return number


def _verify(options: argparse.Namespace) -> int:
    from groupcheck.model.profiles import PROFILES
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.result import Settings
    from groupcheck.properties.verify import Verification
    from groupcheck.reports.files import as_json, write
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.terminal import summary

    _check_known(options.profile, PROFILES)
    settings = Settings(
        options.profile, options.members, options.examples, options.steps, options.seed
    )
    try:
        source = port_source(options.port, seed=options.seed)
    except (UnknownPortError, PortUnavailableError) as error:
        raise _Impossible(str(error)) from error
    gc.set_threshold(50_000)  # states are tuples of tuples, and hardly any of them are garbage
    try:
        with Bars() as bars:
            result = Verification(source, settings, bars).run()
    except PortUnavailableError as error:
        raise _Impossible(str(error)) from error
    finally:
        source.stop()
    try:
        files = write(result, options.report) if options.report else []
    except OSError as error:
        msg = f"cannot write the report to {options.report}: {error.strerror}"
        raise _Impossible(msg) from error
    sys.stdout.write(
        json.dumps(as_json(result), indent=1) + "\n" if options.json else summary(result, files)
    )
    if result.findings:
        return DIVERGES
    return CONFORMS if result.conforms else IMPOSSIBLE


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
        _print(story(replayed.finding) + omission)
        return DIVERGES
    done = len(sequence.steps) - len(replayed.left_out)
    count = "1 step" if done == 1 else f"{done} steps"
    _print(f"{count}, each answered as Kafka would\n{omission}")
    return CONFORMS


def _explore(options: argparse.Namespace) -> int:
    from groupcheck.model.exploration import KB_A_STATE, Settings, UnfitSettingsError, run
    from groupcheck.model.explorer import Space, TooManyStatesError
    from groupcheck.model.profiles import PROFILES
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
    bars = Bars()

    def keep(name: str, space: Space) -> None:
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
    sys.stdout.write(
        json.dumps(as_json(exploration), indent=1) + "\n"
        if options.json
        else summary(exploration, files)
    )
    return DIVERGES if exploration.errors else CONFORMS


def _check_known(profile: str, profiles: Mapping[str, object]) -> None:
    if profile not in profiles:
        msg = f"unknown profile {profile!r}; known: {', '.join(profiles)}"
        raise _Impossible(msg)
