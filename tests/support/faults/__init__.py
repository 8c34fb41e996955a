"""Copies of the built-in coordinator, each with one seeded fault."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from types import MappingProxyType

from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.builtin import BuiltinPort
from groupcheck.properties.ports.port import Fault as PortFault
from groupcheck.properties.ports.port import Observation, PortFailedError
from groupcheck.properties.ports.source import PortSource
from support.faults.fault import Fault
from support.faults.members import MADE_UP, MEMBERS
from support.faults.storage import STORAGE

__all__ = ["ABSENT", "KAFKA", "MADE_UP", "FaultyPort", "faulty_port", "source"]

KAFKA: Mapping[str, Fault] = MappingProxyType({**MEMBERS, **STORAGE})
"""Bugs that releases of Kafka had, by their issue."""

ABSENT: Mapping[str, str] = MappingProxyType(
    {
        "KAFKA-9844": (
            "JoinGroups that arrive at once pass the check of group.max.size together. Requests of"
            " the port protocol follow one another."
        ),
        "KAFKA-10614": (
            "A late load of a lost partition makes its groups stale. Only the leader epoch orders"
            " loads and unloads, and the port protocol has none: a port loads when it is asked."
        ),
        "KAFKA-16371": (
            "A partition whose metadata is too long stays pending if the rest of its commit is"
            " stored. No model instance commits two partitions at once."
        ),
        "KAFKA-18672": (
            "A record of an unknown version is misread. A port writes its own log, which has only"
            " known versions; `tests/implementation/log/test_codec.py` tests it for this project's"
            " log."
        ),
    }
)
"""Bugs that no sequence of the model instances reveals, and why."""


class FaultyPort(BuiltinPort):
    """A port on a coordinator with a fault; if that raises an exception it has crashed."""

    def __init__(self, fault: Fault, seed: int = 0) -> None:
        super().__init__(seed, fault.make)
        self._hidden = fault.hidden

    @property
    def hidden(self) -> Hashable:
        """The hidden state of the copy that the effect of the fault depends on."""
        return self._hidden(self._coordinator)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        try:
            return super().request(request, expected)
        except Exception as error:
            raise _crashed(error) from error

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        try:
            return super().advance(ms, expected)
        except Exception as error:
            raise _crashed(error) from error

    def fault(self, fault: PortFault, expected: Collection[int]) -> Observation:
        try:
            return super().fault(fault, expected)
        except Exception as error:
            raise _crashed(error) from error


def _crashed(error: Exception) -> PortFailedError:
    return PortFailedError("port crashed", type(error).__name__)


def faulty_port(fault: str, seed: int = 0) -> FaultyPort:
    """A port on a coordinator with that fault."""
    return FaultyPort({**MADE_UP, **KAFKA}[fault], seed)


def source(fault: str) -> PortSource:
    """The source of ports with that fault."""
    return PortSource(fault, lambda: faulty_port(fault))
