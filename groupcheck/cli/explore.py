"""`groupcheck explore`: explore the model, in this process or on Spark."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    CommandError,
    ending_with_message,
    profile_of,
)
from groupcheck.cli.options import (
    add_instances,
    add_members,
    add_number,
    add_shared,
    add_table,
    add_verbose,
)
from groupcheck.cli.output import Stopwatch, print_record, print_text, save
from groupcheck.cli.spark import spark_session
from groupcheck.numeric_options import NUMBERS, memory, whole

if TYPE_CHECKING:
    from groupcheck.model.classic.exploring.exploration import Exploration, Settings
    from groupcheck.model.classic.instances.inputs import Feature
    from groupcheck.properties.generators.suite import Suite
    from groupcheck.properties.temporal.counterexamples import Counterexample

HELP = "explore the model"


class _Explored(NamedTuple):
    """The result of an exploration.

    `violations` is None if no properties were checked; `suites` are by the names of instances.
    """

    exploration: Exploration
    violations: list[Counterexample] | None
    files: list[Path]
    suites: Mapping[str, Suite]


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck explore`."""
    command.description = (
        "Explores the model breadth first and prints the counts that TLC prints, what is reachable "
        "and how, and which rules change the state of a group."
    )
    command.epilog = (
        "Exit status: 0 no error, 1 a property is violated unexpectedly, or another error in the "
        "model, 2 the model is not explored."
    )
    add_shared(command, "profile")
    add_members(command, 9)
    table = """
--generations N  distinct generations; all later ones count as the last (1)
"""
    add_table(command, table, generations=(whole(1, 99), 1))
    choice = command.add_mutually_exclusive_group()
    add_instances(choice, (), "all of them")
    choice.add_argument(
        "--features",
        metavar="NAME",
        nargs="+",
        default=(),
        help="one model instance with these features instead (docs/explore.md)",
    )
    table = """
--no-symmetry      explore without symmetry reduction, as TLC does
--max-states N     stop an instance at N states (no limit)
--max-memory SIZE  stop when this process needs more memory than SIZE, such as 512m or 4g; Spark has
                   its own settings (80 %% of the free memory of the machine or container)
--witness RULE     print a shortest trace to a rule of the model
--out DIR          write to DIR: the graphs (GraphML, DOT, JSON), tests that cover every transition,
                   and the trace to RULE (ITF, and for replay); takes five times the memory
"""
    add_table(command, table, max_states=(whole(1, 10**9), None), max_memory=(memory, None))
    longest = "maximum number of steps of a test that --out writes"
    add_number(command, NUMBERS["steps"]._replace(says=longest))
    add_shared(command, "json")
    command.add_argument(
        "--engine",
        choices=["python", "spark"],
        default="python",
        help="explore in this process, or on Spark, which keeps no states in memory and finds no "
        "strongly connected components (python)",
    )
    table = """
--work DIR  with --engine spark: where each BFS level is stored; a run that was interrupted
            continues from there (a temporary folder)
"""
    add_table(command, table, work=(str, None))
    add_shared(command, "master", "conf", "save")
    add_verbose(command, "settings, rules, properties, digests")


def run(options: argparse.Namespace) -> int:
    """Explore the model, in this process or on Spark.

    Raises:
        CommandError: a name is unknown, the memory is not enough, or a file cannot be written.
    """
    from groupcheck.model.classic.exploring.exploration import Settings

    settings = Settings(
        profile_of(options.profile),
        options.members,
        tuple(options.instance),
        not options.no_symmetry,
        options.max_states,
        options.witness,
        _features(options.features),
        options.generations,
    )
    watch = Stopwatch()
    on_spark = options.engine == "spark"
    explored = _on_spark(settings, options) if on_spark else _in_process(settings, options)
    return _report(explored, options, watch)


