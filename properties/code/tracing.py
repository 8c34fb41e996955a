"""Traces a port's code step by step with coverage.py, with one context for each transition.

The transition of a step is known only after the step. The context of coverage.py is set then,
before it records the lines since the last call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from coverage import Coverage

from groupcheck.model.classic.state import Coordinator, Group
from groupcheck.model.classic.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.code.code import Label
from groupcheck.properties.oracle import Oracle
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo
from groupcheck.properties.ports.source import PortSource

NO_GROUP: Final = "none"
OUTSIDE: Final = ""  # the context of lines that ran in no conforming step


class Tracing:
    """Measures the code of some files and folders while steps run."""

    def __init__(self, paths: Collection[Path]) -> None:
        self.steps: Counter[Label] = Counter()
        self._contexts: dict[Label, str] = {}  # their numbers, in the order of `steps`
        self.paths = tuple(path.resolve() for path in paths)
        self.coverage = Coverage(
            data_file=None,
            config_file=False,
            branch=True,
            # Folders only; the report names the files.
            source=[str(path if path.is_dir() else path.parent) for path in self.paths],
            messages=False,
        )
        # The other cores do not support contexts that change during the run.
        self.coverage.set_option("run:core", "ctrace")
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self._noted = self.coverage.get_data()

    def __enter__(self) -> Self:
        self.coverage.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.coverage.stop()

    @property
    def patterns(self) -> list[str]:
        """The measured files and folders, as patterns of coverage.py."""
        return [str(path / "*") if path.is_dir() else str(path) for path in self.paths]

    def note(self, label: Label | None) -> None:
        """Assign the lines since the last call to a transition, or to no conforming step."""
        context = OUTSIDE
        if label is not None:
            context = self._contexts.setdefault(label, str(len(self._contexts)))
            self.steps[label] += 1
        self._noted.set_context(context)
        self.coverage.switch_context(OUTSIDE)  # records the lines first

    def traced(self, source: PortSource) -> PortSource:
        """The source of the same ports, measured."""
        return source._replace(connect=lambda: TracedPort(source.connect(), self), typed=False)


class TracedPort:
    """A port whose code is measured; implements `Port`."""

    real_time = False

    def __init__(self, port: Port, tracing: Tracing) -> None:
        self._port = port
        self._tracing = tracing
        self._pending = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else the port has
        return getattr(self._port, name)

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API that it supports."""
        return self._port.max_versions

    def open(self, profile: str, config: Mapping[str, int]) -> PortInfo:
        """Start a test."""
        with self._outside():
            return self._port.open(profile, config)

    def request(self, request: Request, expected: Collection[int]) -> Observation:
        """Send one request."""
        self._step()
        return self._port.request(request, expected)

    def advance(self, ms: int, expected: Collection[int]) -> Observation:
        """Let time pass."""
        self._step()
        return self._port.advance(ms, expected)

    def fault(self, fault: Fault, expected: Collection[int]) -> Observation:
        """Inject a fault."""
        self._step()
        return self._port.fault(fault, expected)

    def close(self) -> None:
        """End the test."""
        with self._outside():
            self._port.close()

    def shutdown(self) -> None:
        """Release all resources of the port."""
        with self._outside():
            self._port.shutdown()

    def stepped(self, before: Coordinator, given: Input, oracle: Oracle) -> None:
        """The last step conforms: assign its lines to the transition."""
        self._pending = False
        self._tracing.note(_label(before, given, oracle))

    def _step(self) -> None:
        if self._pending:  # the last step did not conform, or is not supported
            self._tracing.note(None)
        self._pending = True

    @contextmanager
    def _outside(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._pending = False
            self._tracing.note(None)


def _label(before: Coordinator, given: Input, oracle: Oracle) -> Label:
    """The transition of a step; if several sets of rules are possible, the rules in all of them."""
    first, *others = sorted(oracle.applied) or [()]
    rules = (rule for rule in dict.fromkeys(first) if all(rule in each for each in others))
    name = given.api if isinstance(given, Request) else type(given).__name__
    return Label(_state(before.group), name, tuple(rules), _state(oracle.states[0].group))


def _state(group: Group | None) -> str:
    return NO_GROUP if group is None else str(group.state)
