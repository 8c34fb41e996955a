"""The suite: collects its tests, verifies the port once for all, and sets the outcome of each."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Final, NoReturn, cast

import pytest

from groupcheck.model.classic.instances.inputs import Feature
from groupcheck.model.classic.profiles.minors import EVERY_PROFILE
from groupcheck.properties.coverage.covered import MalformedCoverageError, read_or_empty
from groupcheck.properties.ports.port import PortFailedError, PortUnavailableError
from groupcheck.properties.ports.source import (
    PortSource,
    UnknownPortError,
    factory_source,
    port_source,
)
from groupcheck.properties.rule_checks import rule_instances, rule_verification
from groupcheck.properties.unsupported import SKIPPABLE, skip
from groupcheck.properties.verify import Verification
from groupcheck.pytest_plugin.items import NAME, Module, port_of, rule_of, selected, take_ids
from groupcheck.pytest_plugin.options import option
from groupcheck.pytest_plugin.results import NO_RULE, Run, plain, run_of, run_once
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
from groupcheck.pytest_plugin.summary import Summary
from groupcheck.reports.files import finding_files, prepare, sweep
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded
from groupcheck.reports.record_file import NAME as RESULT

# The run of a test, as plain values; empty if an earlier test ran it.
RUN_KEY: Final = pytest.StashKey[dict[str, object]]()


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
        kafka = EVERY_PROFILE[self.settings.profile].kafka
        self._summary = Summary(kafka, self.expected, self.directory)
        self._fixed: list[str] = []
        self._runs: dict[str, Run] = {}
        self._chosen = take_ids(config)
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
                read_or_empty(self.coverage)
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
        return rule_instances(self.settings).rules

    def source(self, port: object) -> PortSource:
        """The source of the value of the fixture `groupcheck_port`."""
        if isinstance(port, str):
            source = self._source or self._checked(port)
            if source is not None and source.real_time is not self.real_time:
                _exit(f"{port} runs in real time: name it with --groupcheck-port")
        else:
            source = factory_source(port if callable(port) else lambda: port)
        if source is None:
            _exit("no port: use --groupcheck-port, or override the fixture groupcheck_port")
        return source

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
        if item.get_closest_marker(MARKER) and (reason := self._inapplicable(item)):
            pytest.skip(reason)

    def _inapplicable(self, item: pytest.Item) -> str:
        """Why the rule of a test never applies to its port; empty if it may."""
        missing, rule = self.missing(item), rule_of(item)
        needed = sorted(rule_instances(self.settings).needs[rule]) if missing and rule else ()
        return next((f"{each}: {missing[each]}" for each in needed if each in missing), "")

    def check(self, request: pytest.FixtureRequest, source: PortSource) -> None:
        """Verify the port for all tests that have it, unless that is done; set the outcome."""
        item = request.node
        key = repr((port_of(item), sorted(self.missing(item).items())))
        run = self._runs.get(key)
        if run is None:
            run, is_new = self._shared(request, source, key)
            self._runs[key] = run
            item.stash[RUN_KEY] = plain(run) if is_new else {}
        if run.result.ended_early == "interrupted":
            request.session.shouldstop = "groupcheck: interrupted"
        self._finish(item, run)

    def _shared(
        self, request: pytest.FixtureRequest, source: PortSource, key: str
    ) -> tuple[Run, bool]:
        """The run for the port of a test, and whether this process ran it."""
        port, missing = port_of(request.node), self.missing(request.node)
        tests = [
            rule_of(item)
            for item in request.session.items
            if item.get_closest_marker(MARKER)
            and (port_of(item), self.missing(item)) == (port, missing)
            and not self._inapplicable(item)
        ]
        if self._is_main:
            return self._verified(source, missing, tests), True
        folder = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
        file = folder / f"groupcheck-{hashlib.sha256(key.encode()).hexdigest()}"
        return run_once(file, lambda: self._verified(source, missing, tests))

    def _verified(
        self, source: PortSource, missing: Mapping[Feature, str], tests: list[str]
    ) -> Run:
        """Verify the rules of the tests."""
        source = skip(source, missing)
        if self.real_time:
            verification = Verification(source, self.settings)
        else:
            rules = [test for test in tests if test != NO_RULE]
            verification = rule_verification(source, self.settings, rules, random=NO_RULE in tests)
        try:
            verification.run()
        except PortUnavailableError as error:
            verification.result.ended_early = str(error)
        run = run_of(
            verification,
            tests,
            missing,
            covered=self.coverage is not None,
        )
        if self.directory is not None:
            texts = [item for each in run.result.findings for item in finding_files(each).items()]
            for name, text in texts:
                (self.directory / name).write_text(text, encoding="utf-8")
            run.files = [name for name, _ in texts]
        return run

    def _finish(self, item: pytest.Item, run: Run) -> None:
        """Set the outcome of a test."""
        part = run.parts[rule_of(item)]
        item.user_properties += [
            ("groupcheck_transitions", part.transitions),
            ("groupcheck_transitions_covered", part.covered),
            *(("groupcheck_finding", finding_id) for finding_id in part.findings),
        ]
        texts = {each.id: finding_text(each) for each in run.result.findings}
        news = [texts[each] for each in part.findings if each not in self.expected]
        if news or part.ended_early:
            ended = [f"ended early: {part.ended_early}"] if part.ended_early else []
            pytest.fail("\n".join([*news, *ended]), pytrace=False)
        if part.findings:
            pytest.xfail("; ".join(f"{each}: {self.expected[each]}" for each in part.findings))
        if part.transitions and not part.covered:
            pytest.skip(_why_nothing(run))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the suite to the collected tests, before -k, -m and others select from them."""
        path = Path(__file__).with_name("tests.py")
        module = Module.from_parent(session, path=path, nodeid=NAME)
        module.real_time = self.real_time
        suite = list(session.genitems(module))
        for item in suite:
            item.add_marker(MARKER)
        if self._chosen:
            suite, rest = selected(suite, self._chosen)
            session.config.hook.pytest_deselected(items=rest)
        items.extend(suite)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send the result of a test with its report, from a worker to the main process."""
        report = yield
        if report.when == "call" and RUN_KEY in item.stash:
            report.__dict__[NAME] = item.stash[RUN_KEY]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test, and the run that it made, to the summary."""
        if not report.nodeid.startswith(f"{NAME}::"):
            return
        if report.when == "call":
            self._summary.add(report.__dict__.get(NAME))
        elif report.skipped:
            _, _, reason = cast("tuple[str, int, str]", report.longrepr)
            self._summary.skip(reason.removeprefix("Skipped: "))

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


def _why_nothing(run: Run) -> str:
    if run.result.ended_early:
        return f"not reached: ended early: {run.result.ended_early}"
    if run.unsupported:
        return f"not supported by the port: {', '.join(run.unsupported)}"
    return "not reached: on every path the port takes another allowed branch, or diverges"


def _open_once(source: PortSource, profile: str) -> None:
    """Check that a port can be opened; the tests find its other failures.

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
