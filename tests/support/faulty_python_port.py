"""A faulty copy of the built-in coordinator behind the in-process port interface."""

from __future__ import annotations

from support.faults import faulty_port
from support.object_port import ObjectPort


class FaultyPythonPort(ObjectPort):
    """Has one seeded fault."""

    def __init__(self, fault: str = "a follower is given the member list") -> None:
        super().__init__(faulty_port(fault))


def make() -> FaultyPythonPort:
    return FaultyPythonPort()


def make_unstable() -> FaultyPythonPort:
    """Make a port with a fault that one member shows: it is found in seconds."""
    return FaultyPythonPort("KAFKA-10134")
