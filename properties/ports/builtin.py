"""This repository's coordinator as a port: in process, in virtual time, its inner state shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.partitions import Serving
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import ErrorCode, Request, Response
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortInfo,
    PortUnavailableError,
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
        self._options: dict[str, Any] = {}
        self._log = ControlledLog(MemoryLog())
        self._coordinator = make()

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator.

        Raises:
            PortUnavailableError: it is not that version's coordinator, or lacks a setting.
        """
        if profile not in PROFILES:
            known = " or ".join(PROFILES)
            msg = f"the built-in coordinator is that of Kafka {known}, not of {profile}"
            raise PortUnavailableError(msg)
        settings = {name.replace(".", "_"): value for name, value in config.items()}
        if unknown := sorted(settings.keys() - set(Config._fields)):
            msg = f"the built-in coordinator has no setting {unknown[0].replace('_', '.')}"
            raise PortUnavailableError(msg)
        behaviour = PROFILES[profile]
        numbers = iter(range(1, 1 << 62))
        self._log = ControlledLog(
            MemoryLog(),
            spare_markers=not behaviour.appends_markers,
            fails_at_once=behaviour.defers_responses,
        )
        self._options = {
            "config": Config(**settings),
            "profile": behaviour,
            "log": self._log,
            "choose": self._random.choice,
            "new_member_id": lambda prefix: f"{prefix}-{next(numbers)}",
        }
        self._coordinator = self._make(**self._options)
        return PortInfo("groupcheck's own coordinator", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        del expected
        return self._seen(self._coordinator.receive(request))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass on its clock."""
        del expected
        return self._seen(self._coordinator.advance(ms))

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Let something happen to it, or to its log."""
        del expected
        coordinator = self._coordinator
        happens: dict[str, Callable[[], list[Response]]] = {
            "crash": self._crash,
            "unload": lambda: self._everywhere(coordinator.unload),
            "load": lambda: self._everywhere(coordinator.load),
            "loading": lambda: self._everywhere(coordinator.loading),
            "shutdown": coordinator.shutdown,
            "cleanup": coordinator.cleanup,
            "append": lambda: self._to_the_log(lambda log: log.fail(*_failure(fault))),
            "holdAppends": lambda: self._to_the_log(ControlledLog.hold),
            "releaseAppends": lambda: self._to_the_log(ControlledLog.release),
        }
        if fault.name not in happens:
            return Observation(unsupported=fault.name)
        return self._seen(happens[fault.name]())

    def close(self) -> None:
        """End the test."""

    def shutdown(self) -> None:
        """Nothing is held."""

    def _partitions(self) -> range:
        return range(self._options["config"].offsets_topic_num_partitions)

    def _everywhere(self, move: Callable[[int], list[Response]]) -> list[Response]:
        return [answer for partition in self._partitions() for answer in move(partition)]

    def _to_the_log(self, happens: Callable[[ControlledLog], None]) -> list[Response]:
        happens(self._log)
        return self._coordinator.take()

    def _crash(self) -> list[Response]:
        """Another coordinator takes over what this one served or loaded, from the same log."""
        unloaded = Serving.UNLOADED
        served = [p for p in self._partitions() if self._coordinator.serving(p) is not unloaded]
        now_ms = self._coordinator.now_ms
        self._log.forget()
        self._coordinator = self._make(**self._options, served=served, start_ms=now_ms)
        return self._coordinator.take()

    def _seen(self, responses: list[Response]) -> Observation:
        return Observation(tuple(responses), self._coordinator.views())


def _failure(fault: Fault) -> tuple[int, ErrorCode]:
    """How many appends are to fail, and with what."""
    return fault.number or 0, ErrorCode(fault.error or 0)
