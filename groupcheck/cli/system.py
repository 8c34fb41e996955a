"""`groupcheck system`: explore consumers and their coordinator together."""

from __future__ import annotations

import argparse

from groupcheck.cli.exit_status import CONFORMS, DIVERGES, CommandError
from groupcheck.cli.options import add_shared, add_table
from groupcheck.cli.output import print_run
from groupcheck.numeric_options import whole

HELP = "explore consumers and their coordinator together"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck system`."""
    command.description = (
        "Explores a group of Kafka's consumers and their coordinator: every order in which "
        "requests are handled and answers arrive, with up to N faults (--faults). A fault breaks a "
        "connection, ends the process of a consumer, or ends the session of a consumer that is "
        "only slow. Checks that a partition has one owner in a generation, that every partition "
        "has an owner in the end, and that no committed offset is lost."
    )
    command.epilog = "Exit status: 0 the promises hold, 1 one is violated, 2 too many states."
    table = """
--profile VERSION  the version of Kafka, 2.7 or 4.1 (4.1)
--consumers N      how many consumers there are (2)
--faults N         how many faults may happen (0)
--cooperative      the assignors are cooperative, not eager
--commits          consumers consume two records of each partition, and commit after each
--closes           consumers may be closed
--generations N    stop at generation N (9)
--max-states N     stop at N states (1000000)
"""
    numbers = {
        "consumers": (whole(1, 9), 2),
        "faults": (whole(0, 9), 0),
        "generations": (whole(1, 99), 9),
        "max_states": (whole(1, 10**9), 10**6),
    }
    add_table(command, table, profile=(str, "4.1"), **numbers)
    add_shared(command, "json")


def run(options: argparse.Namespace) -> int:
    """Explore the system.

    Raises:
        CommandError: the version is unknown, or there are too many states.
    """
    from groupcheck.model.engine.exploration import TooManyStatesError, explore
    from groupcheck.model.member.specification import VERSIONS
    from groupcheck.model.system.specification import WholeSystem
    from groupcheck.properties.interruption import interruptible
    from groupcheck.reports.progress import Bars
    from groupcheck.reports.system import SystemRun, run_json, run_text

    if options.profile not in VERSIONS:
        msg = f"no consumers of version {options.profile!r}; known: {', '.join(VERSIONS)}"
        raise CommandError(msg)
    instance = WholeSystem(
        options.profile,
        options.consumers,
        options.cooperative,
        options.faults,
        options.generations,
        options.closes,
        options.commits,
    )
    with interruptible(), Bars() as bars:
        try:
            space = explore(instance, bars("states", None), most_states=options.max_states)
        except TooManyStatesError as error:
            msg = f"{error}: fewer consumers or faults, or a larger --max-states"
            raise CommandError(msg) from error
        result = SystemRun.of(space)
    print_run(result, run_json, run_text, as_json=options.json)
    return DIVERGES if result.broken else CONFORMS
