"""groupcheck checks that a Kafka group coordinator behaves like Kafka's.

This module is the public Python API. Importing it imports nothing else.
"""

from __future__ import annotations

__all__ = ["__version__", "check_trace"]

__version__ = "0.1.0"


def check_trace(trace: str, port: str) -> None:
    """Replay a trace on a port and check every response, for use in a test.

    Warns about steps that are skipped because the port does not support them.

    Args:
        trace: JSON Lines, as `groupcheck verify --report` writes them.
        port: PORT as on the command line, for example `builtin` or `exec:./my-port`.

    Raises:
        AssertionError: the port answers as Kafka never would; the message describes the finding.
            Or there is no verdict, because a step uses a member id that the port never returned,
            or the port supports none of the steps; the message says which.
        MalformedTraceError: the text is not a trace.
        PortUnavailableError: the port cannot be reached.
        UnknownPortError: `port` has none of the known forms.
    """
    import warnings

    from groupcheck.properties.ports.source import port_source
    from groupcheck.properties.run import NotReplayedError, replay_on
    from groupcheck.properties.sequence import parse
    from groupcheck.reports.finding_text import text_of

    __tracebackhide__ = True
    try:
        replayed = replay_on(parse(trace, "trace"), port_source(port))
    except NotReplayedError as error:
        raise AssertionError(str(error)) from None
    if replayed.finding is not None:
        raise AssertionError(text_of(replayed.finding))
    if replayed.omission:
        warnings.warn(replayed.omission, stacklevel=2)
