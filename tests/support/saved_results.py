"""ResultRecord results of real verifications, each made once for all tests."""

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
    """Of the built-in coordinator: every edge is shown."""
    return _saved(PortSource("builtin", BuiltinPort))


@cache
def diverging(fault: str = "KAFKA-9232") -> ResultRecord:
    """Of a faulty copy of it: two findings, and edges that were not shown."""
    return _saved(PortSource("faulty", lambda: faulty_port(fault)))


def _saved(source: PortSource) -> ResultRecord:
    verification = Verification(source, QUICK)
    result = verification.run()
    result.covered = verification.covered()
    return result_record(result)
