"""A result as annotations of GitHub Actions: workflow commands, a line for each.

GitHub shows ten errors and ten warnings of a step at the most; what is new comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.reports.changes import Changes
from groupcheck.reports.saved import Saved
from groupcheck.reports.words import bounded


def as_annotations(saved: Saved, changed: Changes) -> str:
    """The lines; none if there is nothing to say."""
    return "".join(f"{line}\n" for line in _lines(saved, changed))


def _lines(saved: Saved, changed: Changes) -> Iterator[str]:
    if saved.ended_early or not saved.decided:
        yield _command("error", "groupcheck", bounded(saved.verdict))
    for finding in changed.new:
        yield _command("error", f"groupcheck: {finding.title}", finding.story)
    for lost in changed.lost:
        sort = "error" if changed.lost_fails else "warning"
        what = f"{lost.name}: {lost.how_many} that the baseline shows not shown"
        yield _command(sort, "groupcheck: edges lost", what)
    for finding in changed.known:
        yield _command("notice", f"groupcheck: known: {finding.title}", finding.story)
    for finding in changed.gone:
        yield _command("notice", "groupcheck: gone", f"{finding.id} {finding.title}")


def _command(sort: str, title: str, message: str) -> str:
    return f"::{sort} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """A message as the runner decodes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
