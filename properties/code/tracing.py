"""Tracing a port's code step by step, with coverage.py: what ran in a step is its edge's.

Which edge a step was is known when it is over. So coverage.py is told the context only then, before
it notes what has run since it last did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from coverage import Coverage

from groupcheck.model.state import Coordinator, Group
from groupcheck.model.transition import Input
from groupcheck.model.vocabulary import Request
from groupcheck.properties.code.ran import Label
from groupcheck.properties.oracle import Oracle
from groupcheck.properties.ports.port import Fault, Observation, Port, PortInfo
from groupcheck.properties.ports.source import PortSource

NO_GROUP: Final = "none"
OUTSIDE: Final = ""  # the context of what ran in no lawful step


class Tracing:
    """The code in some files and folders, watched while steps are done."""

    def __init__(self, paths: Collection[Path]) -> None:
        self.steps: Counter[Label] = Counter()
        self._contexts: dict[Label, str] = {}  # the number of each, in the order of `steps`
        self.paths = tuple(path.resolve() for path in paths)
        self.coverage = Coverage(
            data_file=None,
            config_file=False,
            branch=True,
            # Of files the folders, and what is reported of them is asked for by name.
            source=[str(path if path.is_dir() else path.parent) for path in self.paths],
            messages=False,
        )
        # The others know no contexts that change while the code runs.
        self.coverage.set_option("run:core", "ctrace")
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])  # we say it
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
        """What is watched, as coverage.py names files."""
        return [str(path / "*") if path.is_dir() else str(path) for path in self.paths]

    def note(self, label: Label | None) -> None:
        """What has run since the last note was under this edge; None: in no lawful step."""
        context = OUTSIDE
        if label is not None:
            context = self._contexts.setdefault(label, str(len(self._contexts)))
            self.steps[label] += 1
        self._noted.set_context(context)
        self.coverage.switch_context(OUTSIDE)  # which first notes what has run

    def traced(self, source: PortSource) -> PortSource:
        """The source of the same ports, watched."""
        return source._replace(connect=lambda: TracedPort(source.connect(), self), typed=False)


class TracedPort:
    """A port whose code is watched; implements `Port`."""

    real_time = False

    def __init__(self, port: Port, tracing: Tracing) -> None:
        self._port = port
        self._tracing = tracing
        self._pending = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else the port has
        return getattr(self._port, name)

    @property
    def max_versions(self) -> Mapping[str, int] | None:
        """The highest version of each API it speaks."""
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
        """Let something happen to the coordinator."""
        self._step()
        return self._port.fault(fault, expected)

    def close(self) -> None:
        """End the test."""
        with self._outside():
            self._port.close()

    def shutdown(self) -> None:
        """Let go of all that the port holds."""
        with self._outside():
            self._port.shutdown()

    def stepped(self, before: Coordinator, given: Input, oracle: Oracle) -> None:
        """What was done last was lawful: this is what it came to."""
        self._pending = False
        self._tracing.note(_label(before, given, oracle))

    def _step(self) -> None:
        if self._pending:  # the step before was not lawful, or not supported
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
    """Where the rules may have been these or those, it has what both have."""
    first, *others = sorted(oracle.fired) or [()]
    rules = (rule for rule in dict.fromkeys(first) if all(rule in each for each in others))
    name = given.api if isinstance(given, Request) else type(given).__name__
    return Label(_state(before.group), name, tuple(rules), _state(oracle.states[0].group))


def _state(group: Group | None) -> str:
    return NO_GROUP if group is None else str(group.state)
