"""The command `replay`: a trace done again on a port, or a recording judged."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from groupcheck.saving import Watch, save
from groupcheck.status import CONFORMS, DIVERGES, ImpossibleError
from groupcheck.telling import tell

if TYPE_CHECKING:
    from groupcheck.properties.findings.finding import Finding
    from groupcheck.properties.histories.recorded import Recorded


def replay(options: argparse.Namespace) -> int:
    """Do a trace again, or judge a recording.

    Raises:
        ImpossibleError: it could not be.
    """
    if options.port is None:
        return _judge(options)
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.run import NotReplayedError, replay_on
    from groupcheck.properties.sequence import MalformedTraceError, load
    from groupcheck.reports.story import steps_in_words, story
    from groupcheck.reports.told_otherwise import Replayed
    from groupcheck.reports.told_otherwise import replay as told
    from groupcheck.reports.words import counted

    watch = Watch()
    try:
        sequence = load(options.trace)
        with interruptible():
            replayed = replay_on(sequence, port_source(options.port))
    except OSError as error:
        msg = f"cannot read {options.trace}: {error.strerror}"
        raise ImpossibleError(msg) from error
    except (
        MalformedTraceError,
        UnknownPortError,
        PortUnavailableError,
        NotReplayedError,
    ) as error:
        raise ImpossibleError(str(error)) from error
    omission = f"{replayed.omission}\n" if replayed.omission else ""
    steps = len(sequence.steps) - len(replayed.left_out)
    if options.save:
        lines = (replayed.omission,) if replayed.omission else ()
        done = Replayed(
            str(options.trace),
            options.port,
            sequence.profile,
            0,
            steps,
            replayed.finding,
            "",
            lines,
        )
        save(told(done, watch.took()), options.save, _status(replayed.finding))
    if replayed.finding is not None:
        tell(story(replayed.finding) + omission)
        return DIVERGES
    if options.verbose:
        did = steps_in_words(replayed.exchanges, replayed.names)
        tell("".join(f"{line}\n" for line in did))
    tell(f"{counted(steps, 'step')}, each answered as Kafka would\n{omission}")
    return CONFORMS


def _judge(options: argparse.Namespace) -> int:
    """Hold to the model what a server recorded."""
    from groupcheck.model.bodies import shown
    from groupcheck.properties.histories.recorded import judge, load
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.sequence import MalformedTraceError
    from groupcheck.reports.story import story
    from groupcheck.reports.told_otherwise import Replayed
    from groupcheck.reports.told_otherwise import replay as told
    from groupcheck.reports.words import counted

    watch = Watch()
    try:
        with interruptible():
            recorded = load(options.trace)
            judged = judge(recorded)
    except OSError as error:
        msg = f"cannot read {options.trace}: {error.strerror}"
        raise ImpossibleError(msg) from error
    except MalformedTraceError as error:
        raise ImpossibleError(str(error)) from error
    if options.save:
        done = Replayed(
            str(options.trace),
            "",
            recorded[0].profile,
            judged.groups,
            judged.steps,
            judged.finding,
            judged.group_id,
            judged.cut,
        )
        save(told(done, watch.took()), options.save, _status(judged.finding))
    if options.verbose:
        tell("".join(f"{_group(each)}\n" for each in recorded))
    if judged.finding is not None:
        tell(f"In group {shown(judged.group_id)}:\n{story(judged.finding)}")
        return DIVERGES
    steps, groups = counted(judged.steps, "step"), counted(judged.groups, "group")
    verdict = f"{steps} of {groups}, each answered as Kafka would"
    tell("".join(f"{line}\n" for line in (verdict, *judged.cut)))
    return CONFORMS


def _status(finding: Finding | None) -> int:
    return CONFORMS if finding is None else DIVERGES


def _group(recorded: Recorded) -> str:
    """How much was recorded of a group."""
    from groupcheck.model.bodies import shown
    from groupcheck.model.profiles import PROFILES
    from groupcheck.reports.words import bounded, counted

    steps = counted(len(recorded.exchanges), "step")
    kafka = PROFILES[recorded.profile].kafka
    return bounded(f"recorded   {steps} of group {shown(recorded.group_id)}, judged as {kafka}")
