"""The commands: what is asked for is handed to the rooms, and what comes of it is told.

Each takes the parsed options and gives the exit status.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from groupcheck.numbers import PROFILE
from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError, check_known
from groupcheck.telling import tell
from groupcheck.watching import code_of, watched

if TYPE_CHECKING:
    from groupcheck.properties.coverage.covered import Covered
    from groupcheck.properties.ports.source import PortSource
    from groupcheck.properties.result import Result, Settings
    from groupcheck.properties.verify import Progress, Verification

TESTS = Path(__file__).parent.parent / "tests"  # which only a clone of the repository has


def verify(options: argparse.Namespace) -> int:
    """Run a port against the model.

    Raises:
        ImpossibleError: it could not be, or its report could not be written.
    """
    from groupcheck.model.profiles import PROFILES
    from groupcheck.properties.generators.bulk import processors
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.long_runs.journal import MalformedJournalError
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.result import Settings
    from groupcheck.properties.windows import LONG_RUN_GRACE_MS, Windows
    from groupcheck.reports.progress import Bars

    if options.profile is not None:
        check_known(options.profile, PROFILES)
    try:
        grace_ms = options.grace_ms
        if options.sequences:  # with many at once a broker takes longer to read what it is asked
            grace_ms = max(grace_ms, LONG_RUN_GRACE_MS)
        windows = Windows(options.late_ms, answer_ms=options.answer_ms, grace_ms=grace_ms)
        with interruptible():  # of some brokers what they are made of is downloaded first
            source = port_source(options.port, seed=options.seed, windows=windows)
    except (UnknownPortError, PortUnavailableError) as error:
        raise ImpossibleError(str(error)) from error
    settings = Settings(
        options.profile or source.profile or PROFILE,
        options.members,
        options.examples,
        options.steps,
        options.seed,
        options.max_findings,
        every_space=options.every_space,
        pairs=options.pairs,
        walks=options.walks,
        jobs=options.jobs or processors(),
        sequences=options.sequences,
        side_by_side=options.side_by_side,
    )
    if options.report is not None:
        _prepare(options.report)
    before = _coverage(options.coverage) if options.coverage else {}
    source, tracing = watched(source, options.code)
    gc.set_threshold(50_000)  # states are tuples of tuples, and hardly any of them are garbage
    try:
        with Bars() as bars, tracing or nullcontext():
            verification = _verification(source, settings, bars, options.resume)
            result = verification.run()
    except (PortUnavailableError, MalformedJournalError) as error:
        raise ImpossibleError(str(error)) from error
    except OSError as error:
        what = f"keep the run in {options.resume}" if options.resume else f"verify {options.port}"
        msg = f"cannot {what}: {error.strerror or error}"
        raise ImpossibleError(msg) from error
    finally:
        source.stop()
    result.code = code_of(tracing)
    if options.report or options.json or options.coverage or options.verbose:
        result.covered = verification.covered()
    status = _report(result, options)
    if options.coverage:
        refused = _add(options.coverage, before, result.covered, status)
        if not options.json:
            sys.stdout.write("".join(f"coverage   begun anew, {what}\n" for what in refused))
    return status


def _verification(
    source: PortSource, settings: Settings, progress: Progress, kept_in: Path | None
) -> Verification:
    """The verification that is asked for: a long run, if it is said how many sequences."""
    from groupcheck.properties.long_runs.long_run import LongRun
    from groupcheck.properties.verify import Verification

    if not settings.sequences:
        if kept_in is not None:
            msg = "--resume is for a long run: --sequences says of how many"
            raise ImpossibleError(msg)
        return Verification(source, settings, progress)
    if not source.real_time:
        msg = "--sequences is for a coordinator on a real clock: --walks and --examples for others"
        raise ImpossibleError(msg)
    return LongRun(source, settings, progress, kept_in)


def brokers(_options: argparse.Namespace) -> int:
    """List the brokers that can be started by name, and which of them can run here."""
    from groupcheck.properties.brokers.catalogue import listing
    from groupcheck.reports.brokers import table

    sys.stdout.write(table(listing()))
    return CONFORMS


def coverage(options: argparse.Namespace) -> int:
    """Put the coverage of many runs together, and tell what was shown and what was not.

    Raises:
        ImpossibleError: a file is none, or cannot be read or written.
    """
    from groupcheck.properties.coverage.covered import merged
    from groupcheck.reports.covered import as_json, summary

    together = merged((str(path), _coverage(path, needed=True)) for path in options.files)
    if options.out:
        _write_coverage(options.out, together.covered)
    sys.stdout.write(
        json.dumps(as_json(together), indent=1) + "\n" if options.json else summary(together)
    )
    return DIVERGES if together.refused else CONFORMS


def _coverage(path: Path, *, needed: bool = False) -> Covered:
    """What is in a coverage file; nothing, if it need not be there and is not."""
    from groupcheck.properties.coverage.covered import MalformedCoverageError, read

    try:
        return read(path)
    except MalformedCoverageError as error:
        raise ImpossibleError(str(error)) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not needed and path.parent.is_dir():
            return {}
        msg = f"cannot read the coverage in {path}: {error.strerror}"
        raise ImpossibleError(msg) from error


def _add(path: Path, before: Covered, now: Covered, status: int) -> tuple[str, ...]:
    """Add what was shown now to what is in the file; what is of another model is not kept."""
    from groupcheck.properties.coverage.covered import merged

    together = merged([("this run", now), (str(path), before)])
    _write_coverage(path, together.covered, status)
    return together.refused


def _write_coverage(path: Path, covered: Covered, status: int = IMPOSSIBLE) -> None:
    from groupcheck.properties.coverage.covered import write

    try:
        write(path, covered)
    except OSError as error:
        msg = f"cannot write the coverage to {path}: {error.strerror}"
        raise ImpossibleError(msg, status or IMPOSSIBLE) from error


def _report(result: Result, options: argparse.Namespace) -> int:
    """Write what was asked for, and print the result whether or not it could be written."""
    from groupcheck.reports.files import write
    from groupcheck.reports.saved_file import as_text
    from groupcheck.reports.terminal import summary
    from groupcheck.reports.told import told

    saved = told(result)
    status = IMPOSSIBLE
    if result.findings:
        status = DIVERGES
    elif result.conforms:
        status = CONFORMS
    files: list[Path] = []
    unwritten = None
    if options.report is not None:
        try:
            files = write(saved, options.report)
        except OSError as error:
            unwritten = _unwritten(options.report, error, status or IMPOSSIBLE)
    if options.json:
        sys.stdout.write(as_text(saved))
    else:
        tell(summary(saved, files, more=options.verbose))
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


def history(options: argparse.Namespace) -> int:
    """Hold to the model what clients noted of requests that overlap.

    Raises:
        ImpossibleError: it could not be.
    """
    from groupcheck.model.bodies import shown
    from groupcheck.properties.histories.history_file import load
    from groupcheck.properties.histories.many_groups import judge
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.sequence import MalformedTraceError
    from groupcheck.properties.windows import Windows
    from groupcheck.reports.history import told

    windows = Windows(late_ms=options.late_ms, grace_ms=options.grace_ms)
    gc.set_threshold(50_000)  # as in verify
    try:
        with interruptible():
            noted = load(options.file)
            judged = judge(noted, windows, options.max_points)
    except OSError as error:
        msg = f"cannot read {options.file}: {error.strerror}"
        raise ImpossibleError(msg) from error
    except MalformedTraceError as error:
        raise ImpossibleError(str(error)) from error
    if judged.rejected is None and judged.undecided is not None:
        msg = (
            f"of group {shown(judged.undecided)} nothing can be said after {judged.points} points"
            " of orders; --max-points allows more"
        )
        raise ImpossibleError(msg)
    tell(told(judged, None if noted.exact else windows))
    return DIVERGES if judged.rejected else CONFORMS


def serve(options: argparse.Namespace) -> int:
    """Serve a coordinator to Kafka clients until SIGINT or SIGTERM.

    Raises:
        ImpossibleError: it could not be.
    """
    try:
        from groupcheck.implementation.server.server import CannotServeError, Options, run
        from groupcheck.implementation.server.settings import BadSettingError, parse
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        msg = f"serve needs the package {package}: pip install 'groupcheck[serve]'"
        raise ImpossibleError(msg) from error

    try:
        host, port = options.listen
        topics, settings = tuple(options.topic), parse(options.config)
        recorded, kept = options.record, options.data_dir
        run(Options(host, port, topics, options.profile, settings, recorded, kept))
    except (BadSettingError, CannotServeError) as error:
        raise ImpossibleError(str(error)) from error
    return CONFORMS


def bench(options: argparse.Namespace) -> int:
    """Measure the explorer beside TLC.

    Raises:
        ImpossibleError: there is no such thing to measure, or nothing to measure it by.
    """
    from groupcheck.model.exploring.exploration import Settings, UnfitSettingsError, chosen
    from groupcheck.model.profiles import PROFILES
    from groupcheck.reports.progress import Bars

    check_known(options.profile, PROFILES)
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
    folder = TESTS.parent / "bench"
    if not (folder / "against_tlc.py").is_file():
        msg = "bench runs TLC as the tests do, so it needs a clone of the repository"
        raise ImpossibleError(msg)
    sys.path[:0] = [str(TESTS), str(folder)]
    try:
        return importlib.import_module("against_tlc")
    except ModuleNotFoundError as error:
        msg = f"bench runs TLC as the tests do, which takes pip install -e '.[test]': {error}"
        raise ImpossibleError(msg) from error
