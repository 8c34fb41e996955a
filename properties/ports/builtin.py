"""The built-in coordinator as a port: in process, in virtual time, reports its inner state."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any, Final

from groupcheck.implementation.core.config import Config
from groupcheck.implementation.core.coordinator import Coordinator
from groupcheck.implementation.core.groups import Serving
from groupcheck.implementation.core.profiles import PROFILES
from groupcheck.implementation.log.controlled import ControlledLog
from groupcheck.implementation.log.memory import MemoryLog
from groupcheck.model.vocabulary import RESPONSES, ErrorCode, GroupView, Request, Response
from groupcheck.properties.ports.messages import protocol_error, shorten
from groupcheck.properties.ports.port import (
    Fault,
    Observation,
    PortFailedError,
    PortInfo,
    PortUnavailableError,
)
from groupcheck.properties.ports.user_code import one_line
from groupcheck.properties.ports.well_formed import Check, check_of

_VIEWS: Final = check_of(tuple[GroupView, ...])


class BuiltinPort:
    """The built-in coordinator; implements `Port`.

    A changed coordinator may do anything: an exception, a response without a request, and a field
    of a wrong type are failures of the port.

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
        self._checks: dict[int, Check] = {}  # of the responses to the requests so far
        self._views: tuple[GroupView, ...] = ()  # the last inner state that was checked
        self._coordinator: Coordinator

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
        self._checks = {}
        self._observed(self._start)
        return PortInfo("groupcheck's own coordinator", profile)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        del expected
        cls: Any = RESPONSES[request.api]
        self._checks[request.request_id] = check_of(cls)
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
            "configure": lambda: self._configure(fault),
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

    def _configure(self, fault: Fault) -> list[Response]:
        config = self._options["config"]._replace(group_max_size=fault.max_size)
        self._coordinator.configure(config)
        self._options["config"] = self._coordinator.config
        return self._coordinator.take()

    def _crash(self) -> list[Response]:
        """Replace the coordinator by one that loads the same partitions from the same log."""
        unloaded = Serving.UNLOADED
        served = [p for p in self._partitions() if self._coordinator.serving(p) is not unloaded]
        now_ms = self._coordinator.now_ms
        self._log.discard_held()
        self._coordinator = self._make(**self._options, served=served, start_ms=now_ms)
        return self._coordinator.take()

    def _observed(self, call: Callable[[], list[Response]]) -> Observation:
        """The responses of a call, and the inner state after it.

        Raises:
            PortFailedError: the coordinator raised an exception, or a response is not valid.
        """
        try:
            responses, views = call(), self._coordinator.views()
            wrong = self._wrong(responses, views)
        except KeyboardInterrupt:
            raise
        # SystemExit too, as for a port in Python.
        except BaseException as error:
            kind, reason = "port crashed", f"the coordinator raised {one_line(error)}"
            raise PortFailedError(kind, reason, traceback.format_exc()) from error
        if wrong is not None:
            protocol_error(wrong)
        return Observation(tuple(responses), views)

    def _wrong(self, responses: list[Response], views: tuple[GroupView, ...]) -> str | None:
        """What is not valid in the responses or in the inner state."""
        for response in responses:
            if type(response) is not Response:
                return f"not a response: {shorten(response)}"
            number, body = response
            check = self._checks.get(number)
            if check is None:
                return f"a response to request {shorten(number)}, which was never sent"
            wrong = check(body)
            if wrong is not None:
                return f"the response to request {number}{wrong}"
        if views != self._views:  # most steps change nothing
            wrong = _VIEWS(views)
            if wrong is not None:
                return f"the inner state{wrong}"
            self._views = views
        return None


def _failure(fault: Fault) -> tuple[int, ErrorCode]:
    """Return how many appends fail, and with which error."""
    return fault.number or 0, ErrorCode(fault.error or 0)
