"""The commands that run on Spark: ingest and check. What they do is in the pipeline."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from groupcheck.pipeline.summary import Checked, Told
    from groupcheck.properties.findings.finding import Finding


def ingest(options: argparse.Namespace) -> int:
    """Take sources in.

    Raises:
        ImpossibleError: it could not be done.
    """
    with _spark(options) as spark:
        from groupcheck.pipeline import ingest as job

        done = job.ingest(
            spark,
            options.sources,
            options.out,
            overwrite=options.overwrite,
            time_zone=options.time_zone,
        )
    from groupcheck.reports.pipeline import ingested

    counts = done.counts._asdict()
    told = {**counts, "groups": done.groups, "out": options.out, "reasons": dict(done.reasons)}
    sys.stdout.write(
        json.dumps(told, indent=1) + "\n"
        if options.json
        else ingested(counts, done.groups, done.reasons, options.out)
    )
    return CONFORMS


def check(options: argparse.Namespace) -> int:
    """Hold what was taken in to the model, group by group.

    Raises:
        ImpossibleError: it could not be done.
    """
    if options.profile is not None:
        from groupcheck.model.profiles import PROFILES

        if options.profile not in PROFILES:
            msg = f"unknown profile {options.profile!r} (known: {', '.join(PROFILES)})"
            raise ImpossibleError(msg)
    with _spark(options) as spark:
        from groupcheck.pipeline import check as job

        asked = job.Request(
            options.sources,
            options.profile,
            options.report,
            options.overwrite,
            options.time_zone,
            bool(options.html),
        )
        done = job.check(spark, asked)
    from groupcheck.reports.pipeline import as_json, checked

    findings = [(told, _finding_of(told)) for told in done.findings]
    sys.stdout.write(
        json.dumps(as_json(done._asdict(), findings), indent=1) + "\n"
        if options.json
        else checked(done._asdict(), findings, options.report)
    )
    if options.html:
        _write_page(options.html, done, findings)
    if done.rejected:
        return DIVERGES
    return CONFORMS if done.accepted else IMPOSSIBLE


def _write_page(path: Path, done: Checked, findings: list[tuple[Told, Finding | None]]) -> None:
    from groupcheck.reports.check_page import check_page
    from groupcheck.reports.lanes import lanes_of

    page = check_page(done._asdict(), findings, lanes_of(done.lanes))
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror}"
        raise ImpossibleError(msg) from error


def _finding_of(told: Told) -> Finding | None:
    """The finding in a group's own recording, which `groupcheck replay` comes to as well."""
    if told.recording is None:
        return None
    from groupcheck.properties.histories.recorded import judge, load
    from groupcheck.properties.sequence import MalformedTraceError

    with tempfile.TemporaryDirectory(prefix="groupcheck-") as folder:
        path = Path(folder) / "recording.jsonl"
        path.write_text(told.recording, encoding="utf-8")
        try:
            return judge(load(path)).finding
        except MalformedTraceError:  # answers are left out (groupcheck history), or lines of a log
            return None


@contextmanager
def _spark(options: argparse.Namespace) -> Iterator[SparkSession]:
    """A session as the options have it; what goes wrong is said in a line."""
    from groupcheck.pipeline.errors import PipelineError
    from groupcheck.pipeline.session import parse_conf, session
    from groupcheck.pipeline_progress import shown
    from groupcheck.properties.interruption import interruptible

    logged = logging.root.manager.disable
    # What py4j logs when it is interrupted is a stack trace; all there is to say is said here.
    logging.disable(logging.CRITICAL)
    try:
        conf = parse_conf(options.conf)
        with interruptible(), session(options.master, conf) as spark, shown(spark):
            yield spark
    except PipelineError as error:
        raise ImpossibleError(str(error)) from error
    finally:
        logging.disable(logged)
