"""The suite: collects its tests, runs each on a part of the verification, and sets the outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final, NoReturn, cast

import pytest

from groupcheck.model.instances.inputs import Feature
from groupcheck.model.profiles import PROFILES
from groupcheck.properties.coverage.covered import MalformedCoverageError
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.source import (
    PortSource,
    UnknownPortError,
    factory_source,
    port_source,
)
from groupcheck.properties.result import Result
from groupcheck.properties.rule_checks import Parts, division
from groupcheck.properties.unsupported import SKIPPABLE
from groupcheck.properties.verify import Verification
from groupcheck.pytest_plugin.options import option
from groupcheck.pytest_plugin.settings import (
    MARKER,
    expected_of,
    marker,
    path_of,
    refuse,
    settings_of,
    skipped_of,
    tolerances_of,
)
from groupcheck.pytest_plugin.summary import Summary, TestResult, read_coverage, result_of
from groupcheck.reports.files import finding_files, prepare, sweep
from groupcheck.reports.formatting import bounded
from groupcheck.reports.record_file import NAME as RESULT
from groupcheck.reports.text import story
from groupcheck.reports.verification_record import finding_record

# The name of the tests in node ids, instead of the path of this package.
NAME: Final = "groupcheck"

# A live broker is verified by one test, as all sequences run side by side.
REAL_TIME_TEST: Final = "test_on_a_real_clock"

RESULT_KEY: Final = pytest.StashKey[TestResult]()


class Module(pytest.Module):
    """The module of the tests; the user's setting `python_functions` does not apply to it."""

    real_time = False

    def funcnamefilter(self, name: str) -> bool:
        """Whether to collect a function: some tests are for real time, some for virtual time."""
        return name.startswith("test_") and (name == REAL_TIME_TEST) is self.real_time


