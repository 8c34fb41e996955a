"""`groupcheck verify`: run a port against the model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.cli.coverage import read_coverage, write_coverage
from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    NO_VERDICT,
    CommandError,
    check_coverage,
    ending_with_message,
    profile_of,
)
from groupcheck.cli.options import add_number, add_port_help, add_shared, add_table, add_verbose
from groupcheck.cli.output import print_record, print_text
from groupcheck.numeric_options import NUMBERS, PROFILE, PROFILE_HELP, duration, whole

if TYPE_CHECKING:
    from groupcheck.model.engine.graph import StateGraph
    from groupcheck.properties.code.code import Code
    from groupcheck.properties.code.tracing import Tracing
    from groupcheck.properties.coverage.covered import Covered
    from groupcheck.properties.deviations.search import KnownDeviation
    from groupcheck.properties.findings.finding import Finding
    from groupcheck.properties.ports.source import PortSource
    from groupcheck.properties.result import Settings
    from groupcheck.properties.run import Checks
    from groupcheck.properties.verify import Verification
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.record import ResultRecord

IN_THIS_PROCESS: Final = ("builtin", "python:")

HELP = "check a coordinator against the model"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck verify`."""
    add_port_help(
        command,
        """\
Explores the model of Kafka's coordinator and runs the port against it. Prints
which part of the model the port covered, and for each difference the shortest
sequence of requests that shows it.
""",
    )
    command.add_argument("port", metavar="PORT", help="the coordinator, in a form listed below")
    command.add_argument("--profile", metavar="VERSION", help=PROFILE_HELP)
    for number in NUMBERS.values():
        add_number(command, number)
    table = """
--sequences N     run N sequences (live brokers; docs/long-runs.md)
--stage STAGE     with --sequences: only this stage; tours, timed-tours, walks or timed-walks
--side-by-side N  for a slow exec: port, run N of its programs at once (1); with --sequences, run N
                  sequences at once, each in its own group (100)
--resume FILE     with --sequences: record progress in FILE, and continue from it
--record FILE     append each test on a real clock to FILE with its responses, for groupcheck
                  replay; FILE.xz is compressed
--every-instance  cover every model instance of the version (virtual time only; minutes)
--pairs           cover every pair of adjacent transitions (virtual time only; minutes)
--report DIR      write the result, as a page too (index.html), and each finding to DIR; replaces an
                  earlier report
--deviations FILE  allow the deviations in FILE, and fail only for others; if there is no such file,
                  write the deviations of the port to it
--fail-on LEVEL   exit with status 1 only for findings of this severity or higher: safety,
                  liveness, protocol, cosmetic (cosmetic)
--coverage FILE   add the transitions that this run covers to FILE (groupcheck coverage)
--time DURATION   end the run after this time, such as 60s, 5m or 1h, with what was found so far
--skip NAME,...   leave out the APIs, faults and features of this name, such as 'Offset*',
                  crash or static-members; may be repeated
--code PATH,...   report which lines of a file or folder run in which transitions (builtin and
                  python: only); may be repeated
"""
    read = {
        "sequences": (whole(1, 10**9), 0),
        "side_by_side": (whole(1, 1_000), 0),
        "time": (duration, 0),
        "fail_on": (_severity, "cosmetic"),
        "stage": (_stage, None),
    }
    add_table(command, table, **read)
    add_shared(command, "fail_under", "json")
    add_verbose(command, "settings, time, each model instance, the rules")


