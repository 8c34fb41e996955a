"""`groupcheck assignors`: verify the partition assignors of a client library."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    NO_VERDICT,
    CommandError,
    ending_with_message,
)
from groupcheck.cli.options import add_shared, add_table
from groupcheck.cli.output import print_run, save_findings
from groupcheck.numeric_options import NUMBERS, whole

if TYPE_CHECKING:
    from groupcheck.properties.assignors.case_file import Case
    from groupcheck.properties.assignors.port import AssignorInfo, AssignorPort
    from groupcheck.properties.assignors.verify import Verified

HELP = "check the partition assignors of a client library"

PORTS: Final = """\
PORT is the library:
  builtin                 groupcheck's own assignors
  kafka-python, aiokafka  the installed version
  librdkafka              the version in the installed confluent-kafka; groupcheck
                          simulates a group and makes a consumer its leader
  franz-go                in Go, built once
  kafka-clients:VERSION   Apache Kafka's own, 2.7, 3.9 or 4.1, in Java; from 3.9
                          on also those of the broker, broker:range and
                          broker:uniform
  python:MODULE:FACTORY   a Python object that FACTORY() returns; the module is
                          in the current directory or installed
  exec:COMMAND            a program that follows docs/assignors.md on its
                          standard input and output

All need the packages of groupcheck[wire]; builtin and aiokafka need those of
groupcheck[serve] too.

Exit status: 0 every assignment keeps Kafka's promises, 1 one does not, 2 there
is no verdict."""

DESCRIPTION: Final = """\
Gives random groups to the assignors of a library: topics that exist or not,
subscriptions that differ, earlier owners with and without generations, racks.
Checks each assignment against what Kafka promises to users. Prints, for each
promise that is broken, the smallest group found."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck assignors`."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = DESCRIPTION, PORTS
    command.add_argument("action", metavar="verify", choices=("verify",), help="what to do")
    command.add_argument("port", metavar="PORT", help="the library, in a form listed below")
    table = """
--assignor NAME,...  only these assignors; may be repeated
--profile VERSION    the Kafka version whose promises are checked, 2.7 or 4.1 (that of
                     kafka-clients, else 4.1)
--cases N            groups for each assignor (1000)
--seed N             draw other groups (0)
--no-racks           members and replicas have no racks
--case FILE          only the group of FILE, which --save has written
--save DIR           write the group of each finding to DIR
"""
    read = {"cases": (whole(1, 10**8), 1000), "seed": (NUMBERS["seed"].parse, 0)}
    add_table(command, table, **read)
    add_shared(command, "json")


def run(options: argparse.Namespace) -> int:
    """Verify the assignors of a library.

    Raises:
        CommandError: the library cannot be run, or a file cannot be read or written.
    """
    from groupcheck.properties.assignors.case_file import Case, write_case
    from groupcheck.properties.assignors.source import assignor_source
    from groupcheck.properties.brokers.definition import to_stderr
    from groupcheck.properties.finding_file import MalformedFileError
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError
    from groupcheck.reports.assignors import AssignorsRun, finding_id, run_json, run_text

    errors = (UnknownPortError, PortUnavailableError, MalformedFileError)
    with ending_with_message(*errors, action="run the assignors"), interruptible():
        source = assignor_source(options.port)
        version = _version(options.profile or source.version)
        only = _case(options.case)
        port = source.make(to_stderr)
        try:
            info = port.open()
            names = _names(options, info, only)
            verified = _verified(options, port, names, version, only)
        finally:
            port.shutdown()
    result = AssignorsRun(source.spec, info, version, options.seed, verified)
    print_run(result, run_json, run_text, as_json=options.json)
    files = {
        finding_id(each): partial(
            write_case, case=Case(each.assignor, each.trial.group, each.cause)
        )
        for each in result.findings
    }
    save_findings(options.save, files)
    if result.broken:
        return DIVERGES
    return NO_VERDICT if any(each.interrupted for each in verified) else CONFORMS


def _version(name: str) -> str:
    from groupcheck.model.assignors.promises import VERSIONS

    if name not in VERSIONS:
        msg = f"no promises of version {name!r}; there are those of {', '.join(VERSIONS)}"
        raise CommandError(msg)
    return name


def _case(path: Path | None) -> Case | None:
    from groupcheck.properties.assignors.case_file import read_case

    if path is None:
        return None
    with ending_with_message(action=f"read {path}"):
        return read_case(path)


def _names(options: argparse.Namespace, info: AssignorInfo, only: Case | None) -> Sequence[str]:
    """The assignors to verify."""
    from groupcheck.model.assignors.promises import ASSIGNORS

    known = [name for name in info.assignors if name in ASSIGNORS]
    if only and options.assignor:
        msg = "--case names the assignor: leave out --assignor"
        raise CommandError(msg)
    wanted = [only.assignor] if only else list(dict.fromkeys(options.assignor)) or known
    if not wanted:
        msg = f"{options.port} has none of Kafka's assignors: {', '.join(ASSIGNORS)}"
        raise CommandError(msg)
    for name in wanted:
        if name not in known:
            msg = f"{options.port} has no assignor {name!r}; it has {', '.join(known) or 'none'}"
            raise CommandError(msg)
    return wanted


def _verified(
    options: argparse.Namespace,
    port: AssignorPort,
    names: Sequence[str],
    version: str,
    only: Case | None,
) -> list[Verified]:
    from groupcheck.properties.assignors.verify import Settings, verify, verify_case
    from groupcheck.reports.progress import Bars

    if only is not None:
        return [verify_case(port, version, only)]
    settings = Settings(version, options.cases, options.seed, not options.no_racks)
    done: list[Verified] = []
    with Bars() as bars:
        for name in names:
            done.append(verify(port, name, settings, bars(name, options.cases)))
            if done[-1].interrupted:
                break
    return done
