"""The files of a result: record, page, JUnit XML; each finding as text, trace, picture, test."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from groupcheck.reports.changes import Changes, changes
from groupcheck.reports.diagram import diagram
from groupcheck.reports.explored_graphs import Graphs, explored_again
from groupcheck.reports.finding_text import finding_text
from groupcheck.reports.html import as_html
from groupcheck.reports.junit import as_junit
from groupcheck.reports.mermaid import as_mermaid
from groupcheck.reports.record import FindingRecord, ResultRecord
from groupcheck.reports.record_file import NAME, PAGE, as_text
from groupcheck.reports.svg import as_svg

JUNIT: Final = "junit.xml"

# The files of a report; others in the directory are not touched.
OURS: Final = re.compile(
    rf"{NAME}|{PAGE}|{JUNIT}|finding_[0-9a-f]{{8}}\.(txt|jsonl|itf\.json|mmd|svg)|test_finding_[0-9a-f]{{8}}\.py"
)


def prepare(directory: Path) -> None:
    """Make the directory of a report, before the run.

    Raises:
        OSError: no file can be written there.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(errno.ENOTDIR, "not a directory") from error
    with TemporaryFile(dir=directory):
        pass


def sweep(directory: Path) -> None:
    """Remove the files of an earlier report.

    Raises:
        OSError: a file cannot be removed.
    """
    # If there is no result, another program wrote the page and the JUnit file.
    others = set[str]() if (directory / NAME).exists() else {PAGE, JUNIT}
    for path in directory.iterdir():
        if OURS.fullmatch(path.name) and path.name not in others and not path.is_dir():
            path.unlink()


def write(
    result: ResultRecord,
    directory: Path,
    graphs: Graphs | None = None,
    changed: Changes | None = None,
) -> list[Path]:
    """Write the files of a report, and remove those of an earlier one.

    Args:
        result: the result.
        directory: where to write.
        graphs: those of the instances; None explores them again.
        changed: the changes since a baseline; None: there is none.

    Raises:
        OSError: a file cannot be written, or one of the earlier report cannot be removed.
    """
    changed = changed or changes(result, None)
    texts = {
        NAME: as_text(result),
        PAGE: as_html(result, changed, graphs or explored_again(result)),
        JUNIT: as_junit(result, changed),
    }
    for finding in result.findings:
        texts |= finding_files(finding)
    prepare(directory)
    sweep(directory)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in texts]


def finding_files(finding: FindingRecord) -> dict[str, str]:
    """The files of one finding, by name."""
    texts = {f"finding_{finding.id}.txt": finding_text(finding)}
    if finding.trace:
        texts[f"finding_{finding.id}.jsonl"] = trace_of(finding)
    if finding.itf is not None:
        texts[f"finding_{finding.id}.itf.json"] = json.dumps(finding.itf) + "\n"
    if drawn := diagram(finding):
        texts[f"finding_{finding.id}.mmd"] = as_mermaid(drawn)
        texts[f"finding_{finding.id}.svg"] = as_svg(drawn)
    if finding.port:
        texts[f"test_finding_{finding.id}.py"] = pytest_file(finding)
    return texts


def trace_of(finding: FindingRecord) -> str:
    """The sequence of a finding, as JSON Lines."""
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in finding.trace)


def pytest_file(finding: FindingRecord) -> str:
    """A pytest file that fails until the port is fixed; it needs only groupcheck and pytest."""
    # The text has no control characters, and the trace is JSON in ASCII.
    text = "\n".join(f"    {line}".rstrip() for line in finding_text(finding).splitlines())
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    trace = trace_of(finding).replace("\\", "\\\\")
    return f'''"""A finding of groupcheck as a test: it fails until the port is fixed.

Run it with pytest. GROUPCHECK_PORT in the environment names another port to run it against.
"""

import os

import groupcheck

PORT = os.environ.get("GROUPCHECK_PORT", {finding.port!r})

TRACE = """\\
{trace}"""


def test_finding_{finding.id}():
    """
{text}
    """
    groupcheck.check_trace(TRACE, PORT)
'''
