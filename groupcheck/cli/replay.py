"""`groupcheck replay`: replay a sequence on a port, or check a recording."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, ending_with_message
from groupcheck.cli.options import add_port_help, add_save, add_verbose
from groupcheck.cli.output import print_text
from groupcheck.cli.saved_results import Stopwatch, save

if TYPE_CHECKING:
    from groupcheck.properties.findings.finding import Finding
    from groupcheck.properties.histories.recording_file import Recorded

HELP = "replay the sequence of a finding, or check a recording"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck replay`."""
    add_port_help(
        command,
        """\
Replays the sequence of a finding on a port and checks the responses. Without a
PORT it checks the responses of a recording (serve --record), group by group.
""",
    )
    command.add_argument(
        "trace",
        metavar="FILE",
        type=Path,
        help="finding_*.jsonl of a report (verify --report), or a recording",
    )
    command.add_argument(
        "port", metavar="PORT", nargs="?", help="the coordinator, in a form listed below"
    )
    add_save(command)
    add_verbose(command, "each step, or each group of a recording")


def run(options: argparse.Namespace) -> int:
    """Replay a sequence, or check a recording.

    Raises:
        CommandError: the file is not readable, the port is not available, or there is no verdict.
    """
    if options.port is None:
        return _check_recording(options)
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.run import NotReplayedError, replay_on
    from groupcheck.properties.sequence import MalformedTraceError, load
    from groupcheck.reports.command_records import Replayed, replay_record
    from groupcheck.reports.formatting import counted
    from groupcheck.reports.text import steps_in_words, story

    watch = Stopwatch()
    errors = (MalformedTraceError, UnknownPortError, PortUnavailableError, NotReplayedError)
    with ending_with_message(*errors, action=f"read {options.trace}"):
        sequence = load(options.trace)
        with interruptible():
            replayed = replay_on(sequence, port_source(options.port))
    finding, omitted = replayed.finding, (replayed.omission,) if replayed.omission else ()
    steps = len(sequence.steps) - len(replayed.left_out)
    if options.save:
        trace, profile = str(options.trace), sequence.profile
        done = Replayed(trace, options.port, profile, 0, steps, finding, "", omitted)
        save(replay_record(done, watch.took()), options.save, _status(finding))
    if finding is not None:
        print_text(story(finding) + "".join(f"{line}\n" for line in omitted))
        return DIVERGES
    if options.verbose:
        done_steps = steps_in_words(replayed.exchanges, replayed.names)
        print_text("".join(f"{line}\n" for line in done_steps))
    verdict = f"{counted(steps, 'step')}, each answered as Kafka would"
    print_text("".join(f"{line}\n" for line in (verdict, *omitted)))
    return CONFORMS


def _check_recording(options: argparse.Namespace) -> int:
    """Check what a server recorded."""
    from groupcheck.model.bodies import shown
    from groupcheck.properties.histories.checker import check_groups, load
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.sequence import MalformedTraceError
    from groupcheck.reports.command_records import Replayed, replay_record
    from groupcheck.reports.formatting import counted
    from groupcheck.reports.text import story

    watch = Stopwatch()
    with (
        ending_with_message(MalformedTraceError, action=f"read {options.trace}"),
        interruptible(),
    ):
        recorded = load(options.trace)
        checked = check_groups(recorded)
    groups, steps = checked.groups, checked.steps
    finding, group_id = checked.finding, checked.group_id
    if options.save:
        trace, profile = str(options.trace), recorded[0].profile
        done = Replayed(trace, "", profile, groups, steps, finding, group_id, checked.cut)
        save(replay_record(done, watch.took()), options.save, _status(finding))
    if options.verbose:
        print_text("".join(f"{_group(each)}\n" for each in recorded))
    if finding is not None:
        print_text(f"In group {shown(group_id)}:\n{story(finding)}")
        return DIVERGES
    verdict = (
        f"{counted(steps, 'step')} of {counted(groups, 'group')}, each answered as Kafka would"
    )
    print_text("".join(f"{line}\n" for line in (verdict, *checked.cut)))
    return CONFORMS


def _status(finding: Finding | None) -> int:
    return CONFORMS if finding is None else DIVERGES


def _group(recorded: Recorded) -> str:
    """How much was recorded of a group."""
    from groupcheck.model.bodies import shown
    from groupcheck.model.profiles import PROFILES
    from groupcheck.reports.formatting import bounded, counted

    steps = counted(recorded.steps, "step")
    kafka = PROFILES[recorded.profile].kafka
    return bounded(
        f"recorded   {steps} of group {shown(recorded.group_id)}, checked against {kafka}"
    )
