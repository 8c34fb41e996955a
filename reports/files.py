"""What a verification leaves on disk: each finding as text, trace and test, and the result."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from groupcheck.properties.finding import Finding
from groupcheck.properties.result import Result
from groupcheck.properties.sequence import dump
from groupcheck.reports.story import story, title

FORMAT = 1

# The files that a report is made of, and nobody else's.
OURS: Final = re.compile(
    r"result\.json|finding_[0-9a-f]{8}\.(txt|jsonl)|test_finding_[0-9a-f]{8}\.py"
)


def as_json(result: Result) -> dict[str, Any]:
    """The result as JSON-able values; `format` is the version of this form."""
    return {
        "format": FORMAT,
        "port": result.port,
        "profile": result.settings.profile,
        "kafka": result.kafka,
        "conforms": result.conforms,
        "ended_early": result.ended_early,
        "settings": result.settings._asdict(),
        "spaces": [
            {
                "name": space.name,
                "states": space.states,
                "edges": space.edges,
                "depth": space.depth,
                **{
                    f"edges_{name}": n
                    for name, n in space.shares._asdict().items()
                    if name != "edges"
                },
            }
            for space in result.spaces
        ],
        "sequences": result.sequences,
        "steps": result.steps,
        "seconds": round(result.seconds, 3),
        "unsupported": result.unsupported,
        "presumed": result.presumed,
        "more_findings": result.more,
        "not_reproduced": result.not_reproduced,
        "findings": [
            {
                "id": finding.finding_id,
                "title": title(finding),
                "story": story(finding),
                "trace": [json.loads(line) for line in dump(finding.sequence).splitlines()],
            }
            for finding in result.findings
        ],
    }


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


def write(result: Result, directory: Path) -> list[Path]:
    """Write result.json and three files for each finding, in the place of an earlier report's.

    Raises:
        OSError: a file cannot be written, or one of the earlier report cannot be removed.
    """
    texts = {"result.json": json.dumps(as_json(result), indent=1) + "\n"}
    for finding in result.findings:
        texts |= finding_files(finding, result.port)
    prepare(directory)
    for path in directory.iterdir():
        if OURS.fullmatch(path.name) and not path.is_dir():
            path.unlink()
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in texts]


def finding_files(finding: Finding, port: str) -> dict[str, str]:
    """The files of one finding, by name."""
    return {
        f"finding_{finding.finding_id}.txt": story(finding),
        f"finding_{finding.finding_id}.jsonl": dump(finding.sequence),
        f"test_finding_{finding.finding_id}.py": pytest_file(finding, port),
    }


def pytest_file(finding: Finding, port: str) -> str:
    """A pytest file that fails until the port is mended; it needs groupcheck and pytest alone."""
    # A story has no control characters, and a trace is JSON in ASCII.
    text = "\n".join(f"    {line}".rstrip() for line in story(finding).splitlines())
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    trace = dump(finding.sequence).replace("\\", "\\\\")
    return f'''"""A finding of groupcheck as a test: it fails until the port is mended.

Run it with pytest. GROUPCHECK_PORT in the environment names another port to run it against.
"""

import os

import groupcheck

PORT = os.environ.get("GROUPCHECK_PORT", {port!r})

TRACE = """\\
{trace}"""


def test_finding_{finding.finding_id}():
    """
{text}
    """
    groupcheck.check_trace(TRACE, PORT)
'''
