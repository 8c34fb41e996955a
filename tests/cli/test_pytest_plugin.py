"""The pytest plugin, in the repository of a port's author."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from fnmatch import fnmatch

import pytest

from groupcheck.cli import main
from groupcheck.properties.coverage.kind import Kind
from groupcheck.reports.record_file import read

QUICK = ("--groupcheck-members=1", "--groupcheck-examples=10", "--groupcheck-walks=20")
FAULTY = "python:support.faulty_python_port:make_unstable"
SHOWN = (
    "--groupcheck-members=1",
    "--groupcheck-examples=0",
    "--groupcheck-walks=0",
    "-k",
    "alive",
)
UNSTABLE = "6bb5dcb8"  # its finding


def run(repository: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return repository.runpytest_subprocess(*arguments)


def bug(repository: pytest.Pytester, name: str) -> None:
    """Uses a coordinator with a seeded fault as the port of the repository."""
    repository.makeconftest(
        f"""
        import pytest
        from support.faulty_python_port import FaultyPythonPort

        @pytest.fixture(scope="session")
        def groupcheck_port():
            return lambda: FaultyPythonPort({name!r})
        """
    )


@pytest.mark.slow
def test_the_suite_has_a_test_for_each_rule_without_a_test_file(
    repository: pytest.Pytester,
) -> None:
    result = run(repository, "--groupcheck-port=builtin", "-v", *QUICK)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "groupcheck::test_rule[[]heartbeat/alive] PASSED*",
            "groupcheck::test_random_sequences PASSED*",
            "port       builtin, checked against Apache Kafka 2.7.2",
            "covered    3,084 of 3,084 transitions (100 %)",
        ]
    )


@pytest.mark.slow
def test_the_result_with_xdist_is_the_same(repository: pytest.Pytester) -> None:
    result = run(repository, "--groupcheck-port=builtin", "-n2", *QUICK)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["covered    3,084 of 3,084 transitions (100 %)"])


@pytest.mark.slow
def test_a_failing_test_prints_the_finding_without_a_traceback(repository: pytest.Pytester) -> None:
    result = run(repository, f"--groupcheck-port={FAULTY}", "--junit-xml=junit.xml", *SHOWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"Finding {UNSTABLE}: differs from Apache Kafka 2.7.2: *",
            "*[[]GroupCoordinator.scala:643]",
            f"finding    {UNSTABLE} *",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin/suite.py*")
    suites = ET.parse(repository.path / "junit.xml")  # noqa: S314 - pytest wrote it
    ids = suites.findall(".//property[@name='groupcheck_finding']")
    assert [each.get("value") for each in ids] == [UNSTABLE]


@pytest.mark.slow
def test_findings_are_written_to_the_report_directory(repository: pytest.Pytester) -> None:
    old = repository.path / "found" / "finding_00000000.txt"
    old.parent.mkdir()
    old.touch()
    done = run(repository, f"--groupcheck-port={FAULTY}", "--groupcheck-report=found", *SHOWN)
    assert {path.name for path in old.parent.iterdir()} == {
        f"finding_{UNSTABLE}.txt",
        *(f"finding_{UNSTABLE}.{kind}" for kind in ("jsonl", "itf.json", "mmd", "svg")),
        f"test_finding_{UNSTABLE}.py",
        "result.json",
    }
    saved = read(old.parent)
    assert [finding.id for finding in saved.findings] == [UNSTABLE]
    assert (saved.command, saved.conforms, len(saved.runs)) == ("verify", False, 1)
    asked = [kind for each in saved.instances for kind in each.outcomes if kind != Kind.NOT_ASKED]
    covered = f"covered    {saved.covered:,} of {len(asked):,} transitions *"
    done.stdout.fnmatch_lines([covered])
    ran = saved.runs[0]
    line = f"ran        {ran.sequences:,} sequences, {ran.steps:,} steps"
    done.stdout.fnmatch_lines([line, "result *result.json, for groupcheck report"])
    assert main(["report", str(old.parent)]) == 1


@pytest.mark.slow
def test_an_expected_finding_is_an_xfail_with_its_reason(repository: pytest.Pytester) -> None:
    repository.makeini(
        f"""
        [pytest]
        groupcheck_port = {FAULTY}
        groupcheck_expected = {UNSTABLE} our clients wait
        """
    )
    result = run(repository, "-rx", *SHOWN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [f"finding    {UNSTABLE} *(expected: our *", "XFAIL *our clients wait*"]
    )


@pytest.mark.slow
def test_a_fixed_expected_finding_fails_the_run(repository: pytest.Pytester) -> None:
    repository.makeini("[pytest]\ngroupcheck_expected = 01234567 once it was so")
    result = run(repository, "--groupcheck-port=builtin", *QUICK)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["fixed      01234567: remove it from groupcheck_expected"])
    result = run(repository, "--groupcheck-port=builtin", "-k", "heartbeat", *QUICK)
    assert result.ret == 0, "not everything was tried, so it may still be there"


@pytest.mark.slow
def test_a_fixture_can_return_the_port(repository: pytest.Pytester) -> None:
    repository.makeconftest(
        """
        import pytest
        from support.faulty_python_port import make_unstable

        @pytest.fixture(scope="session")
        def groupcheck_port():
            return make_unstable
        """
    )
    result = run(repository, "--groupcheck", *SHOWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["port       python:support.faulty_python_port:make_unstable, checked against *"]
    )


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        pytest.param("KAFKA-2596", "commit/no-group", marks=pytest.mark.slow),
        pytest.param("KAFKA-6005", "join/new-inconsistent", marks=pytest.mark.slow),
        ("KAFKA-10134", "heartbeat/alive"),
    ],
)
def test_the_test_of_a_rule_finds_a_bug_that_kafka_had(
    repository: pytest.Pytester, name: str, rule: str
) -> None:
    bug(repository, name)
    result = run(repository, "--groupcheck", *QUICK, "-k", rule.partition("/")[2])
    assert result.ret == 1
    result.stdout.fnmatch_lines(["Finding *: differs from Apache Kafka *", f"FAILED*[[]{rule}]*"])
    result.stdout.no_fnmatch_line("*pytest_plugin/suite.py*")


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["-n0", "-n2"])
def test_a_cause_fails_one_test_whose_printed_id_can_be_pasted(
    repository: pytest.Pytester, processes: str
) -> None:
    bug(repository, "KAFKA-2596")
    result = run(repository, "--groupcheck", "-rf", *QUICK, processes)
    (line,) = [line for line in result.outlines if line.startswith("FAILED ")]
    test_id = line.removeprefix("FAILED ").partition(" - ")[0]
    assert test_id == "groupcheck::test_rule[commit/no-group]"
    result.stdout.fnmatch_lines(["covered    * of 3,084 transitions *", "finding    *"])
    again = run(repository, "--groupcheck", *QUICK, test_id)
    assert again.parseoutcomes().keys() == {"failed", "deselected"}
    assert set(findings_of(again)) == set(findings_of(result))


def findings_of(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("finding    ")]


@pytest.mark.parametrize(
    ("ids", "count"),
    [
        (["groupcheck::test_rule[heartbeat/alive]"], 1),
        (["groupcheck::test_random_sequences", "groupcheck::test_rule[heartbeat/alive]"], 2),
        (["test_mine.py", "groupcheck::test_random_sequences"], 2),
        (["test_mine.py::test_mine", "../groupcheck::test_random_sequences"], 2),
    ],
)
def test_ids_of_the_suite_select_its_tests(
    repository: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ids: list[str], count: int
) -> None:
    inner = repository.mkdir("inner")
    repository.makeini("[pytest]")
    (inner / "test_mine.py").write_text("def test_mine(): pass")
    monkeypatch.chdir(inner)
    done = repository.runpytest_inprocess(
        "--groupcheck-port=builtin", "--groupcheck-members=1", "--collect-only", *ids
    )
    done.stdout.fnmatch_lines([f"* {count}/* tests collected (* deselected) in *"])


def test_an_unknown_id_of_the_suite_is_a_usage_error(usage_error: Callable[..., str]) -> None:
    unknown = "groupcheck::test_rule[no/such-rule]"
    line = usage_error("--groupcheck-port=builtin", "--groupcheck-members=1", unknown)
    assert line == f"ERROR: groupcheck: the suite has no test {unknown}"


@pytest.mark.parametrize(
    ("arguments", "collected"),
    [
        ((), ["test_mine"]),
        (("found",), ["test_finding_01234567", "test_notes"]),
        (("found/test_finding_01234567.py",), ["test_finding_01234567"]),
        (("found/test_finding_01234567.py::test_finding_01234567",), ["test_finding_01234567"]),
    ],
)
def test_the_tests_of_a_report_run_only_if_the_report_is_named(
    repository: pytest.Pytester, arguments: tuple[str, ...], collected: list[str]
) -> None:
    found = repository.mkdir("found")
    repository.makepyfile(test_mine="def test_mine(): pass")
    (found / "result.json").touch()
    (found / "test_finding_01234567.py").write_text("def test_finding_01234567(): pass")
    if arguments:
        (found / "test_notes.py").write_text("def test_notes(): pass")
    done = repository.runpytest_inprocess("-v", *arguments)
    passed = [line.partition("::")[2].split()[0] for line in done.outlines if "PASSED" in line]
    assert passed == collected


@pytest.mark.slow
def test_last_failed_selects_the_tests_that_failed(
    repository: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    run(repository, f"--groupcheck-port={FAULTY}", *SHOWN)
    result = run(repository, f"--groupcheck-port={FAULTY}", "--lf", *SHOWN)
    assert result.parseoutcomes().get("failed", 0) > 0
    assert "passed" not in result.parseoutcomes()


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("--groupcheck-port=nonsense", "*unknown PORT 'nonsense'; it is one of: builtin*"),
        ("--groupcheck-port=python:no.such:thing", "*cannot import 'no.such'*"),
        ("--groupcheck-port=exec:./no-such-program", "*no-such-program*"),
        ("--groupcheck-profile=9.9", "*unknown profile '9.9'; known: 0.10.0*"),
        ("--groupcheck-members=4", "*members '4' is not a whole number from 1 to 3"),
        ("--groupcheck-steps=\u00b2", "*steps '\u00b2' is not a whole number from 1 to 10000"),
        ("--groupcheck-max-findings=0", "*max-findings '0' is not a whole number from 1 to 1000"),
        ("--groupcheck-report=file/sub", "*cannot write to */file/sub: *"),
    ],
)
def test_an_invalid_option_is_a_usage_error_of_one_line(
    repository: pytest.Pytester, argument: str, line: str, usage_error: Callable[..., str]
) -> None:
    (repository.path / "file").touch()
    assert fnmatch(usage_error("--groupcheck-port=builtin", argument), f"ERROR: groupcheck: {line}")


@pytest.mark.slow
def test_without_a_port_the_error_says_how_to_name_one(repository: pytest.Pytester) -> None:
    result = run(repository, "--groupcheck")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*no port: use --groupcheck-port, or override the fixture*"])


def test_a_run_without_the_options_does_not_import_the_suite(repository: pytest.Pytester) -> None:
    repository.makepyfile(
        "import sys\ndef test_it(): assert 'groupcheck.pytest_plugin.suite' not in sys.modules"
    )
    result = run(repository, "--strict-markers", "-W", "error")
    assert result.ret == 0
    result.assert_outcomes(passed=1)
