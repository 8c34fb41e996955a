"""Exit statuses, and the error that ends a command with a message and a status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from groupcheck.extras import needing

if TYPE_CHECKING:
    from groupcheck.model.classic.step import Profile
    from groupcheck.reports.record import ResultRecord

CONFORMS, DIVERGES, NO_VERDICT, TOO_LITTLE = range(4)

STATUS = """\
Exit status: 0 the port conforms, 1 it diverges, 2 there is no verdict,
3 coverage is below --fail-under."""


class CommandError(Exception):
    """Ends a command: the message goes to standard error, output printed before is kept."""

    def __init__(self, message: str, status: int = NO_VERDICT) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def ending_with_message(
    *errors: type[Exception], action: str = "", status: int = NO_VERDICT
) -> Iterator[None]:
    """Convert expected exceptions to a `CommandError`.

    Args:
        errors: exceptions whose own text is the message.
        action: with it an `OSError` is expected too; the message is "cannot ACTION: REASON".
        status: the exit status; 0 counts as NO_VERDICT, as the command has failed.
    """
    try:
        yield
    except errors as error:
        raise CommandError(str(error), status or NO_VERDICT) from error
    except OSError as error:
        if not action:
            raise
        message = f"cannot {action}: {error.strerror or error}"
        raise CommandError(message, status or NO_VERDICT) from error


@contextmanager
def with_packages_of(extra: str) -> Iterator[None]:
    """Convert a missing package to a `CommandError` that names the extra which installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise CommandError(needing(package, extra)) from error


def check_coverage(saved: ResultRecord, status: int, least: float | None) -> None:
    """Check that a conforming port covers `least` percent of the transitions that it supports.

    Raises:
        CommandError: it covers less.
    """
    from groupcheck.reports.formatting import counted, percent

    if status == CONFORMS and least and 100 * saved.covered < least * saved.supported:
        share = percent(saved.covered, saved.supported)
        supported = counted(saved.supported, "supported transition")
        msg = f"too little is covered: {share} of {supported}, less than --fail-under {least:g}"
        raise CommandError(msg, TOO_LITTLE)


def profile_of(name: str, *, minors: bool = False) -> Profile:
    """The profile of that name; with `minors` also one for the check of brokers only.

    Raises:
        CommandError: there is none.
    """
    from groupcheck.model.classic.profiles import PROFILES
    from groupcheck.model.classic.profiles.minors import EVERY_PROFILE

    known = EVERY_PROFILE if minors else PROFILES
    if name not in known:
        msg = f"unknown profile {name!r}; known: {', '.join(known)}"
        raise CommandError(msg)
    return known[name]
