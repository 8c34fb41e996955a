"""pytest's suite: its tests are collected, run on a port, and end as their parts came out.

What they came to is gathered by `pytest_told`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final, cast

import pytest

from groupcheck.model.profiles import PROFILES
from groupcheck.model.spaces.clients import Feature
from groupcheck.properties.coverage.covered import MalformedCoverageError
from groupcheck.properties.parts import Parts, division
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.source import (
    PortSource,
    UnknownPortError,
    factory_source,
    port_source,
)
from groupcheck.properties.result import Result
from groupcheck.properties.skipping import SKIPPABLE
from groupcheck.properties.verify import Verification
from groupcheck.pytest_plugin import option
from groupcheck.pytest_settings import (
    MARKER,
    expected_of,
    marker,
    path_of,
    refuse,
    settings_of,
    skipped_of,
    windows_of,
)
from groupcheck.pytest_told import Gathered, Told, coverage_in, told_of
from groupcheck.reports.files import finding_files, prepare, sweep
from groupcheck.reports.saved_file import NAME as RESULT
from groupcheck.reports.story import story
from groupcheck.reports.told import found
from groupcheck.reports.words import bounded

# Under which name the tests stand, whatever folder this package is installed in.
NAME: Final = "groupcheck"

# On a real clock most of the time is waited, so all is verified side by side, by one test.
REAL_TIME_TEST: Final = "test_on_a_real_clock"

TOLD: Final = pytest.StashKey[Told]()


class Module(pytest.Module):
    """The module of the tests, collected whatever names the user's own tests have."""

    real_time = False

    def funcnamefilter(self, name: str) -> bool:
        """Whether that is a test for ports with that sort of clock."""
        return name.startswith("test_") and (name == REAL_TIME_TEST) is self.real_time


