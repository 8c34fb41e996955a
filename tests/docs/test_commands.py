"""Every command that the documentation shows is run as it stands, or it is said why not.

What is not run is parsed (`test_options_of_commands.py`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from support.documented import PAGES, Command, Saved, story, why_not

# Where nothing is shown below it a verification is made short.
SHORT: Final = {
    "groupcheck verify": "--members 1 --examples 5 --walks 20",
    "pytest": "--groupcheck-members=1 --groupcheck-examples=5 --groupcheck-walks=20",
}

PROGRAM: Final = f"""\
#!{sys.executable}
import json, sys
from my_package.port import MyPort

port = MyPort()
ASKED = {{"advance": ["ms"], "fault": ["fault"], "open": ["profile", "config"],
    "request": ["id", "api", "apiVersion", "clientId", "clientHost", "body"]}}
for line in sys.stdin:
    asked = json.loads(line)
    kind = asked["type"]
    said = getattr(port, kind)(*(asked[key] for key in ASKED.get(kind, [])))
    done = {{"type": "done", "port": said}} if kind == "open" else {{"type": "done"}}
    for message in [*(said if kind != "open" else []), done]:
        print(json.dumps(message), flush=True)
"""
RECORDING: Final = """\
{"type":"open","trace":1,"profile":"2.7","config":{}}
{"type":"request","id":1,"api":"Heartbeat","apiVersion":3,"clientId":"a","clientHost":"/1","body":{"groupId":"g","generationId":1,"memberId":"m"}}
{"type":"response","id":1,"body":{"errorCode":25}}
"""

TOLD: Final = {page.name: told for page in PAGES if (told := list(story(page)))}

# What a reader is presumed to have, beside what the page tells him to save.
THERE: Final = {
    "my_package/__init__.py": "",
    "my_package/port.py": next(
        told.text for told in reversed(TOLD["start.md"]) if isinstance(told, Saved)
    ),
    "my_package/my_port.py": "from my_package.port import MyPort as make\n",
    "my-port": PROGRAM,
    "session.jsonl": RECORDING,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_package").mkdir()
    for name, text in THERE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "my-port").chmod(0o755)
    return tmp_path


SLOW = {"code.md", "explore.md", "generators.md", "pytest.md", "reports.md", "start.md"}


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(told, id=page, marks=[pytest.mark.slow] if page in SLOW else [])
        for page, told in TOLD.items()
    ],
)
def test_the_commands_of_a_page_do_what_it_says(told: list[Command | Saved], folder: Path) -> None:
    for each in told:
        if isinstance(each, Saved):
            (folder / each.name).write_text(each.text, encoding="utf-8")
        elif not why_not(each):
            if "--baseline last/" in each.text:
                _run(folder, "cp -r results last")
            _compare(_run(folder, _shortened(each)), each)


def _shortened(command: Command) -> str:
    text = command.text.removeprefix(".venv/bin/")
    for start, options in SHORT.items():
        if text.startswith(start) and not command.shown:
            return f"{start} {options} {text.removeprefix(start)}"
    return text


def _run(folder: Path, text: str) -> str:
    """What the command printed; it found what it found, and nothing else went wrong."""
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
    lines = command.shown.splitlines()
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in lines)
    if lines:
        assert re.fullmatch(pattern, printed), f"{command.text} prints\n{printed}"
