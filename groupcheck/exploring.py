"""The command `explore`: the model explored in this process; on Spark, `pipeline_commands` does."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groupcheck.pipeline_commands import explore_on_spark
from groupcheck.saving import CameOfExploring, Watch, finish_exploration
from groupcheck.status import ImpossibleError, check_known

if TYPE_CHECKING:
    from groupcheck.model.exploring.exploration import Settings
    from groupcheck.model.spaces.clients import Feature


def explore(options: argparse.Namespace) -> int:
    """Explore the model itself, in this process or on Spark.

    Raises:
        ImpossibleError: there is no such thing in it, or no room for it.
    """
    from groupcheck.model.exploring.exploration import Settings
    from groupcheck.model.profiles import PROFILES

    check_known(options.profile, PROFILES)
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
    if options.engine == "spark":
        return explore_on_spark(settings, options)
    if options.work or options.master or options.conf:
        msg = "--work, --master and --conf are for --engine spark"
        raise ImpossibleError(msg)
    return _explore_here(settings, options)


def _explore_here(settings: Settings, options: argparse.Namespace) -> int:
    from groupcheck.memory import Course, OutOfMemoryError, held_to
    from groupcheck.model.exploring.exploration import UnfitSettingsError, run
    from groupcheck.model.exploring.explorer import Space, TooManyStatesError
    from groupcheck.properties.generators.suite import Suite
    from groupcheck.properties.generators.suite_file import write_suite
    from groupcheck.properties.laws.laws import Counterexample, counterexamples, in_order, note
    from groupcheck.reports.graph_files import write_graph, write_witness
    from groupcheck.reports.progress import Bars

    files: list[Path] = []
    broken: dict[str, Counterexample] = {}
    suites: dict[str, Suite] = {}
    bars = Bars()
    course = Course(bars)

    def keep(name: str, space: Space) -> None:
        if settings.symmetry:
            course(f"asking the laws of {name}", None)
            for each in counterexamples(name, space):
                note(broken, each)
        if options.out:
            course(f"writing {name}", None)
            files.extend(write_graph(name, space, options.out))
            written, suites[name] = write_suite(name, space, options.steps, options.out)
            files.append(written)

    gc.set_threshold(50_000)  # as in verify
    watch = Watch()
    try:
        with held_to(options.max_memory, course), bars:
            exploration = run(settings, course, keep)
        if options.out and exploration.witness:
            files += write_witness(exploration.witness, options.out)
    except (UnfitSettingsError, TooManyStatesError) as error:
        raise ImpossibleError(str(error)) from error
    except OutOfMemoryError as error:
        msg = f"{error}; --max-memory allows more, and --engine spark keeps no states in memory"
        raise ImpossibleError(msg) from error
    except OSError as error:
        msg = f"cannot write the graphs to {options.out}: {error.strerror}"
        raise ImpossibleError(msg) from error
    laws = in_order(broken) if settings.symmetry else None
    came = CameOfExploring(exploration, laws, files, suites)
    return finish_exploration(came, options, watch)


def _features(names: Sequence[str]) -> frozenset[Feature]:
    """The features of these names."""
    from groupcheck.model.spaces.clients import Feature

    known = {feature.value: feature for feature in Feature}
    for name in names:
        if name not in known:
            msg = f"unknown feature {name!r}; known: {', '.join(known)}"
            raise ImpossibleError(msg)
    return frozenset(known[name] for name in names)
