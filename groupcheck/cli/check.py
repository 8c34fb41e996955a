"""`groupcheck check`: check recordings and logs against the model, in this process or on Spark."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    NO_VERDICT,
    CommandError,
    ending_with_message,
    profile_of,
)
from groupcheck.cli.options import add_shared, add_table, add_verbose
from groupcheck.cli.output import Stopwatch, print_record, print_text, save
from groupcheck.cli.spark import session_unless_small, spark_session
from groupcheck.numeric_options import PROFILE, whole

if TYPE_CHECKING:
    from groupcheck.pipeline.check import Checked
    from groupcheck.pipeline.history_replay import FindingRow
    from groupcheck.properties.findings.finding import Finding
    from groupcheck.reports.record import ResultRecord

HELP = "check recordings and logs against the model"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck check`."""
    command.description = (
        "Checks each group of the sources against the model: accepted, rejected, or undecided with "
        "the reason. Sources of up to 20 MB (compressed, 2 MB) are checked in this process, others "
        "on Spark, as with --master and --conf. docs/tables.md describes the tables that --report "
        "writes."
    )
    command.epilog = (
        "Exit status: 0 no group is rejected, 1 a group is rejected, 2 there is no verdict."
    )
    command.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        help="a folder that ingest wrote; recordings, logs or folders of them; or kafka://HOST:PORT",
    )
    add_shared(command, "time_zone", "overwrite")
    table = """
--profile VERSION  the Kafka version to check against, instead of the one that the sources name:
                   0.10.0, 0.10.2, 2.7 or 4.1
--report DIR       write the tables to DIR
--html FILE        write a page: verdicts, findings, and the groups with most rebalances
"""
    add_table(command, table, report=(str, None))  # a path or a URI
    _add_follow(command)
    add_shared(command, "master", "conf", "json", "save")
    add_verbose(command, "the first 20 findings in full")


def _add_follow(command: argparse.ArgumentParser) -> None:
    """Add the options for a source that keeps growing."""
    table = """
--follow          keep checking the files that arrive in the folder SOURCE, or the records of the
                  topic, until Ctrl-C; each batch adds a part to the tables of --report
--checkpoint DIR  with --follow: where the state is stored, to continue after a restart
--idle SECONDS    with --follow: report a group after N seconds without events (3600)
--every SECONDS   with --follow: how often to look for events; 0: once, then end (2)
"""
    add_table(
        command,
        table,
        checkpoint=(str, None),
        idle=(whole(0, 10**9), 3_600),
        every=(whole(0, 10**6), 2),
    )


def run(options: argparse.Namespace) -> int:
    """Check each group of the sources.

    Raises:
        CommandError: the job fails, or a file cannot be written.
    """
    if options.profile is not None:
        profile_of(options.profile)
    if options.follow:
        return _follow(options)
    watch = Stopwatch()
    done = _checked(options)
    from groupcheck.reports.command_records import check_record
    from groupcheck.reports.pipeline import check_text

    findings = [(each, _finding_of(each)) for each in done.findings]
    saved = check_record(done._asdict(), findings, options.profile, options.sources, watch.took())
    if options.json:
        print_record(saved)
    else:
        print_text(check_text(saved, options.report, every=options.verbose))
    status = CONFORMS if done.accepted else NO_VERDICT
    if done.rejected:
        status = DIVERGES
    if options.html:
        _write_page(options.html, saved, status)
    if options.save:
        save(saved, options.save, status)
    return status


def _checked(options: argparse.Namespace) -> Checked:
    with session_unless_small(options) as spark:
        from groupcheck.pipeline.check import Request, check, in_process

        asked = Request(
            options.sources,
            options.profile,
            options.report,
            options.overwrite,
            options.time_zone,
        )
        if spark is None:
            return check(asked, in_process)
        from groupcheck.pipeline.check_on_spark import on_spark

        return check(asked, partial(on_spark, spark))


def _follow(options: argparse.Namespace) -> int:
    """Check a source that keeps growing, until it is interrupted."""
    if options.checkpoint is None or options.report is None or len(options.sources) != 1:
        msg = "--follow needs one folder or topic as SOURCE, --checkpoint DIR and --report DIR"
        raise CommandError(msg)
    if options.save:
        msg = "--save cannot be combined with --follow, which does not end"
        raise CommandError(msg)
    with spark_session(options) as spark:
        from groupcheck.pipeline.streaming import stream as job

        request = job.Asked(
            options.sources[0],
            options.checkpoint,
            options.report,
            options.profile,
            PROFILE,
            options.idle,
            options.every,
        )
        query, came = job.start(spark, request)
        job.wait(query)
    sys.stdout.write(
        f"followed   {came.batches:,} batches: {came.verdicts:,} verdicts, {came.findings:,} "
        f"findings, {came.quarantined:,} lines quarantined; it can be resumed\n"
    )
    return DIVERGES if came.findings else CONFORMS


def _write_page(path: Path, saved: ResultRecord, status: int) -> None:
    from groupcheck.reports.changes import changes
    from groupcheck.reports.explored_graphs import explored_again
    from groupcheck.reports.html import as_html

    page = as_html(saved, changes(saved, None), explored_again(saved))
    with ending_with_message(action=f"write {path}", status=status):
        path.write_text(page, encoding="utf-8")


def _finding_of(group: FindingRow) -> Finding | None:
    """The finding in a group's own recording, as `groupcheck replay` finds it."""
    if group.recording is None:
        return None
    from groupcheck.properties.histories.checker import check_text
    from groupcheck.properties.sequence import MalformedTraceError

    try:
        return check_text(group.recording).finding
    except MalformedTraceError:  # it lacks responses (groupcheck history), or is a log
        return None
