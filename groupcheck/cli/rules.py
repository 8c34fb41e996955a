"""`groupcheck rules`: list the rules of the model, or the difference between two versions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from groupcheck.cli.exit_status import CONFORMS, CommandError, profile_of
from groupcheck.cli.options import add_table
from groupcheck.numeric_options import PROFILE

HELP = "list the rules of the model, or how two versions of Kafka differ"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck rules`."""
    command.description = (
        "Lists the rules of the model, each with its conditions, its effects and the line of "
        "Kafka's source. The rules of a table are listed in the order in which they are tried; the "
        "first rule whose conditions all hold is applied. For versions with recorded tests of a "
        "broker, says how many parts of the rule they confirm. With --diff, lists only the rules "
        "in which two versions differ."
    )
    table = """
--api API,...      an API such as JoinGroup, an area such as rebalance, time or log, or a heading
                   of docs/rules.md; may be repeated (all)
--state STATE      only rules that can apply in this state of the group; with --diff, those that
                   name the state come first; none: the group does not exist
--rule ID          only rules whose ids begin with ID, such as join/static
--profile VERSION  the Kafka version; of a minor version such as 3.9, a line without a tag is one of
                   2.7.2 (2.7)
--all              with --diff, list the rules that are the same, too
"""
    add_table(command, table, profile=(str, PROFILE), rule=(str, ""))
    command.add_argument(
        "--diff", nargs=2, metavar=("A", "B"), help="only the rules in which two versions differ"
    )


def run(options: argparse.Namespace) -> int:
    """Print the rules.

    Raises:
        CommandError: an API, a state, a rule or a version is unknown, or --all has no --diff.
    """
    from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
    from groupcheck.reports import rules

    if options.all and not options.diff:
        msg = "--all needs --diff"
        raise CommandError(msg)
    if not any(
        name.startswith(options.rule) for each in EVERY_PROFILE.values() for name in each.rules
    ):
        msg = f"no rule begins with {options.rule!r}"
        raise CommandError(msg)

    areas = tuple(
        _known("API or area", name, rules.areas(), rules.tables()) for name in options.api
    )
    state = options.state and _known("state", options.state, rules.states())
    selection = rules.Selection(areas, state, options.rule, options.all)
    profiles = [profile_of(name, minors=True) for name in options.diff or (options.profile,)]
    for note in filter(None, (rules.missing_state(each, state) for each in profiles)):
        sys.stderr.write(f"groupcheck: {note}\n")
    if options.diff:
        sys.stdout.write(rules.difference(profiles[0], profiles[1], selection))
    else:
        sys.stdout.write(rules.listing(profiles[0], selection))
    return CONFORMS


def _known(kind: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """The name as the model spells it; an error does not list the `others`."""
    found = {each.lower(): each for each in (*others, *known)}
    if name.lower() not in found:
        msg = f"unknown {kind} {name!r}; known: {', '.join(known)}"
        raise CommandError(msg)
    return found[name.lower()]
