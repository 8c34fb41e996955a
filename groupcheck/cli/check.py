"""`groupcheck check`: check recordings and logs against the model, on Spark."""

from __future__ import annotations

import argparse
import sys
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
from groupcheck.cli.output import Stopwatch, print_json, print_text, save
from groupcheck.cli.spark import spark_session
from groupcheck.numeric_options import PROFILE, whole

if TYPE_CHECKING:
    from groupcheck.pipeline.check import FindingRow
    from groupcheck.properties.findings.finding import Finding
    from groupcheck.reports.record import ResultRecord

HELP = "check recordings and logs against the model, on Spark"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck check`."""
    command.description = (
        "Checks each group of the sources against the model: accepted, rejected, or undecided with "
        "the reason. docs/tables.md describes the tables that --report writes."
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
    with spark_session(options, in_python=True) as spark:
        from groupcheck.pipeline import check as job

        request = job.Request(
            options.sources,
            options.profile,
            options.report,
            options.overwrite,
            options.time_zone,
            bool(options.html or options.save),
        )
        done = job.check(spark, request)
    from groupcheck.reports.command_records import check_record
    from groupcheck.reports.pipeline import as_json, checked

    findings = [(each, _finding_of(each)) for each in done.findings]
    if options.json:
        print_json(as_json(done._asdict(), findings))
    else:
        print_text(checked(done._asdict(), findings, options.report, every=options.verbose))
    status = CONFORMS if done.accepted else NO_VERDICT
    if done.rejected:
        status = DIVERGES
    if options.html or options.save:
        saved = check_record(
            done._asdict(), findings, options.profile, options.sources, watch.took()
        )
        if options.html:
            _write_page(options.html, saved, status)
        if options.save:
            save(saved, options.save, status)
    return status


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
        f"findings, {came.quarantined:,} lines quarantined; it can go on\n"
    )
    return DIVERGES if came.findings else CONFORMS


def _write_page(path: Path, saved: ResultRecord, status: int) -> None:
    from groupcheck.reports.changes import changes
    from groupcheck.reports.explored_graphs import again
    from groupcheck.reports.html import as_html

    page = as_html(saved, changes(saved, None), again(saved))
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
