"""What a result leaves on disk: the result; each finding as text, traces, picture, test."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from groupcheck.reports.diagram import Arrow, Diagram, Note
from groupcheck.reports.mermaid import as_mermaid
from groupcheck.reports.saved import Diagram as SavedDiagram
from groupcheck.reports.saved import Found, Saved
from groupcheck.reports.saved_file import NAME, as_text
from groupcheck.reports.svg import as_svg

# The files that a report is made of, and nobody else's.
OURS: Final = re.compile(
    r"result\.json|finding_[0-9a-f]{8}\.(txt|jsonl|itf\.json|mmd|svg)|test_finding_[0-9a-f]{8}\.py"
)


def prepare(directory: Path) -> None:
    """Make the directory of a report, before there is anything to report.

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
    """Remove what an earlier report left.

    Raises:
        OSError: a file of it cannot be removed.
    """
    for path in directory.iterdir():
        if OURS.fullmatch(path.name) and not path.is_dir():
            path.unlink()


def write(result: Saved, directory: Path) -> list[Path]:
    """Write result.json and the files of each finding, in the place of an earlier report's.

    Raises:
        OSError: a file cannot be written, or one of the earlier report cannot be removed.
    """
    texts = {NAME: as_text(result)}
    for finding in result.findings:
        texts |= finding_files(finding)
    prepare(directory)
    sweep(directory)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in texts]


def finding_files(finding: Found) -> dict[str, str]:
    """The files of one finding, by name, as far as it has what they are made of."""
    texts = {f"finding_{finding.id}.txt": finding.story}
    if finding.trace:
        texts[f"finding_{finding.id}.jsonl"] = trace_of(finding)
    if finding.itf is not None:
        texts[f"finding_{finding.id}.itf.json"] = json.dumps(finding.itf) + "\n"
    if finding.diagram is not None:
        drawn = diagram_of(finding.diagram)
        texts[f"finding_{finding.id}.mmd"] = as_mermaid(drawn)
        texts[f"finding_{finding.id}.svg"] = as_svg(drawn)
    if finding.port:
        texts[f"test_finding_{finding.id}.py"] = pytest_file(finding)
    return texts


def trace_of(finding: Found) -> str:
    """The sequence of a finding, as JSON Lines."""
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in finding.trace)


def diagram_of(drawn: SavedDiagram) -> Diagram:
    """The sequence diagram of a finding, as it was saved."""
    events = tuple(
        Note(event.label)
        if event.kind == "note"
        else Arrow(event.source, event.target, event.label, event.kind)
        for event in drawn.events
    )
    return Diagram(drawn.title, drawn.participants, events, drawn.verdict)


def pytest_file(finding: Found) -> str:
    """A pytest file that fails until the port is mended; it needs groupcheck and pytest alone."""
    # A story has no control characters, and a trace is JSON in ASCII.
    text = "\n".join(f"    {line}".rstrip() for line in finding.story.splitlines())
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    trace = trace_of(finding).replace("\\", "\\\\")
    return f'''"""A finding of groupcheck as a test: it fails until the port is mended.

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
