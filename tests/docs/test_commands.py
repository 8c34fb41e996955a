"""Every command that the documentation shows is run as it stands, or it is said why not.

What is not run is parsed at least, with its very options; so is what is named in a sentence.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from groupcheck import pytest_plugin
from groupcheck.options import parser
from groupcheck.status import ImpossibleError
from support.documented import PAGES, Command, Saved, parts, spoken, story
from support.scenarios import ROOT

# What is not run, by how it begins, and why.
NOT_RUN: Final = {
    "python3 -m venv": "it installs packages: .ci/run does that with the README's",
    ". .venv/bin/activate": "it is about a virtual environment that was not made",
    "pip install": "it installs packages: .ci/run does that",
    ".ci/run": "it runs these tests",
    "groupcheck verify kafka:": "it needs a broker: tests/properties/brokers",
    "groupcheck verify 'kafka:": "it needs a broker: tests/properties/brokers",
    "groupcheck verify librdkafka-mock": "20 s of real time: tests/properties/ports",
    "groupcheck serve": "it serves until Ctrl-C: tests/doors/test_serve.py",
    "python -c '\nfrom confluent_kafka": "it needs a server, and consumes until Ctrl-C",
    "groupcheck ingest": "it takes Spark: tests/pipeline",
    "groupcheck check": "it takes Spark: tests/pipeline",
    "spark-submit": "it takes a cluster",
    "groupcheck explore --engine spark": "it takes Spark: tests/pipeline",
    "groupcheck explore  ": "a minute: tests/doors/test_explore.py explores less",
    "python tests/bench/": "it measures, for minutes",
}

# Where nothing is shown below it a verification is made short.
SHORT: Final = {
    "groupcheck verify": "--members 1 --examples 5 --walks 20",
    "pytest": "--groupcheck-members=1 --groupcheck-examples=5 --groupcheck-walks=20",
}

PORT: Final = """\
class MyPort:
    def open(self, profile, config):
        return {"name": "my-port", "version": "1"}

    def request(self, request_id, api, api_version, client_id, client_host, body):
        if api != "Heartbeat":
            return [{"type": "unsupported", "what": api}]
        error = 25 if body["groupId"] else 24
        return [{"type": "response", "id": request_id, "body": {"errorCode": error}}]

    def advance(self, ms):
        return []

    def fault(self, fault, **fields):
        return [{"type": "unsupported", "what": fault}]

    def close(self):
        return []
"""
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

# What a reader is presumed to have, beside what the page tells him to save.
THERE: Final = {
    "my_package/__init__.py": "",
    "my_package/port.py": PORT,
    "my-port": PROGRAM,
    "session.jsonl": RECORDING,
}


def why_not(command: Command) -> str | None:
    """Why it is not run."""
    text = command.text.removeprefix(".venv/bin/")
    return next((why for start, why in NOT_RUN.items() if text.startswith(start)), None)


TOLD: Final = [(page, list(story(page))) for page in PAGES]
ASKED: Final = [(page, [*spoken(page)]) for page in PAGES]
LEFT_OUT: Final = [
    each for _, told in TOLD for each in told if isinstance(each, Command) and why_not(each)
]


def _named(pages: list[tuple[Path, list[Any]]]) -> list[Any]:
    return [pytest.param(told, id=page.name) for page, told in pages if told]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_package").mkdir()
    for name, text in THERE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "my-port").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("told", _named(TOLD))
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
        ["bash", "-c", text],
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


@pytest.mark.parametrize("command", LEFT_OUT, ids=lambda each: f"{each.page}: {each.text[:60]}")
def test_what_is_not_run_is_parsed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in parts(command.text):
        _parse(words, monkeypatch)


def test_each_reason_not_to_run_a_command_is_needed() -> None:
    reasons = {why_not(each) for each in LEFT_OUT}
    assert set(NOT_RUN.values()) == reasons


@pytest.mark.parametrize("told", _named(ASKED))
def test_what_is_named_in_a_sentence_has_these_options(
    told: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in told:
        for words in parts(each.text.replace("PYTHONPATH=tests ", "")):
            if Path(words[0]).name == "groupcheck":
                _check_options(words[1:])
            elif len(words) > 2 or Path(words[0]).name != "python":
                _parse(words, monkeypatch)
            else:
                assert (ROOT / words[1]).exists(), each.text


def test_the_pytest_plugin_has_every_option_that_is_named_and_each_is_named() -> None:
    class Group:
        options: set[str] = set()

        def addoption(self, *names: str, **_: object) -> None:
            self.options.update(names)

    class Parser:
        def getgroup(self, *_: str) -> Group:
            return Group()

        def addini(self, *_: object, **__: object) -> None:
            pass

    plugin: Any = pytest_plugin
    plugin.pytest_addoption(Parser())
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"--groupcheck[a-z-]*\b", text)) == Group.options


def _check_options(words: list[str]) -> None:
    """A sentence names a command with some of its options, and gives no more than it is about."""
    known = _commands()
    if words[0] not in known:
        assert words[0] in {"COMMAND", "--help", "--version"}
        return
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert flags <= known[words[0]] | {"--help"}, words


def _commands() -> dict[str, set[str]]:
    made = parser()._actions
    (choices,) = (each.choices for each in made if isinstance(each, argparse._SubParsersAction))
    return {name: set(each._option_string_actions) for name, each in choices.items()}


def _parse(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    match [Path(words[0]).name, *words[1:]]:
        case ["groupcheck", *arguments]:
            try:
                parser().parse_args(arguments)
            except ImpossibleError as error:
                pytest.fail(f"groupcheck {' '.join(arguments)}: {error}")
        case ["spark-submit", "--master", "URL", *rest]:
            _parse(rest, monkeypatch)
        case ["pip", "install", *packages]:
            _check_extras(packages)
        case ["python" | "python3", "-m", "venv" | "http.server", *_] | ["mkdocs", "build", *_]:
            pass
        case ["python", "-c", code]:
            compile(code, "documentation", "exec")
        case ["python", script, *arguments]:
            _parse_script(script, arguments, monkeypatch)
        case ["pytest", *_] | ["", ".venv/bin/activate"] | ["run"]:
            pass  # its own options: what they do is not ours
        case _:
            pytest.fail(f"nobody knows how to parse {words}: say it here")


def _check_extras(packages: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in packages:
        if extras := re.fullmatch(r"(?:\.|groupcheck)\[(.*)\]", package):
            assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()


class ParsedError(Exception):
    """The options have been parsed, which is all that was to be seen."""


def _parse_script(script: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a program of the repository up to the point where it knows its options."""
    if not arguments:
        assert (ROOT / script).exists(), script
        return
    really = argparse.ArgumentParser.parse_args

    def parse(*given: Any, **named: Any) -> NoReturn:
        really(*given, **named)
        raise ParsedError

    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse)
        patch.setattr(sys, "argv", [script, *arguments])
        patch.setattr(sys, "path", [*sys.path])
        try:
            runpy.run_path(str(ROOT / script), run_name="__main__")
        except ParsedError:
            return
        except ModuleNotFoundError as error:
            pytest.skip(f"{script} needs {error.name}")
        except SystemExit:
            pytest.fail(f"{script} does not take {arguments}")
    pytest.fail(f"{script} has no options")
