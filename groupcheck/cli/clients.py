"""`groupcheck clients`: verify the consumer of a client library."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
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
from groupcheck.numeric_options import whole

if TYPE_CHECKING:
    from groupcheck.model.member.specification import Consumer
    from groupcheck.properties.clients.port import ClientPort
    from groupcheck.properties.clients.sequence_file import ClientSequence
    from groupcheck.properties.clients.verify import Verified

HELP = "check how the consumer of a client library takes part in a group"

PORTS: Final = """\
PORT is the library:
  builtin                 groupcheck's own consumer
  kafka-python, aiokafka  the installed version
  librdkafka              the version in the installed confluent-kafka
  kafka-clients:VERSION   Apache Kafka's own, 2.7, 3.9 or 4.1, in Java

All but builtin need the packages of groupcheck[wire]; aiokafka needs those of
groupcheck[serve] too.

Exit status: 0 the consumer behaves like Kafka's, 1 it differs, 2 there is no
verdict."""

DESCRIPTION: Final = """\
Leads consumers of a library through every transition of a specification of
Kafka's Java consumer, with groupcheck as the broker: requests are answered with
success and with errors, time passes, connections break. Checks which requests
the consumer sends, with which member id and generation, when it calls the
rebalance listener, and how commits end. Prints each difference once, with the
shortest sequence that shows it."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck clients`."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description, command.epilog = DESCRIPTION, PORTS
    command.add_argument("action", metavar="verify", choices=("verify",), help="what to do")
    command.add_argument("port", metavar="PORT", help="the library, in a form listed below")
    table = """
--instance NAME,...  eager, eager-static, cooperative, cooperative-static, automatic,
                     automatic-static, automatic-cooperative, early-commits or, but for 2.7,
                     returning-leader: the assignors, whether the consumer has a
                     group.instance.id or commits automatically, whether it commits before its
                     coordinator is known, or need not assign; may be repeated (all)
--profile VERSION    the version of Kafka's client to compare with, 2.7 or 4.1 (that of
                     kafka-clients, else 4.1)
--jobs N             consumers side by side (16)
--time SECONDS       start no new sequence after this many seconds (no limit)
--sequence FILE      only the sequence of FILE, which --save has written
--save DIR           write the sequence of each finding to DIR
"""
    add_table(command, table, jobs=(whole(1, 64), 16), time=(whole(1, 10**6), 10**6))
    add_shared(command, "json")


def run(options: argparse.Namespace) -> int:
    """Verify the consumer of a library.

    Raises:
        CommandError: the library cannot be run, or a file cannot be read or written.
    """
    from groupcheck.properties.brokers.definition import to_stderr
    from groupcheck.properties.clients.port import ClientFailedError, UnsupportedSettingsError
    from groupcheck.properties.clients.sequence_file import read_sequence, write_sequence
    from groupcheck.properties.clients.source import client_source
    from groupcheck.properties.finding_file import MalformedFileError
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError
    from groupcheck.reports.clients import ClientRun, finding_id, run_json, run_text

    with ending_with_message(MalformedFileError, action=f"read {options.sequence}"):
        only = None if options.sequence is None else read_sequence(options.sequence)
    errors = (UnknownPortError, PortUnavailableError, ClientFailedError, UnsupportedSettingsError)
    with ending_with_message(*errors, action="run the client"), interruptible():
        profile = options.profile or (only.version if only else "")
        source = client_source(options.port, profile)
        version = profile or source.version
        wanted = _instances(version, [only.instance] if only else options.instance)
        port = source.make(to_stderr)
        try:
            info = port.open()
            verified = _verified(options, port, info.patience_s, wanted, only)
        finally:
            port.shutdown()
    result = ClientRun(source.spec, info, version, verified)
    print_run(result, run_json, run_text, as_json=options.json)
    files = {
        finding_id(finding): partial(
            write_sequence, version=version, instance=each.instance, inputs=finding.inputs
        )
        for each, finding in result.findings
    }
    save_findings(options.save, files)
    if result.findings or any(each.failures for each in verified):
        return DIVERGES
    conforms = any(each.same for each in verified) and not any(e.interrupted for e in verified)
    return CONFORMS if conforms else NO_VERDICT


def _instances(version: str, names: Sequence[str]) -> Mapping[str, Consumer]:
    """The model instances of these names; all if there are none."""
    from groupcheck.model.member.specification import VERSIONS, instances

    if version not in VERSIONS:
        msg = f"no rules of version {version!r}; there are those of {', '.join(VERSIONS)}"
        raise CommandError(msg)
    known = instances(version)
    for name in names:
        if name not in known:
            msg = f"unknown instance {name!r}; known: {', '.join(known)}"
            raise CommandError(msg)
    return {name: known[name] for name in dict.fromkeys(names or known)}


def _verified(
    options: argparse.Namespace,
    port: ClientPort,
    patience_s: float,
    wanted: Mapping[str, Consumer],
    only: ClientSequence | None,
) -> list[Verified]:
    from groupcheck.properties.clients.verify import Limits, verify, verify_sequence
    from groupcheck.reports.progress import Bars

    if only is not None:
        instance = wanted[only.instance]
        return [verify_sequence(port, only.instance, instance, only.inputs, patience_s)]
    limits = Limits(options.jobs, patience_s, options.time)
    done: list[Verified] = []
    with Bars() as bars:
        for name, instance in wanted.items():
            done.append(verify(port, name, instance, limits, bars(name, None)))
            if done[-1].interrupted:
                break
    return done
