"""This repository's coordinator as a port: in process, in virtual time, its inner state shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Final

from groupcheck.implementation.config import Config
from groupcheck.implementation.coordinator import Coordinator
from groupcheck.model.vocabulary import Request
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortInfo,
    PortUnavailableError,
)

PROFILE: Final = "2.7"

# What the built-in coordinator does not have.
MISSING: Final = frozenset(
    {"TxnOffsetCommit", "EndTxn", "ListGroups", "DeleteGroups", "OffsetDelete"}
)


class BuiltinPort:
    """The built-in coordinator; where Kafka leaves something open it draws from a seed.

    Args:
        seed: of what it chooses, so that one seed does the same twice.
        make: makes the coordinator; another one than the built-in, for tests.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, seed: int = 0, make: Callable[..., Coordinator] = Coordinator) -> None:
        self._random = Random(seed)
        self._make = make
        self._coordinator = make()

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator.

        Raises:
            PortUnavailableError: it is not that version's coordinator, or lacks a setting.
        """
        if profile != PROFILE:
            msg = f"the built-in coordinator is that of Kafka {PROFILE}, not of {profile}"
            raise PortUnavailableError(msg)
        settings = {name.replace(".", "_"): value for name, value in config.items()}
        if unknown := sorted(settings.keys() - set(Config._fields)):
            msg = f"the built-in coordinator has no setting {unknown[0].replace('_', '.')}"
            raise PortUnavailableError(msg)
        self._numbers = iter(range(1, 1 << 62))
        self._coordinator = self._make(
            Config(**settings), choose=self._random.choice, new_member_id=self._new_member_id
        )
        return PortInfo("groupcheck's own coordinator", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        del expected
        if request.api in MISSING:
            return Observation(unsupported=request.api)
        if _is_static(request):
            return Observation(unsupported="group.instance.id")
        responses = self._coordinator.receive(request)
        return Observation(tuple(responses), self._coordinator.views())

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass on its clock."""
        del expected
        responses = self._coordinator.advance(ms)
        return Observation(tuple(responses), self._coordinator.views())

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Hold or release its appends."""
        del expected
        if fault.name == "holdAppends":
            self._coordinator.hold_appends()
            return Observation((), self._coordinator.views())
        if fault.name == "releaseAppends":
            responses = self._coordinator.release_appends()
            return Observation(tuple(responses), self._coordinator.views())
        return Observation(unsupported=fault.name)

    def close(self) -> None:
        """End the test."""

    def shutdown(self) -> None:
        """Nothing is held."""

    def _new_member_id(self, client_id: str) -> str:
        return f"{client_id}-{next(self._numbers)}"


def _is_static(request: Request) -> bool:
    """Whether it speaks of static members, which the coordinator does not have yet."""
    entries = (request.body, *getattr(request.body, "members", ()))
    return any(getattr(entry, "group_instance_id", None) is not None for entry in entries)
