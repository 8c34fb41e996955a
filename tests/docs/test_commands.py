"""Runs the commands in the documentation and compares their output.

`test_options_of_commands.py` parses the commands that are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from support.documented import PAGES, Command, SavedFile, contents, why_not

# Options that shorten a verification whose output is not in the documentation.
SHORT: Final = {
    "groupcheck verify": "--members 1 --examples 5 --walks 20",
    "pytest": "--groupcheck-members=1 --groupcheck-examples=5 --groupcheck-walks=20",
}

PROGRAM: Final = f"""\
#!{sys.executable}
import json, sys
from my_package.port import MyPort

port = MyPort()
FIELDS = {{"advance": ["ms"], "fault": ["fault"], "open": ["profile", "config"],
    "request": ["id", "api", "apiVersion", "clientId", "clientHost", "body"]}}
for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    returned = getattr(port, kind)(*(message[key] for key in FIELDS.get(kind, [])))
    done = {{"type": "done", "port": returned}} if kind == "open" else {{"type": "done"}}
    for message in [*(returned if kind != "open" else []), done]:
        print(json.dumps(message), flush=True)
"""
RECORDING: Final = """\
{"type":"open","trace":1,"profile":"2.7","config":{}}
{"type":"request","id":1,"api":"Heartbeat","apiVersion":3,"clientId":"a","clientHost":"/1","body":{"groupId":"g","generationId":1,"memberId":"m"}}
{"type":"response","id":1,"body":{"errorCode":25}}
"""

CONTENTS: Final = {page.name: each for page in PAGES if (each := list(contents(page)))}

# Files that exist before the commands of a page run.
FILES: Final = {
    "my_package/__init__.py": "",
    "my_package/port.py": next(
        each.text for each in reversed(CONTENTS["start.md"]) if isinstance(each, SavedFile)
    ),
    "my_package/my_port.py": "from my_package.port import MyPort as make\n",
    "my-port": PROGRAM,
    "session.jsonl": RECORDING,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_package").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "my-port").chmod(0o755)
    return tmp_path


SLOW = {
    *("clients.md", "cluster.md", "coverage.md", "deviations.md", "explore.md", "pytest.md"),
    *("reports.md", "server.md", "start.md", "verify.md", "whole-system.md"),
    "write-a-specification.md",
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(each, id=page, marks=[pytest.mark.slow] if page in SLOW else [])
        for page, each in CONTENTS.items()
    ],
)
def test_the_commands_of_a_page_print_the_output_on_the_page(
    page: list[Command | SavedFile], folder: Path
) -> None:
    for each in page:
        if isinstance(each, SavedFile):
            (folder / each.name).write_text(each.text, encoding="utf-8")
        elif not why_not(each):
            if "--baseline last/" in each.text:
                _run(folder, "cp -r results last")
            _compare(_run(folder, _shortened(each)), each)


def _shortened(command: Command) -> str:
    text = command.text.removeprefix(".venv/bin/")
    for start, options in SHORT.items():
        if text.startswith(start) and not command.output:
            return f"{start} {options} {text.removeprefix(start)}"
    return text


def _run(folder: Path, text: str) -> str:
    """The output of a command; its exit status must match its verdict."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        ["/bin/bash", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == int("verdict    diverges" in done.stdout), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def _compare(printed: str, command: Command) -> None:
    lines = command.output.splitlines()
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in lines)
    if lines:
        assert re.fullmatch(pattern, printed), f"{command.text} prints\n{printed}"