def run(options: argparse.Namespace) -> int:
    """Run a port against the model.

    Raises:
        CommandError: the port cannot be run, a file cannot be read or written, or too little is
            covered.
    """
    from groupcheck.properties.long_runs.resume_file import MalformedResumeFileError
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.verification_record import result_record

    if options.profile is not None:
        profile_of(options.profile, minors=True)
    source = _source(options)
    if options.side_by_side and not (options.sequences or source.is_program):
        msg = "--side-by-side is for programs (exec:), and for live brokers with --sequences"
        raise CommandError(msg)
    if options.stage and not options.sequences:
        msg = "--stage is for live brokers with --sequences"
        raise CommandError(msg)
    settings = _settings(options, source)
    if options.report is not None:
        _prepare(options.report)
    before = read_coverage(options.coverage, optional=True) if options.coverage else {}
    known = _known(options.deviations, settings.profile)
    source, tracing = _traced(source, options.code)
    errors = (PortUnavailableError, MalformedResumeFileError)
    try:
        with (
            ending_with_message(*errors, action=_action(options)),
            _recording(source, options) as record,
            Bars() as bars,
            tracing or nullcontext(),
        ):
            verification = _verification(source, settings, bars, options, known, record)
            result = verification.run()
    finally:
        source.stop()
    result.code = _code_of(tracing)
    if options.report or options.json or options.coverage or options.verbose:
        result.covered = verification.covered()
    saved = result_record(result)
    status = _report(saved, verification.graphs, options)
    if options.coverage:
        refused = _add_coverage(options.coverage, before, result.covered, status)
        if not options.json:
            sys.stdout.write("".join(f"coverage   restarted: {reason}\n" for reason in refused))
    check_coverage(saved, status, options.fail_under)
    return status


def _stage(text: str) -> str:
    from groupcheck.properties.long_runs.long_run import STAGES

    stage = text.replace("-", " ")
    if stage not in STAGES:
        known = ", ".join(name.replace(" ", "-") for name in STAGES)
        msg = f"{text!r} is no stage; stages: {known}"
        raise argparse.ArgumentTypeError(msg)
    return stage


def _severity(text: str) -> str:
    from groupcheck.properties.findings.severity import Severity

    if text not in set(Severity):
        msg = f"{text!r} is not one of {', '.join(Severity)}"
        raise argparse.ArgumentTypeError(msg)
    return text


def _source(options: argparse.Namespace) -> PortSource:
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.tolerances import LONG_RUN_GRACE_MS, Tolerances
    from groupcheck.properties.unsupported import UnknownNameError, matching, skip

    grace_ms = options.grace_ms
    if options.sequences:  # a broker takes longer to read a request while many sequences run
        grace_ms = max(grace_ms, LONG_RUN_GRACE_MS)
    tolerances = Tolerances(options.late_ms, answer_ms=options.answer_ms, grace_ms=grace_ms)
    # `interruptible`, because the programs of some brokers are downloaded here.
    errors = (UnknownPortError, PortUnavailableError, UnknownNameError)
    with ending_with_message(*errors), interruptible():
        skipped = matching(name for names in options.skip for name in names.split(","))
        source = port_source(options.port, seed=options.seed, tolerances=tolerances)
        return skip(source, skipped)


def _settings(options: argparse.Namespace, source: PortSource) -> Settings:
    from groupcheck.properties.generators.parallel_walks import processors
    from groupcheck.properties.result import Settings

    return Settings(
        options.profile or source.profile or PROFILE,
        options.members,
        options.examples,
        options.steps,
        options.seed,
        options.max_findings,
        every_instance=options.every_instance,
        pairs=options.pairs,
        walks=options.walks,
        jobs=options.jobs or processors(),
        sequences=options.sequences,
        side_by_side=options.side_by_side,
        time_s=options.time,
        stage=options.stage or "",
    )


def _known(path: Path | None, profile: str) -> tuple[KnownDeviation, ...]:
    """The deviations in a file, if there is one."""
    if path is None or not path.exists():
        return ()
    from groupcheck.reports.deviations_file import MalformedDeviationsError, read

    with ending_with_message(MalformedDeviationsError, action=f"read {path}"):
        return read(path, profile_of(profile, minors=True))


def _action(options: argparse.Namespace) -> str:
    """The action that an error of the operating system ends."""
    files = [each for each in (options.resume, options.record) if each is not None]
    return f"store the run in {' or '.join(map(str, files))}" if files else f"verify {options.port}"


@contextmanager
def _recording(
    source: PortSource, options: argparse.Namespace
) -> Iterator[Callable[[Checks], None]]:
    """The recorder of the tests of a run, if they are recorded."""
    if options.record is None:
        yield lambda _checks: None
        return
    if source.tolerances is None:
        msg = "--record is for live brokers: other ports repeat a run with its --seed"
        raise CommandError(msg)
    from groupcheck.properties.histories.recorded_tests import RecordingOfTests

    with RecordingOfTests(options.record, source.spec, source.tolerances) as recording:
        yield recording.add


