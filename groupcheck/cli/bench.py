"""`groupcheck bench`: compare the speed of the explorer with TLC's."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, CommandError, profile_of
from groupcheck.cli.options import add_instances, add_shared, add_table
from groupcheck.numeric_options import whole

HELP = "compare the speed of the explorer with TLC's, in a clone of the repository"
REPOSITORY = Path(__file__).parents[2]


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck bench`."""
    command.description = (
        "Runs the explorer and TLC on the same model instances, one after the other, and prints "
        "how many states per second each finds, and the ratio."
    )
    command.epilog = (
        "Exit status: 0 both find the same states, 1 they do not, 2 one of them cannot run."
    )
    add_shared(command, "profile")
    table = """
--members N...      numbers of members (1 2 3)
--generations N...  numbers of distinct generations (1)
"""
    add_table(command, table, members=(whole(1, 3), (1, 2, 3)), generations=(whole(1, 99), (1,)))
    add_instances(command, ("membership", "metadata", "storing", "order"))


def run(options: argparse.Namespace) -> int:
    """Measure the explorer and TLC.

    Raises:
        CommandError: an instance is unknown, or TLC cannot be run.
    """
    from groupcheck.model.classic.exploring.exploration import Settings, UnfitSettingsError, chosen
    from groupcheck.reports.progress import Bars

    profile, names = profile_of(options.profile), tuple(options.instance)
    measured = []
    try:
        instances = [
            chosen(Settings(profile, members, names, generations=generations))
            for members in options.members
            for generations in options.generations
        ]
        against_tlc = _against_tlc()
        with Bars() as bars:
            for name in instances[0]:
                for each in instances:
                    bars(f"{name}, members: {each[name].members}", None)
                    measured.append(against_tlc.measure(name, each[name]))
    except UnfitSettingsError as error:
        raise CommandError(str(error)) from error
    except (OSError, ValueError) as error:
        msg = f"TLC cannot be run: {error}"
        raise CommandError(msg) from error
    sys.stdout.write(against_tlc.table(profile.kafka, measured))
    return CONFORMS if all(one.agreed for one in measured) else DIVERGES


def _against_tlc() -> ModuleType:
    """The benchmark that runs both; it is no part of the package."""
    folder = REPOSITORY / "bench"
    if not (folder / "against_tlc.py").is_file():
        msg = "bench runs TLC with the tests' tools, so it needs a clone of the repository"
        raise CommandError(msg)
    sys.path[:0] = [str(REPOSITORY / "tests"), str(folder)]
    try:
        return importlib.import_module("against_tlc")
    except ModuleNotFoundError as error:
        msg = f"bench needs the packages of the tests, pip install -e '.[test]': {error}"
        raise CommandError(msg) from error
