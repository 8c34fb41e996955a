"""`groupcheck serve`: serve the built-in coordinator to Kafka clients."""

from __future__ import annotations

import argparse

from groupcheck.cli.exit_status import CONFORMS, ending_with_message, with_packages_of
from groupcheck.cli.options import add_shared, add_table
from groupcheck.numeric_options import whole

HELP = "serve a coordinator to Kafka clients"

MOST_BROKERS = 9
MOST_MS = 600_000


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck serve`."""
    command.description = (
        "Serves the built-in coordinator, with small in-memory topics, over Kafka's protocol until "
        "SIGINT or SIGTERM. There is no authentication."
    )
    command.epilog = "Exit status: 0 it was stopped, 2 it could not start."
    table = """
--listen HOST:PORT           the address to listen on; port 0 selects a free port (127.0.0.1:9092)
--topic NAME:PARTITIONS,...  create this topic at the start; other topics are created on first use
"""
    add_table(command, table, listen=(_address, ("127.0.0.1", 9092)), topic=(_topic, []))
    add_shared(command, "profile")
    table = """
--brokers N                   serve a cluster of 2 to 9 brokers, on this port and the next ones;
                              lines on standard input stop brokers, move leaders, delete topics (1)
--session-timeout-ms NUMBER   when the session of a killed broker ends (1000)
"""
    add_table(
        command,
        table,
        brokers=(whole(1, MOST_BROKERS), 1),
        session_timeout_ms=(whole(0, MOST_MS), 1_000),
    )
    table = """
--config NAME=NUMBER,...  a broker setting, such as group.initial.rebalance.delay.ms=0
--data-dir DIR            store groups and offsets in DIR, synced before they are acknowledged (in
                          memory)
--record FILE             append the requests and responses of every group to FILE, for groupcheck
                          replay
"""
    add_table(command, table)


def run(options: argparse.Namespace) -> int:
    """Serve a coordinator until SIGINT or SIGTERM.

    Raises:
        CommandError: a package is missing, a setting is invalid, or the server cannot start.
    """
    with with_packages_of("serve"):
        from groupcheck.implementation.server import console, server
        from groupcheck.implementation.server.settings import BadSettingError, parse

    host, port = options.listen
    with ending_with_message(BadSettingError, server.CannotServeError):
        settings, topics = parse(options.config), tuple(options.topic)
        profile, record, data = options.profile, options.record, options.data_dir
        given = server.Options(host, port, topics, profile, settings, record, data)
        if options.brokers == 1:
            server.run(given)
        else:
            console.run(given, options.brokers, options.session_timeout_ms)
    return CONFORMS


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port[:6]) < 2**16):
        msg = f"{text!r} is not HOST:PORT (an IPv6 address in brackets)"
        raise argparse.ArgumentTypeError(msg)
    return host, int(port)


def _topic(text: str) -> tuple[str, int]:
    name, _, partitions = text.rpartition(":")
    if not (name and partitions.isascii() and partitions.isdecimal() and len(partitions) < 10):
        msg = f"{text!r} is not NAME:PARTITIONS"
        raise argparse.ArgumentTypeError(msg)
    return name, int(partitions)
