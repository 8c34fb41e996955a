"""The commands that run on Spark: ingest, check, explore. What they do is in the pipeline."""

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

from groupcheck.numbers import PROFILE
from groupcheck.saving import CameOfExploring, Watch, finish_exploration, save
from groupcheck.status import CONFORMS, DIVERGES, IMPOSSIBLE, ImpossibleError
from groupcheck.telling import tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from groupcheck.model.exploring.exploration import Settings
    from groupcheck.pipeline.summary import Told
    from groupcheck.properties.findings.finding import Finding
    from groupcheck.reports.saved import Saved


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
    if options.follow:
        return _follow(options)
    watch = Watch()
    with _spark(options, in_python=True) as spark:
        from groupcheck.pipeline import check as job

        asked = job.Request(
            options.sources,
            options.profile,
            options.report,
            options.overwrite,
            options.time_zone,
            bool(options.html or options.save),
        )
        done = job.check(spark, asked)
    from groupcheck.reports.pipeline import as_json, checked
    from groupcheck.reports.told_otherwise import check as told

    findings = [(told, _finding_of(told)) for told in done.findings]
    if options.json:
        sys.stdout.write(json.dumps(as_json(done._asdict(), findings), indent=1) + "\n")
    else:
        tell(checked(done._asdict(), findings, options.report, every=options.verbose))
    status = CONFORMS if done.accepted else IMPOSSIBLE
    if done.rejected:
        status = DIVERGES
    if options.html or options.save:
        saved = told(done._asdict(), findings, options.profile, options.sources, watch.took())
        if options.html:
            _write_page(options.html, saved, status)
        if options.save:
            save(saved, options.save, status)
    return status


def _follow(options: argparse.Namespace) -> int:
    """Hold to the model what keeps arriving, until it is interrupted."""
    if options.checkpoint is None or options.report is None or len(options.sources) != 1:
        msg = "--follow needs one folder or topic as SOURCE, --checkpoint DIR and --report DIR"
        raise ImpossibleError(msg)
    if options.save:
        msg = "--save is for a check that ends, and not for --follow"
        raise ImpossibleError(msg)
    with _spark(options) as spark:
        from groupcheck.pipeline.following import stream as job

        asked = job.Asked(
            options.sources[0],
            options.checkpoint,
            options.report,
            options.profile,
            PROFILE,
            options.idle,
            options.every,
        )
        query, came = job.start(spark, asked)
        job.wait(query)
    sys.stdout.write(
        f"followed   {came.batches:,} batches: {came.verdicts:,} verdicts, {came.findings:,} "
        f"findings, {came.quarantined:,} lines quarantined; it can go on\n"
    )
    return DIVERGES if came.findings else CONFORMS


def explore_on_spark(settings: Settings, options: argparse.Namespace) -> int:
    """Explore the model itself, on Spark.

    Raises:
        ImpossibleError: there is no such thing in it, or it could not be done.
    """
    from groupcheck.model.exploring.exploration import UnfitSettingsError
    from groupcheck.model.exploring.explorer import TooManyStatesError
    from groupcheck.properties.laws.laws import Counterexample, in_order, note

    if options.out or not settings.symmetry:
        msg = "--engine spark has no graph in memory: --out and --no-symmetry are for the other"
        raise ImpossibleError(msg)
    if options.work is None and not (options.master or "local").startswith("local"):
        msg = "--master needs --work DIR, a folder that all machines of the cluster see"
        raise ImpossibleError(msg)
    broken: dict[str, Counterexample] = {}
    watch = Watch()
    try:
        with _spark(options, in_python=True) as spark, _folder(options.work) as work:
            from groupcheck.pipeline.exploring import breadth_first as job

            found = job.explore(spark, settings, work)
    except (UnfitSettingsError, TooManyStatesError) as error:
        raise ImpossibleError(str(error)) from error
    for each in (each for of_space in found.broken.values() for each in of_space):
        note(broken, each)
    came = CameOfExploring(found.exploration, in_order(broken), [], {})
    return finish_exploration(came, options, watch)


@contextmanager
def _folder(path: str | None) -> Iterator[str]:
    """The folder that is asked for, or one that is removed."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="groupcheck-") as folder:
        yield folder


def _write_page(path: Path, saved: Saved, status: int) -> None:
    from groupcheck.reports.changes import changes
    from groupcheck.reports.graphs_again import again
    from groupcheck.reports.html import as_html

    page = as_html(saved, changes(saved, None), again(saved))
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror}"
        raise ImpossibleError(msg, status or IMPOSSIBLE) from error


def _finding_of(told: Told) -> Finding | None:
    """The finding in a group's own recording, which `groupcheck replay` comes to as well."""
    if told.recording is None:
        return None
    from groupcheck.properties.histories.recorded import judge_text
    from groupcheck.properties.sequence import MalformedTraceError

    try:
        return judge_text(told.recording).finding
    except MalformedTraceError:  # answers are left out (groupcheck history), or lines of a log
        return None


@contextmanager
def _spark(options: argparse.Namespace, *, in_python: bool = False) -> Iterator[SparkSession]:
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
        asked = session(options.master, conf, in_python=in_python)
        with interruptible(), asked as spark, shown(spark):
            yield spark
    except PipelineError as error:
        raise ImpossibleError(str(error)) from error
    finally:
        logging.disable(logged)