def _in_process(settings: Settings, options: argparse.Namespace) -> _Explored:
    from groupcheck.cli.memory_limit import OutOfMemoryError, Progress, limited
    from groupcheck.model.classic.exploring.exploration import UnfitSettingsError
    from groupcheck.model.classic.exploring.exploration import run as explore
    from groupcheck.model.engine.exploration import StateSpace, TooManyStatesError
    from groupcheck.properties.generators.suite_file import write_suite
    from groupcheck.properties.temporal.counterexamples import counterexamples, one_of_each
    from groupcheck.reports.graph_files import write_graph, write_witness
    from groupcheck.reports.progress import Bars

    if options.work or options.master or options.conf:
        msg = "--work, --master and --conf need --engine spark"
        raise CommandError(msg)
    files: list[Path] = []
    violations: list[Counterexample] = []
    suites: dict[str, Suite] = {}
    bars = Bars()
    progress = Progress(bars)

    def finish(name: str, space: StateSpace) -> None:
        if settings.symmetry:
            progress(f"checking the properties of {name}", None)
            violations.extend(counterexamples(name, space))
        if options.out:
            progress(f"writing {name}", None)
            files.extend(write_graph(name, space, options.out))
            written, suites[name] = write_suite(name, space, options.steps, options.out)
            files.append(written)

    action = f"write the graphs to {options.out}"
    try:
        with ending_with_message(UnfitSettingsError, TooManyStatesError, action=action):
            with bars:
                exploration = limited(
                    lambda: explore(settings, progress, finish), options.max_memory, progress
                )
            if options.out and exploration.witness:
                files += write_witness(exploration.witness, options.out)
    except OutOfMemoryError as error:
        msg = f"{error}; --max-memory allows more, and --engine spark keeps no states in memory"
        raise CommandError(msg) from error
    found = one_of_each(violations) if settings.symmetry else None
    return _Explored(exploration, found, files, suites)


def _on_spark(settings: Settings, options: argparse.Namespace) -> _Explored:
    from groupcheck.model.classic.exploring.exploration import UnfitSettingsError
    from groupcheck.model.engine.exploration import TooManyStatesError
    from groupcheck.properties.temporal.counterexamples import one_of_each

    if options.out or not settings.symmetry:
        msg = "--out and --no-symmetry need the graph in memory: --engine python"
        raise CommandError(msg)
    if options.work is None and not (options.master or "local").startswith("local"):
        msg = "--master needs --work DIR, a folder that all machines of the cluster see"
        raise CommandError(msg)
    with (
        ending_with_message(UnfitSettingsError, TooManyStatesError),
        spark_session(options, in_python=True) as spark,
        _folder(options.work) as work,
    ):
        from groupcheck.pipeline.exploring import breadth_first as job

        found = job.explore(spark, settings, work)
    violations = (each for of_instance in found.violations.values() for each in of_instance)
    return _Explored(found.exploration, one_of_each(violations), [], {})


@contextmanager
def _folder(path: str | None) -> Iterator[str]:
    """The given folder, or a temporary one."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="groupcheck-") as folder:
        yield folder


def _report(explored: _Explored, options: argparse.Namespace, watch: Stopwatch) -> int:
    """Print and save the result, and return the exit status."""
    from groupcheck.reports.exploration import details, summary
    from groupcheck.reports.exploration_record import explore_record

    exploration, violations, files, suites = explored
    saved = explore_record(exploration, violations, watch.took())
    if options.json:
        print_record(saved)
    else:
        more = details(exploration, violations) if options.verbose else ""
        print_text(summary(exploration, files, violations, suites) + more)
    status = CONFORMS if saved.conforms else DIVERGES
    if options.save is not None:
        save(saved, options.save, status)
    return status


def _features(names: Sequence[str]) -> frozenset[Feature]:
    """The features of these names."""
    from groupcheck.model.classic.instances.inputs import Feature

    known = {feature.value: feature for feature in Feature}
    for name in names:
        if name not in known:
            msg = f"unknown feature {name!r}; known: {', '.join(known)}"
            raise CommandError(msg)
    return frozenset(known[name] for name in names)
