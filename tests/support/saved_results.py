"""Results of real verifications, each computed once for all tests."""

from __future__ import annotations

from functools import cache

from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from groupcheck.reports.record import ResultRecord
from groupcheck.reports.verification_record import result_record
from support.faults import faulty_port

QUICK = Settings(members=1, examples=0, walks=0)


@cache
def conforming() -> ResultRecord:
    """The result of the built-in coordinator: every transition is covered."""
    return _saved(PortSource("builtin", BuiltinPort))


@cache
def diverging(fault: str = "KAFKA-9232") -> ResultRecord:
    """The result of a faulty copy: two findings, and uncovered transitions."""
    return _saved(PortSource("faulty", lambda: faulty_port(fault)))


def _saved(source: PortSource) -> ResultRecord:
    verification = Verification(source, QUICK)
    result = verification.run()
    result.covered = verification.covered()
    return result_record(result)
