"""What a verification leaves on disk: each finding as text, trace and test, and the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from groupcheck.properties.finding import Finding
from groupcheck.properties.result import Result
from groupcheck.properties.sequence import dump
from groupcheck.reports.story import story, title

FORMAT = 1


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


def write(result: Result, directory: Path) -> list[str]:
    """Write result.json and three files for each finding; the names of what was written.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = [directory / "result.json"]
    written[0].write_text(json.dumps(as_json(result), indent=1) + "\n", encoding="utf-8")
    for finding in result.findings:
        for name, text in finding_files(finding, result.port).items():
            path = directory / name
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return [str(path) for path in written]


def finding_files(finding: Finding, port: str) -> dict[str, str]:
    """The files of one finding, by name."""
    return {
        f"finding_{finding.finding_id}.txt": story(finding),
        f"finding_{finding.finding_id}.jsonl": dump(finding.sequence),
        f"test_finding_{finding.finding_id}.py": pytest_file(finding, port),
    }


def pytest_file(finding: Finding, port: str) -> str:
    """A pytest file that fails until the port is mended; it needs groupcheck and pytest alone."""
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
