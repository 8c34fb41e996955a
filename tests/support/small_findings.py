"""Findings of a few steps, for the tests of what is printed of them."""

from __future__ import annotations

from groupcheck.model.classic.instances.inputs import GROUP_ID
from groupcheck.model.classic.state import Advance
from groupcheck.model.vocabulary import JoinGroupRequest, Protocol, Request
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.port import Port
from groupcheck.properties.run import replay
from groupcheck.properties.sequence import Sequence
from support.faults import faulty_port

OFFER = JoinGroupRequest(GROUP_ID, 10_000, 90_000, protocols=(Protocol("range", b"r"),))
JOIN = Request(1, 3, OFFER)


def finding_of(port: str | Port, *steps: Request | Advance) -> Finding:
    """The finding in which a JoinGroup and these steps end; `port` may name a seeded fault."""
    opened = faulty_port(port) if isinstance(port, str) else port
    finding = replay(Sequence("2.7", {}, (JOIN, *steps)), opened)
    assert finding is not None
    return finding


def member_list_for_a_follower() -> Finding:
    """A finding about the answer to an earlier step, with a violated property."""
    fault = "a follower is given the member list"
    return finding_of(fault, JOIN._replace(request_id=2), Advance(6_000))
