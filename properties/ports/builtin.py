"""The built-in coordinator as a port: in process, in virtual time, reports its inner state."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import RESPONSES, ErrorCode, Request, Response
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)


class BuiltinPort:
    """The built-in coordinator; implements `Port`.

    A changed coordinator may do anything: what it raises, and a response that answers no request
    or has another body than its API, is a failure of the port.

    Args:
        seed: decides where Kafka allows several outcomes; the same seed makes the same choices.
        make: makes the coordinator; tests pass another class.
    """

    real_time = False
    max_versions: Mapping[str, int] | None = None

    def __init__(self, seed: int = 0, make: Callable[..., Coordinator] = Coordinator) -> None:
        self._random = Random(seed)
        self._make = make
        self._options: dict[str, Any] = {}
        self._log = ControlledLog(MemoryLog())
        self._bodies: dict[int, type] = {}  # of the responses to the requests so far
        self._coordinator = make()

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test with an empty coordinator.

        Raises:
            PortUnavailableError: it does not implement that version, or has no such setting.
        """
        if profile not in PROFILES:
            known = " and ".join(PROFILES)
            msg = f"the built-in coordinator implements Kafka {known}, not {profile}"
            raise PortUnavailableError(msg)
        settings = {name.replace(".", "_"): value for name, value in config.items()}
        if unknown := sorted(settings.keys() - set(Config._fields)):
            msg = f"the built-in coordinator has no setting {unknown[0].replace('_', '.')}"
            raise PortUnavailableError(msg)
        behaviour = PROFILES[profile]
        numbers = iter(range(1, 1 << 62))
        self._log = ControlledLog(
            MemoryLog(),
            excludes_markers=not behaviour.appends_markers,
            fails_at_once=behaviour.defers_responses,
        )
        self._options = {
            "config": Config(**settings),
            "profile": behaviour,
            "log": self._log,
            "choose": self._random.choice,
            "new_member_id": lambda prefix: f"{prefix}-{next(numbers)}",
        }
        self._bodies = {}
        self._observed(self._start)
        return PortInfo("groupcheck's own coordinator", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        del expected
        self._bodies[request.request_id] = RESPONSES[request.api]
        return self._observed(lambda: self._coordinator.receive(request))

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Advance its clock by `ms` milliseconds."""
        del expected
        return self._observed(lambda: self._coordinator.advance(ms))

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Inject a fault into the coordinator or its log."""
        del expected
        coordinator = self._coordinator
        faults: dict[str, Callable[[], list[Response]]] = {
            "crash": self._crash,
            "unload": lambda: self._each_partition(coordinator.unload),
            "load": lambda: self._each_partition(coordinator.load),
            "loading": lambda: self._each_partition(coordinator.loading),
            "shutdown": coordinator.shutdown,
            "cleanup": coordinator.cleanup,
            "append": lambda: self._change_log(lambda log: log.fail(*_failure(fault))),
            "holdAppends": lambda: self._change_log(ControlledLog.hold),
            "releaseAppends": lambda: self._change_log(ControlledLog.release),
        }
        if fault.name not in faults:
            return Observation(unsupported=fault.name)
        return self._observed(faults[fault.name])

    def close(self) -> None:
        """End the test."""

    def shutdown(self) -> None:
        """Do nothing: there is nothing to release."""

    def _start(self) -> list[Response]:
        self._coordinator = self._make(**self._options)
        return []

    def _partitions(self) -> range:
        return range(self._options["config"].offsets_topic_num_partitions)

    def _each_partition(self, fault: Callable[[int], list[Response]]) -> list[Response]:
        return [response for partition in self._partitions() for response in fault(partition)]

    def _change_log(self, change: Callable[[ControlledLog], None]) -> list[Response]:
        change(self._log)
        return self._coordinator.take()

    def _crash(self) -> list[Response]:
        """Replace the coordinator by one that loads the same partitions from the same log."""
        unloaded = Serving.UNLOADED
        served = [p for p in self._partitions() if self._coordinator.serving(p) is not unloaded]
        now_ms = self._coordinator.now_ms
        self._log.forget()
        self._coordinator = self._make(**self._options, served=served, start_ms=now_ms)
        return self._coordinator.take()

    def _observed(self, call: Callable[[], list[Response]]) -> Observation:
        """The responses of a call, and the inner state after it.

        Raises:
            PortFailedError: the coordinator raised an exception, or a response is not valid.
        """
        try:
            responses, views = call(), self._coordinator.views()
        except Exception as error:
            kind, reason = "port crashed", f"the coordinator raised {type(error).__name__}: {error}"
            raise PortFailedError(kind, reason, traceback.format_exc()) from error
        for number, body in responses:
            if type(body) is not self._bodies.get(number):
                kind = "protocol error"
                reason = f"the response to request {number} is of type {type(body).__name__}"
                raise PortFailedError(kind, reason)
        return Observation(tuple(responses), views)


def _failure(fault: Fault) -> tuple[int, ErrorCode]:
    """Return how many appends fail, and with which error."""
    return fault.number or 0, ErrorCode(fault.error or 0)
