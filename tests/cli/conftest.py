"""Fixtures that run a command in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from groupcheck.cache import cache_folder
from groupcheck.cli import main
from support.progress import without_progress

TESTS: Final = Path(__file__).parent.parent
CACHE: Final = cache_folder().parent


class Done(NamedTuple):
    """The exit status of a command, and what it printed; `err` is without lines of progress."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command: `run("verify", "builtin")`."""

    def run_command(*arguments: object) -> Done:
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Done(status, printed.out, without_progress(printed.err))

    return run_command


@pytest.fixture
def error(run: Callable[..., Done]) -> Callable[..., str]:
    """Runs a command that fails with status 2 and one line; returns the line."""

    def error_of(*arguments: object) -> str:
        done = run(*arguments)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done
        assert done.err.startswith("groupcheck: ")
        return done.err

    return error_of


@pytest.fixture
def printed(run: Callable[..., Done]) -> Callable[..., str]:
    """Runs a command that ends with a status (0) and without an error; returns its output."""

    def printed_by(*arguments: object, status: int = 0) -> str:
        done = run(*arguments)
        assert (done.status, done.err) == (status, ""), done
        return done.out

    return printed_by


@pytest.fixture
def repository(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The repository of a port's author; its tests can import the tests of this one."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")
    # Not in the home folder of the pytester, where each command would explore every instance again.
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))
    return pytester


@pytest.fixture
def usage_error(repository: pytest.Pytester) -> Callable[..., str]:
    """Runs pytest in this process with an invalid option; returns the line of the usage error."""

    def usage_error_of(*arguments: str) -> str:
        result = repository.runpytest_inprocess(*arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "Traceback" not in result.stderr.str()
        return next(line for line in result.stderr.lines if line.startswith("ERROR: groupcheck: "))

    return usage_error_of


@pytest.fixture
def history(run: Callable[..., Done], tmp_path: Path) -> Callable[..., Done]:
    """Runs `history` on the lines of a file; the path in the error is FILE."""
    path = tmp_path / "history"

    def check(lines: Iterable[object], *options: str) -> Done:
        text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        done = run("history", path, *options)
        return done._replace(err=done.err.replace(str(path), "FILE"))

    return check
