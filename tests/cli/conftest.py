"""Fixtures that run a command in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from groupcheck.cli import main


class Done(NamedTuple):
    """The exit status of a command, and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs a command: `run("verify", "builtin")`."""

    def run_command(*arguments: object) -> Done:
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Done(status, printed.out, printed.err)

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
