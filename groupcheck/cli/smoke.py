"""`groupcheck smoke`: send a port a request of each API, and list what it supports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from groupcheck.cli.exit_status import (
    CONFORMS,
    DIVERGES,
    NO_VERDICT,
    ending_with_message,
    profile_of,
)
from groupcheck.cli.options import add_port_help, add_shared, add_table
from groupcheck.cli.output import print_json
from groupcheck.numeric_options import PROFILE, PROFILE_HELP

if TYPE_CHECKING:
    from groupcheck.properties.smoke import Smoked

HELP = "check in seconds that a port is connected, and list what it supports"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `groupcheck smoke`."""
    add_port_help(
        command,
        """\
Opens the port, lets one member join, commit and leave, and sends a request of
each other API. Prints a line for each request, and the versions, faults and
inner state that the port supports. verify checks that the answers are right.
""",
        """\
Exit status: 0 every request is answered without an error, or not supported;
1 an answer has an error, or a request failed; 2 the port is not connected.""",
    )
    command.add_argument("port", metavar="PORT", help="the coordinator, in a form listed below")
    add_table(command, f"--profile VERSION  {PROFILE_HELP}")
    add_shared(command, "json")


def run(options: argparse.Namespace) -> int:
    """Send each request once, and print the results.

    Raises:
        CommandError: the port is unknown, or cannot be reached.
    """
    from groupcheck.properties.interruption import interruptible
    from groupcheck.properties.ports.port import PortUnavailableError
    from groupcheck.properties.ports.source import UnknownPortError, port_source
    from groupcheck.properties.smoke import smoke
    from groupcheck.reports.formatting import bounded_lines

    if options.profile is not None:
        profile_of(options.profile, minors=True)
    with ending_with_message(UnknownPortError, PortUnavailableError), interruptible():
        source = port_source(options.port)
        profile = profile_of(options.profile or source.profile or PROFILE, minors=True)
        try:
            smoked = smoke(source, profile)
        finally:
            source.stop()
    clock = "real" if source.real_time else "virtual"
    if options.json:
        print_json({"port": source.spec, "kafka": profile.kafka, "clock": clock, **_json(smoked)})
    else:
        head = f"port       {source.spec}, as {profile.kafka}"
        sys.stdout.write(bounded_lines([head, *_lines(smoked, clock)]))
    if not smoked.has_answered:
        return NO_VERDICT
    return CONFORMS if smoked.connected else DIVERGES


def _lines(smoked: Smoked, clock: str) -> Iterator[str]:
    if smoked.info is not None:
        yield f"opened     {smoked.info.name} {smoked.info.version}".rstrip()
    for each in smoked.answers:
        what = f"{each.api} v{each.api_version}" if each.outcome != "unsupported" else each.api
        detail = f"{each.outcome} {each.detail}".rstrip()
        yield f"request    {what:<19} {each.milliseconds:8.1f} ms  {detail}"
    if smoked.capabilities is not None:
        yield from (f"supports   {name}: {what}" for name, what in _supported(smoked, clock))
    yield f"verdict    {_verdict(smoked)}"


def _supported(smoked: Smoked, clock: str) -> Iterator[tuple[str, str]]:
    """The capabilities of a port, by kind."""
    from groupcheck.properties.smoke import ranges

    capabilities = smoked.capabilities
    if capabilities is None:
        return
    versions = [f"{api} {ranges(each)}" for api, each in capabilities.versions.items() if each]
    yield "versions", ", ".join(versions) or "none"
    yield "time", clock if smoked.advances else "none"
    yield "faults", ", ".join(sorted(capabilities.faults)) or "none"
    yield "static members", "yes" if capabilities.static else "no"
    yield "inner state", "reported" if smoked.inner_state else "not reported"


def _verdict(smoked: Smoked) -> str:
    from groupcheck.reports.formatting import counted

    if smoked.info is None:
        return f"not connected: the port never opened ({smoked.reason})"
    sent = counted(len(smoked.answers), "request")
    counts = dict.fromkeys(("ok", "unsupported", "error", "failed"), 0)
    for each in smoked.answers:
        counts[each.outcome] += 1
    if not smoked.has_answered:
        return f"not connected: the port answered none of {sent}"
    counts_text = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f"{'connected' if smoked.connected else 'connected, with errors'}: {sent}, {counts_text}"


def _json(smoked: Smoked) -> dict[str, Any]:
    capabilities = smoked.capabilities
    return {
        "connected": smoked.connected,
        "verdict": _verdict(smoked),
        "name": smoked.info.name if smoked.info else None,
        "version": smoked.info.version if smoked.info else None,
        "requests": [
            {
                "api": each.api,
                "apiVersion": each.api_version,
                "outcome": each.outcome,
                "detail": each.detail,
                "milliseconds": round(each.milliseconds, 3),
            }
            for each in smoked.answers
        ],
        "supports": capabilities
        and {
            "versions": {api: list(each) for api, each in capabilities.versions.items()},
            "time": smoked.advances,
            "faults": sorted(capabilities.faults),
            "staticMembers": capabilities.static,
            "innerState": smoked.inner_state,
        },
    }