class Suite:
    """The plugin that collects the suite and prints its summary.

    Raises:
        pytest.UsageError: the port or a setting is invalid, or a file cannot be written.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.settings = settings_of(config)
        self._tolerances = tolerances_of(config)
        self.expected = expected_of(config)
        self.skipped = skipped_of(config)
        self.directory = path_of(config, "report")
        self.coverage = path_of(config, "coverage")
        self._source = self._checked(option(config, "port"))
        if self._source is not None:
            self.settings = settings_of(config, self._source.profile)
        self.real_time = self._source is not None and self._source.real_time
        kafka = PROFILES[self.settings.profile].kafka
        self._summary = Summary(kafka, self.expected, self.directory)
        self._fixed: list[str] = []
        self._is_main = not hasattr(config, "workerinput")  # not a worker of pytest-xdist
        if self._is_main:
            self._prepare()

    def _prepare(self) -> None:
        """Check before the first test that the files can be written."""
        if self.directory:
            try:
                prepare(self.directory)
                sweep(self.directory)
            except OSError as error:
                refuse(f"cannot write to {self.directory}: {error.strerror}")
        if self.coverage:
            try:
                read_coverage(self.coverage)
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
        """The rules that have a test."""
        return division(self.settings).rules

    def parts(self, port: object) -> Parts:
        """The parts of the verification of the value of the fixture `groupcheck_port`."""
        if isinstance(port, str):
            source = self._source or self._checked(port)
            if source is not None and source.real_time is not self.real_time:
                _exit(f"{port} runs in real time: name it with --groupcheck-port")
        else:
            source = factory_source(port if callable(port) else lambda: port)
        if source is None:
            _exit("no port: use --groupcheck-port, or override the fixture groupcheck_port")
        return Parts(source, self.settings)

    def _checked(self, port: str) -> PortSource | None:
        """The source of a named port, if one is named; a port in virtual time is opened once."""
        if not port:
            return None
        try:
            source = port_source(port, seed=self.settings.seed, tolerances=self._tolerances)
            if not source.real_time:
                _open_once(source, self.settings.profile)
        except (UnknownPortError, PortUnavailableError) as error:
            refuse(str(error))
        return source

    def missing(self, item: pytest.Item) -> dict[Feature, str]:
        """The reasons of the features that the port of a test does not have."""
        found = dict(self.skipped)
        for feature in SKIPPABLE:
            mark = item.get_closest_marker(marker(feature))
            if mark is not None:
                reason = mark.kwargs.get("reason") or "".join(map(str, mark.args[:1]))
                found[feature] = reason or f"marked {mark.name}"
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip the test of a rule that never applies without a missing feature."""
        missing = self.missing(item) if item.get_closest_marker(MARKER) else {}
        rule = getattr(item, "callspec", None) and item.callspec.params.get("rule")  # type: ignore[attr-defined]
        if not missing or rule is None:
            return
        for feature in sorted(division(self.settings).needs[rule]):
            if feature in missing:
                pytest.skip(f"{feature}: {missing[feature]}")

    def finish(self, request: pytest.FixtureRequest, verification: Verification) -> None:
        """Record the result of a test, and fail or skip the test accordingly."""
        result, missing = verification.result, self.missing(request.node)
        test_result = result_of(
            verification,
            missing,
            self._write(result),
            covered=self.coverage is not None,
            saved=self.directory is not None,
        )
        request.node.stash[RESULT_KEY] = test_result
        for name in ("transitions", "transitions_covered"):
            request.node.user_properties.append((f"groupcheck_{name}", test_result[name]))
        for finding in result.findings:
            request.node.user_properties.append(("groupcheck_finding", finding.finding_id))
        news = [each for each in result.findings if each.finding_id not in self.expected]
        if news or result.ended_early:
            ended = [f"ended early: {result.ended_early}"] if result.ended_early else []
            pytest.fail("\n".join([*map(story, news), *ended]), pytrace=False)
        if result.findings:
            ids = [finding.finding_id for finding in result.findings]
            pytest.xfail("; ".join(f"{each}: {self.expected[each]}" for each in ids))
        if result.transitions and not result.covered_transitions:
            pytest.skip(_why_nothing(result))

    def _write(self, result: Result) -> list[str]:
        if self.directory is None:
            return []
        texts = [finding_files(finding_record(finding, result.port)) for finding in result.findings]
        for name, text in [item for each in texts for item in each.items()]:
            (self.directory / name).write_text(text, encoding="utf-8")
        return [name for each in texts for name in each]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the suite to the collected tests, before -k, -m and others select from them."""
        path = Path(__file__).with_name("tests.py")
        module = Module.from_parent(session, path=path, nodeid=NAME)
        module.real_time = self.real_time
        for item in session.genitems(module):
            item.add_marker(MARKER)
            items.append(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the result of a test with its report, from a worker to the main process."""
        report = yield
        if report.when == "call" and RESULT_KEY in item.stash:
            report.__dict__[NAME] = item.stash[RESULT_KEY]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test to the summary."""
        if NAME in report.__dict__:
            self._summary.add(report.nodeid, report.__dict__[NAME])
        elif report.skipped and report.nodeid.startswith(f"{NAME}::"):
            _, _, reason = cast("tuple[str, int, str]", report.longrepr)
            self._summary.skip(report.nodeid, reason.removeprefix("Skipped: "))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run if an expected finding is fixed, or a file cannot be written."""
        if not self._is_main:
            return
        self._fixed = self._summary.fixed(lambda: self.rules)
        covered = self.coverage is None or self._summary.cover(self.coverage)
        saved = self.directory is None or self._summary.save(self.directory / RESULT)
        failed = self._fixed or not covered or not saved
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the coverage of the model, and each finding once."""
        lines = list(self._summary.lines(self._fixed))
        if lines:
            terminalreporter.section("groupcheck")
        for line in lines:
            terminalreporter.line(bounded(line))


def check(
    request: pytest.FixtureRequest, parts: Parts, part: Callable[[Parts], Verification]
) -> None:
    """Run a part of the verification, and set the outcome of the test."""
    suite = Suite.of(request.config)
    try:
        verification = part(parts.skip_features(suite.missing(request.node)))
    except PortUnavailableError as error:
        pytest.fail(str(error), pytrace=False)
    suite.finish(request, verification)


def _why_nothing(result: Result) -> str:
    if result.unsupported:
        return f"not supported by the port: {', '.join(result.unsupported)}"
    return "not reached: on every path the port takes another allowed branch, or diverges"


def _open_once(source: PortSource, profile: str) -> None:
    """Check that a port can be opened; the tests find what it does wrong after that.

    Raises:
        PortUnavailableError: it cannot be opened.
    """
    port = source.connect()
    try:
        port.open(profile, {})
        with contextlib.suppress(PortFailedError):
            port.close()
    except PortFailedError as failed:
        msg = f"{source.spec} cannot be opened: {failed}"
        raise PortUnavailableError(msg) from failed
    finally:
        port.shutdown()


def _exit(reason: str) -> NoReturn:
    pytest.exit(f"groupcheck: {reason}", returncode=pytest.ExitCode.USAGE_ERROR)