class Suite:
    """The plugin that collects the suite, and tells what it came to.

    Raises:
        pytest.UsageError: the port or a setting is not one, or nothing can be written.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.settings = settings_of(config)
        self._windows = windows_of(config)
        self.expected = expected_of(config)
        self.skipped = skipped_of(config)
        self.directory = path_of(config, "report")
        self.coverage = path_of(config, "coverage")
        self._source = self._checked(option(config, "port"))
        if self._source is not None:
            self.settings = settings_of(config, self._source.profile)
        self.real_time = self._source is not None and self._source.real_time
        kafka = PROFILES[self.settings.profile].kafka
        self._gathered = Gathered(kafka, self.expected, self.directory)
        self._repaired: list[str] = []
        self._leads = not hasattr(config, "workerinput")  # it is no process of pytest-xdist's
        if self._leads:
            self._prepare()

    def _prepare(self) -> None:
        """See that what is to be written can be, before anything is tried."""
        if self.directory:
            try:
                prepare(self.directory)
                sweep(self.directory)
            except OSError as error:
                refuse(f"cannot write to {self.directory}: {error.strerror}")
        if self.coverage:
            try:
                coverage_in(self.coverage)
            except MalformedCoverageError as error:
                refuse(str(error))
            except OSError as error:
                refuse(f"cannot read the coverage in {self.coverage}: {error.strerror}")

    @staticmethod
    def of(config: pytest.Config) -> Suite:
        """The suite of a run that has one."""
        return cast("Suite", config.pluginmanager.get_plugin("groupcheck-suite"))

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that there are tests of."""
        return division(self.settings).rules

    def parts(self, port: object) -> Parts:
        """The parts of the verification of what the fixture gave."""
        if isinstance(port, str):
            source = self._source or self._checked(port)
            if source is not None and source.real_time is not self.real_time:
                reason = f"{port} is on a real clock: name it with --groupcheck-port"
                pytest.exit(f"groupcheck: {reason}", returncode=pytest.ExitCode.USAGE_ERROR)
        else:
            source = factory_source(port if callable(port) else lambda: port)
        if source is None:
            reason = "no port: say --groupcheck-port, or override the fixture groupcheck_port"
            pytest.exit(f"groupcheck: {reason}", returncode=pytest.ExitCode.USAGE_ERROR)
        return Parts(source, self.settings)

    def _checked(self, port: str) -> PortSource | None:
        """The port of that name, if there is one; if it can be, it is opened to see it is there."""
        if not port:
            return None
        try:
            source = port_source(port, seed=self.settings.seed, windows=self._windows)
            if not source.real_time:
                _open_once(source, self.settings.profile)
        except (UnknownPortError, PortUnavailableError) as error:
            refuse(str(error))
        return source

    def lacking(self, item: pytest.Item) -> dict[Feature, str]:
        """The features that the port of a test lacks, each with the reason."""
        found = dict(self.skipped)
        for feature in SKIPPABLE:
            mark = item.get_closest_marker(marker(feature))
            if mark is not None:
                reason = mark.kwargs.get("reason") or "".join(map(str, mark.args[:1]))
                found[feature] = reason or f"marked {mark.name}"
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip the test of a rule that is never applied without what the port lacks."""
        lacking = self.lacking(item) if item.get_closest_marker(MARKER) else {}
        rule = getattr(item, "callspec", None) and item.callspec.params.get("rule")  # type: ignore[attr-defined]
        if not lacking or rule is None:
            return
        for feature in sorted(division(self.settings).needs[rule]):
            if feature in lacking:
                pytest.skip(f"{feature}: {lacking[feature]}")

    def judge(self, request: pytest.FixtureRequest, verification: Verification) -> None:
        """End a test as its part of the verification went."""
        result, lacking = verification.result, self.lacking(request.node)
        files = self._write(result)
        told = told_of(
            verification,
            lacking,
            files,
            covered=self.coverage is not None,
            saved=self.directory is not None,
        )
        request.node.stash[TOLD] = told
        for name in ("groupcheck_edges", "groupcheck_edges_shown"):
            request.node.user_properties.append((name, told[name.removeprefix("groupcheck_")]))
        for finding in result.findings:
            request.node.user_properties.append(("groupcheck_finding", finding.finding_id))
        news = [each for each in result.findings if each.finding_id not in self.expected]
        if news or result.ended_early:
            ended = [f"ended early: {result.ended_early}"] if result.ended_early else []
            pytest.fail("\n".join([*map(story, news), *ended]), pytrace=False)
        if result.findings:
            ids = [finding.finding_id for finding in result.findings]
            pytest.xfail("; ".join(f"{each}: {self.expected[each]}" for each in ids))
        if result.edges and not result.shown:
            pytest.skip(_why_nothing(result))

    def _write(self, result: Result) -> list[str]:
        if self.directory is None:
            return []
        texts = [finding_files(found(finding, result.port)) for finding in result.findings]
        for name, text in [item for each in texts for item in each.items()]:
            (self.directory / name).write_text(text, encoding="utf-8")
        return [name for each in texts for name in each]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the suite to what was collected, before anybody selects from it."""
        path = Path(__file__).with_name("pytest_suite.py")
        module = Module.from_parent(session, path=path, nodeid=NAME)
        module.real_time = self.real_time
        for item in session.genitems(module):
            item.add_marker(MARKER)
            items.append(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let what a test came to travel with its report."""
        report = yield
        if report.when == "call" and TOLD in item.stash:
            report.__dict__[NAME] = item.stash[TOLD]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather what the tests came to."""
        if NAME in report.__dict__:
            self._gathered.add(report.nodeid, report.__dict__[NAME])
        elif report.skipped and report.nodeid.startswith(f"{NAME}::"):
            _, _, reason = cast("tuple[str, int, str]", report.longrepr)
            self._gathered.skip(report.nodeid, reason.removeprefix("Skipped: "))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run has failed that finds a known finding no more, or cannot write what it came to."""
        if not self._leads:
            return
        self._repaired = self._gathered.repaired(lambda: self.rules)
        covered = self.coverage is None or self._gathered.cover(self.coverage)
        saved = self.directory is None or self._gathered.save(self.directory / RESULT)
        if (
            self._repaired or not covered or not saved
        ) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What was shown of the model, and each finding once."""
        lines = list(self._gathered.lines(self._repaired))
        if lines:
            terminalreporter.section("groupcheck")
        for line in lines:
            terminalreporter.line(bounded(line))


def judge(
    request: pytest.FixtureRequest, parts: Parts, part: Callable[[Parts], Verification]
) -> None:
    """Verify a part, and end the test as it went."""
    suite = Suite.of(request.config)
    try:
        verification = part(parts.sparing(suite.lacking(request.node)))
    except PortUnavailableError as error:
        pytest.fail(str(error), pytrace=False)
    suite.judge(request, verification)


def _why_nothing(result: Result) -> str:
    if result.unsupported:
        return f"not supported by the port: {', '.join(result.unsupported)}"
    return "not reached: on every way there the port takes another branch, or diverges"


def _open_once(source: PortSource, profile: str) -> None:
    """See that a port can be opened; what it does wrong after that is for the tests to find."""
    port = source.connect()
    try:
        with contextlib.suppress(PortFailedError):
            port.open(profile, {})
            port.close()
    finally:
        port.shutdown()
