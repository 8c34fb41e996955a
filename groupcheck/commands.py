"""The commands: what is asked for is handed to the rooms, and what comes of it is told.

Each takes the parsed options and gives the exit status.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError

if TYPE_CHECKING:
    from groupcheck.model.clients import Feature
    from groupcheck.properties.result import Result

TESTS = Path(__file__).parent.parent / "tests"  # which only a clone of the repository has


def verify(options: argparse.Namespace) -> int:
    """Run a port against the model.

    Raises:
        ImpossibleError: it could not be, or its report could not be written.
    """
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
        raise ImpossibleError(str(error)) from error
    if options.report is not None:
        _prepare(options.report)
    gc.set_threshold(50_000)  # states are tuples of tuples, and hardly any of them are garbage
    try:
        with Bars() as bars:
            result = Verification(source, settings, bars).run()
    except PortUnavailableError as error:
        raise ImpossibleError(str(error)) from error
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


def _unwritten(report: Path, error: OSError, status: int = IMPOSSIBLE) -> ImpossibleError:
    return ImpossibleError(f"cannot write the report to {report}: {error.strerror}", status)


def replay(options: argparse.Namespace) -> int:
    """Do a trace again.

    Raises:
        ImpossibleError: it could not be.
    """
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
        raise ImpossibleError(msg) from error
    except (
        MalformedTraceError,
        UnknownPortError,
        PortUnavailableError,
        NotReplayedError,
    ) as error:
        raise ImpossibleError(str(error)) from error
    omission = f"{replayed.omission}\n" if replayed.omission else ""
    if replayed.finding is not None:
        sys.stdout.write(story(replayed.finding) + omission)
        return DIVERGES
    done = len(sequence.steps) - len(replayed.left_out)
    count = "1 step" if done == 1 else f"{done} steps"
    sys.stdout.write(f"{count}, each answered as Kafka would\n{omission}")
    return CONFORMS


def explore(options: argparse.Namespace) -> int:
    """Explore the model itself.

    Raises:
        ImpossibleError: there is no such thing in it, or no room for it.
    """
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
        _features(options.features),
        options.generations,
    )
    files: list[Path] = []
    broken: dict[str, Counterexample] = {}
    bars = Bars()

    def keep(name: str, space: Space) -> None:
        if settings.symmetry:
            bars(f"laws, {name}", None)
            for each in counterexamples(name, space):
                held = broken.setdefault(each.law.name, each)
                if held.known is not None and each.known is None:
                    broken[each.law.name] = each
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
        raise ImpossibleError(str(error)) from error
    except TooManyStatesError as error:
        msg = f"{error}; --max-states allows more, each takes some {KB_A_STATE} kB of memory"
        raise ImpossibleError(msg) from error
    except OSError as error:
        msg = f"cannot write the graphs to {options.out}: {error.strerror}"
        raise ImpossibleError(msg) from error
    laws = list(broken.values()) if settings.symmetry else None
    sys.stdout.write(
        json.dumps(as_json(exploration, laws), indent=1) + "\n"
        if options.json
        else summary(exploration, files, laws)
    )
    wrong = exploration.errors or any(each.known is None for each in broken.values())
    return DIVERGES if wrong else CONFORMS


def _features(names: Sequence[str]) -> frozenset[Feature]:
    """The features of these names."""
    from groupcheck.model.clients import Feature

    known = {feature.value: feature for feature in Feature}
    for name in names:
        if name not in known:
            msg = f"unknown feature {name!r}; known: {', '.join(known)}"
            raise ImpossibleError(msg)
    return frozenset(known[name] for name in names)


def bench(options: argparse.Namespace) -> int:
    """Measure the explorer beside TLC.

    Raises:
        ImpossibleError: there is no such thing to measure, or nothing to measure it by.
    """
    from groupcheck.model.exploration import Settings, UnfitSettingsError, chosen
    from groupcheck.model.profiles import PROFILES
    from groupcheck.reports.progress import Bars

    _check_known(options.profile, PROFILES)
    profile, spaces = PROFILES[options.profile], tuple(options.space)
    against_tlc = _against_tlc()
    measured = []
    gc.set_threshold(50_000)  # as in verify
    try:
        instances = [
            chosen(Settings(profile, members, spaces, generations=generations))
            for members in options.members
            for generations in options.generations
        ]
        with Bars() as bars:
            for name in instances[0]:
                for each in instances:
                    bars(f"{name}, members: {each[name].members}", None)
                    measured.append(against_tlc.measure(name, each[name]))
    except UnfitSettingsError as error:
        raise ImpossibleError(str(error)) from error
    except (OSError, ValueError) as error:
        msg = f"TLC cannot be run: {error}"
        raise ImpossibleError(msg) from error
    sys.stdout.write(against_tlc.table(profile.kafka, measured))
    return CONFORMS if all(one.agreed for one in measured) else DIVERGES


def _against_tlc() -> ModuleType:
    """What measures the two; it is kept with the tests, which run TLC too."""
    folder = TESTS / "bench"
    if not (folder / "against_tlc.py").is_file():
        msg = "bench runs TLC as the tests do, so it needs a clone of the repository"
        raise ImpossibleError(msg)
    sys.path[:0] = [str(TESTS), str(folder)]
    try:
        return importlib.import_module("against_tlc")
    except ModuleNotFoundError as error:
        msg = f"bench runs TLC as the tests do, which takes pip install -e '.[test]': {error}"
        raise ImpossibleError(msg) from error


def _check_known(profile: str, profiles: Mapping[str, object]) -> None:
    if profile not in profiles:
        msg = f"unknown profile {profile!r}; known: {', '.join(profiles)}"
        raise ImpossibleError(msg)
