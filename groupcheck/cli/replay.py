"""`groupcheck replay`: replay a sequence on a port, or check what was recorded."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, CommandError, ending_with_message
from groupcheck.cli.options import add_port_help, add_shared, add_verbose
from groupcheck.cli.output import Stopwatch, print_text, save

if TYPE_CHECKING:
    from groupcheck.properties.histories.group_states import GroupStates
    from groupcheck.properties.histories.recorded_tests import PortChecked
    from groupcheck.properties.histories.recording_file import Recorded
    from groupcheck.reports.command_records import Replayed

HELP = "replay the sequence of a finding, or check a recording"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck replay`."""
    add_port_help(
        command,
        """\
Replays the sequence of a finding on a port and checks the responses. Without a
PORT it checks the responses of a recording (serve --record), group by group,
or of recorded tests (verify --record), test by test.
""",
    )
    command.add_argument(
        "trace",
        metavar="FILE",
        type=Path,
        help="finding_*.jsonl of a report (verify --report), a recording or recorded tests; "
        "FILE.xz is compressed",
    )
    command.add_argument(
        "port", metavar="PORT", nargs="?", help="the coordinator, in a form listed below"
    )
    add_shared(command, "save")
    add_verbose(command, "each step, or each group of a recording with its states")
    command.add_argument(
        "--raw",
        action="store_true",
        help="print each message, too, as JSON (docs/port-protocol.md), with the member ids of the "
        "port: > was sent, < was received",
    )


def run(options: argparse.Namespace) -> int:
    """Replay a sequence, or check a recording.

    Raises:
        CommandError: the file is not readable, the port is not available, or there is no verdict.
    """
    from groupcheck.reports.command_records import replay_record
    from groupcheck.reports.finding_text import finding_text

    if options.raw and options.port is None:
        msg = "--raw needs a PORT: a recording has the messages"
        raise CommandError(msg)
    watch = Stopwatch()
    done, details = _check_recorded(options) if options.port is None else _replay(options)
    record = replay_record(done, watch.took())
    status = CONFORMS if record.conforms else DIVERGES
    if options.save:
        save(record, options.save, status)
    if options.verbose:
        print_text(_lines(details))
    text = record.verdict + "\n" if record.conforms else finding_text(record.findings[0])
    print_text(text + _lines(record.lines if record.conforms or not done.groups else ()))
    return status


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _replay(options: argparse.Namespace) -> tuple[Replayed, list[str]]:
    """Replay a sequence on a port: the result, and the steps if they conform."""
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.run import NotReplayedError, replay_on
    from groupcheck.properties.sequence import MalformedTraceError, load
    from groupcheck.reports.command_records import Replayed
    from groupcheck.reports.raw_messages import raw_messages
    from groupcheck.reports.steps import step_lines, steps_of

    errors = (MalformedTraceError, UnknownPortError, PortUnavailableError, NotReplayedError)
    with ending_with_message(*errors, action=f"read {options.trace}"):
        sequence = load(options.trace)
        with interruptible():
            replayed = replay_on(sequence, port_source(options.port))
    if replayed.finding is not None and replayed.finding.during == "open":
        msg = f"{options.port} cannot be opened: {replayed.finding.failure}"
        raise CommandError(msg)
    if options.raw:
        print_text(_lines(raw_messages(replayed.exchanges, replayed.names)))
    finding, omitted = replayed.finding, (replayed.omission,) if replayed.omission else ()
    steps = len(sequence.steps) - len(replayed.left_out)
    trace, profile = str(options.trace), sequence.profile
    done = Replayed(trace, options.port, profile, 0, steps, finding, "", omitted)
    return done, [] if finding else step_lines(steps_of(replayed.exchanges, replayed.names))


def _check_recorded(options: argparse.Namespace) -> tuple[Replayed, list[str]]:
    """Check a recording or recorded tests: the result, and a line for each group."""
    from groupcheck.properties.histories.recorded_tests import has_recorded_tests
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.sequence import MalformedTraceError

    action = f"read {options.trace}"
    with ending_with_message(MalformedTraceError, action=action), interruptible():
        check = _check_tests if has_recorded_tests(options.trace) else _check_recording
        return check(options.trace)


def _check_tests(path: Path) -> tuple[Replayed, list[str]]:
    """Check recorded tests."""
    from groupcheck.properties.histories.recorded_tests import check_tests
    from groupcheck.reports.command_records import Replayed

    checked = check_tests(path)
    lines = tuple(map(_tests, checked.parts))
    where = f"test {sum(each.tests for each in checked.parts):,}"
    profile, steps = checked.parts[-1].profile, sum(each.steps for each in checked.parts)
    return Replayed(str(path), "", profile, 0, steps, checked.finding, where, lines), []


def _tests(part: PortChecked) -> str:
    """How many tests of a port were checked."""
    from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
    from groupcheck.reports.formatting import bounded, counted

    steps, tests = counted(part.steps, "step"), counted(part.tests, "test")
    kafka = EVERY_PROFILE[part.profile].kafka
    return bounded(f"checked    {steps} of {tests} of {part.port} against {kafka}")


def _check_recording(path: Path) -> tuple[Replayed, list[str]]:
    """Check what a server recorded: the result, and a line for each group."""
    from groupcheck.model.bodies import shown
    from groupcheck.properties.histories.checker import check_groups, load
    from groupcheck.properties.histories.group_states import GroupStates
    from groupcheck.reports.command_records import Replayed

    recorded = load(path)
    states = [GroupStates() for _ in recorded]
    checked = check_groups(recorded, states)
    trace, profile = str(path), recorded[0].profile
    done = Replayed(
        trace,
        "",
        profile,
        checked.groups,
        checked.steps,
        checked.finding,
        f"group {shown(checked.group_id)}",
        checked.cut,
    )
    return done, [line for each in zip(recorded, states, strict=True) for line in _group(*each)]


def _group(recorded: Recorded, states: GroupStates) -> Iterator[str]:
    """How much was recorded of a group, and its states."""
    from groupcheck.model.bodies import shown
    from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
    from groupcheck.reports.formatting import bounded, counted, duration

    steps = counted(recorded.steps, "step")
    kafka = EVERY_PROFILE[recorded.profile].kafka
    yield bounded(
        f"recorded   {steps} of group {shown(recorded.group_id)}, checked against {kafka}"
    )
    for at_ms, state, generation in states.phases:
        yield f"           at {duration(at_ms)}: {state}, generation {generation}"
