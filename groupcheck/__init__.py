"""groupcheck tells whether a Kafka consumer-group coordinator behaves as Kafka's does.

The doors, and nothing but doors: what is here imports the rooms only when it is called.
"""

from __future__ import annotations

__all__ = ["__version__", "check_trace"]

__version__ = "0.1.0"


def check_trace(trace: str, port: str) -> None:
    """Do a trace on a port, for use in a test.

    Args:
        trace: JSON Lines, as `groupcheck verify --report` writes them.
        port: PORT as on the command line, `builtin` or `exec:./my-port`.

    Raises:
        AssertionError: the port answers as Kafka never would; the message is the story of it.
        MalformedTraceError: the text is not a trace.
        PortUnavailableError: the port cannot be reached.
        UnknownPortError: `port` has none of the known forms.
    """
    from groupcheck.properties.ports.source import port_source
    from groupcheck.properties.run import replay_on
    from groupcheck.properties.sequence import parse
    from groupcheck.reports.story import story

    __tracebackhide__ = True
    finding = replay_on(parse(trace, "trace"), port_source(port))
    if finding is not None:
        raise AssertionError(story(finding))
