"""A result as annotations of GitHub Actions: workflow commands, one per line.

GitHub shows at most ten errors and ten warnings of a step; new findings come first.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.reports.changes import Changes
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.formatting import bounded
from groupcheck.reports.record import ResultRecord


def as_annotations(saved: ResultRecord, changed: Changes) -> str:
    """The lines; none for a result without findings and lost coverage."""
    return "".join(f"{line}\n" for line in _lines(saved, changed))


def _lines(saved: ResultRecord, changed: Changes) -> Iterator[str]:
    if saved.ended_early or not saved.decided:
        yield _command("error", "groupcheck", bounded(saved.verdict))
    for finding in changed.new:
        yield _command("error", f"groupcheck: {finding.title}", finding_text(finding))
    for lost in changed.lost:
        kind = "error" if changed.lost_fails else "warning"
        what = f"{lost.name}: {lost.how_many} covered by the baseline alone"
        yield _command(kind, "groupcheck: coverage lost", what)
    for finding in changed.known:
        yield _command("notice", f"groupcheck: known: {finding.title}", finding_text(finding))
    for finding in changed.gone:
        yield _command("notice", "groupcheck: gone", f"{finding.id} {finding.title}")


def _command(kind: str, title: str, message: str) -> str:
    return f"::{kind} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    """A message, encoded for the runner."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