def _verification(  # noqa: PLR0913, PLR0917 - the parts of one run
    source: PortSource,
    settings: Settings,
    bars: Bars,
    options: argparse.Namespace,
    known: tuple[KnownDeviation, ...],
    record: Callable[[Checks], None],
) -> Verification:
    """The verification to run: a long run if the number of sequences is given."""
    from groupcheck.properties.long_runs.long_run import long_run
    from groupcheck.properties.verify import Verification
    from groupcheck.reports.finding_title import title

    def on_finding(finding: Finding) -> None:
        bars.found(title(finding))

    if not settings.sequences:
        if options.resume is not None:
            msg = "--resume needs --sequences"
            raise CommandError(msg)
        return Verification(
            source, settings, bars, on_finding=on_finding, known=known, record=record
        )
    if options.deviations is not None:
        msg = "--deviations cannot be used with --sequences"
        raise CommandError(msg)
    if not source.real_time:
        msg = "--sequences is for live brokers: use --walks and --examples for other ports"
        raise CommandError(msg)
    schedule = long_run(options.resume)
    return Verification(
        source, settings, bars, schedule=schedule, on_finding=on_finding, record=record
    )


def _add_coverage(path: Path, before: Covered, now: Covered, status: int) -> tuple[str, ...]:
    """Add coverage to a file. Returns the ignored parts of the file, which are of another model."""
    from groupcheck.properties.coverage.covered import merged

    together = merged([("this run", now), (str(path), before)])
    write_coverage(path, together.covered, status)
    return together.refused


def _report(saved: ResultRecord, graphs: list[StateGraph], options: argparse.Namespace) -> int:
    """Write the report, and print the result even if the report cannot be written."""
    from groupcheck.reports.deviations_file import as_text as as_deviations
    from groupcheck.reports.explored_graphs import Graphs, Known
    from groupcheck.reports.files import write
    from groupcheck.reports.terminal import summary

    status = NO_VERDICT
    if saved.new and saved.decided:
        status = DIVERGES if _fails(saved, options.fail_on) else CONFORMS
    elif saved.conforms:
        status = CONFORMS
    if options.deviations is not None and not options.deviations.exists():
        with ending_with_message(action=f"write {options.deviations}", status=status):
            options.deviations.write_text(as_deviations(saved), encoding="utf-8")
    files: list[Path] = []
    failed = None
    if options.report is not None:
        try:
            with ending_with_message(action=f"write the report to {options.report}", status=status):
                known = tuple(map(Known, saved.instances, graphs))
                files = write(saved, options.report, Graphs(known, ()))
        except CommandError as error:
            failed = error
    if options.json:
        print_record(saved)
    else:
        print_text(summary(saved, files, more=options.verbose))
    if failed is not None:
        raise failed
    return status


def _fails(saved: ResultRecord, level: str) -> bool:
    """Whether there is a new finding of this severity, or of a worse one."""
    from groupcheck.properties.findings.severity import Severity

    least = Severity(level).rank
    return any(not f.severity or Severity(f.severity).rank <= least for f in saved.new)


def _prepare(report: Path) -> None:
    from groupcheck.reports.files import prepare

    with ending_with_message(action=f"write the report to {report}"):
        prepare(report)


def _traced(source: PortSource, paths: list[Path] | None) -> tuple[PortSource, Tracing | None]:
    """A source of ports whose code in these files and folders is traced, if there are any.

    Raises:
        CommandError: the code cannot be traced.
    """
    if not paths:
        return source, None
    if not source.spec.startswith(IN_THIS_PROCESS):
        msg = f"--code needs a Python port, builtin or python:, not {source.spec}"
        raise CommandError(msg)
    for path in paths:
        if not path.exists():
            msg = f"cannot trace {path}: there is no such file or folder"
            raise CommandError(msg)
    try:
        from groupcheck.properties.code.tracing import Tracing
    except ModuleNotFoundError as error:
        msg = f"--code needs the packages of groupcheck[code]: {error}"
        raise CommandError(msg) from error
    tracing = Tracing(paths)
    return tracing.traced(source), tracing


def _code_of(tracing: Tracing | None) -> Code | None:
    """The lines that ran, if the code was traced.

    Raises:
        CommandError: none of the lines ran.
    """
    if tracing is None:
        return None
    from groupcheck.properties.code.measured import NoCodeError, measured

    with ending_with_message(NoCodeError):
        return measured(tracing)
