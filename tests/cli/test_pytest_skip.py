"""The pytest plugin: skipped features, markers and the coverage file."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from groupcheck.properties.coverage.covered import read

QUICK = ("--groupcheck-members=1", "--groupcheck-examples=0", "--groupcheck-walks=10")


def run(repository: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return repository.runpytest_subprocess("-rs", *arguments, *QUICK)


@pytest.mark.slow
def test_a_feature_in_the_ini_file_is_skipped_with_its_reason(repository: pytest.Pytester) -> None:
    repository.makeini(
        """
        [pytest]
        groupcheck_port = builtin
        groupcheck_skip =
            held-appends our log has no callback
            static_members
        """
    )
    result = run(repository, "-k", "log or heartbeat")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "skipped    held-appends: our log has no callback",
            "skipped    static-members: listed in groupcheck_skip",
            "SKIPPED *: held-appends: our log has no callback",
        ]
    )
    assert result.parseoutcomes()["skipped"] > 0
    result = run(repository, "-k", "log or heartbeat", "--groupcheck-skip=crashes not yet")
    assert "skipped" not in result.parseoutcomes(), "the command line goes first"
    result.stdout.fnmatch_lines(["skipped    crashes: not yet"])


@pytest.mark.slow
def test_a_marker_of_a_fixture_parameter_skips_a_feature(repository: pytest.Pytester) -> None:
    repository.makeconftest(
        """
        import pytest

        LACKING = pytest.mark.no_held_appends(reason="shards have no callback")

        @pytest.fixture(
            scope="session",
            params=[
                "builtin",
                pytest.param("python:support.faulty_python_port:make", marks=LACKING),
            ],
        )
        def groupcheck_port(request):
            return request.param
        """
    )
    result = run(repository, "--groupcheck", "--strict-markers", "-k", "hold")
    assert result.ret == 0
    result.assert_outcomes(passed=1, skipped=1, deselected=None)
    result.stdout.fnmatch_lines(
        ["port       builtin, *", "skipped    held-appends: shards have no callback"]
    )


@pytest.mark.slow
def test_the_markers_are_listed_and_one_selects_the_suite(repository: pytest.Pytester) -> None:
    result = repository.runpytest_inprocess("--markers")
    result.stdout.fnmatch_lines(
        ["@pytest.mark.groupcheck: *", "@pytest.mark.no_static_members(reason=None): *"]
    )
    repository.makepyfile("def test_mine(): pass")
    result = run(repository, "--groupcheck-port=builtin", "-m", "not groupcheck")
    assert result.parseoutcomes()["passed"] == 1


def test_an_unknown_feature_is_a_usage_error(usage_error: Callable[..., str]) -> None:
    line = usage_error("--groupcheck-port=builtin", "--groupcheck-skip=statics")
    assert "--groupcheck-skip: unknown feature 'statics'; known: offsets, " in line


@pytest.mark.slow
def test_the_coverage_of_all_processes_is_added_to_a_file(repository: pytest.Pytester) -> None:
    path = repository.path / "coverage.json"
    options = ("--groupcheck-port=builtin", "--groupcheck-coverage=coverage.json", "-k")
    result = run(repository, *options, "heartbeat", "-n2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["coverage   *transitions (*) in all runs*coverage.json"])
    first = read(path)["2.7"]
    assert {"heartbeat/alive", "heartbeat/unknown-member"} <= first.applied
    assert run(repository, *options, "leave").ret == 0
    second = read(path)["2.7"]
    for name, space in first.instances.items():
        assert space.union(second.instances[name]) == second.instances[name]
    assert first.applied <= second.applied
    assert second != first


@pytest.mark.parametrize("name", ["nowhere/coverage.json", "garbage.json"])
def test_an_invalid_coverage_file_is_a_usage_error(
    repository: pytest.Pytester, name: str, usage_error: Callable[..., str]
) -> None:
    (repository.path / "garbage.json").write_text(json.dumps({"format": 99}))
    assert name in usage_error("--groupcheck-port=builtin", f"--groupcheck-coverage={name}")
