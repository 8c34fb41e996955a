"""Parses the commands in the documentation that are not run, or that a sentence names."""

from __future__ import annotations

import argparse
import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from groupcheck import pytest_plugin
from groupcheck.cli.exit_status import CommandError
from groupcheck.cli.registry import parser
from support.documented import NOT_RUN, PAGES, Command, contents, named_commands, parts, why_not
from support.marked_tests import ROOT

PARSED_ONLY: Final = [
    each for page in PAGES for each in contents(page) if isinstance(each, Command) and why_not(each)
]
NAMED: Final = {page.name: named for page in PAGES if (named := list(named_commands(page)))}


@pytest.mark.parametrize("command", PARSED_ONLY, ids=lambda each: f"{each.page}: {each.text[:60]}")
def test_a_command_that_is_not_run_is_parsed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in parts(command.text):
        _parse(words, monkeypatch)


def test_every_reason_not_to_run_a_command_is_used() -> None:
    reasons = {why_not(each) for each in PARSED_ONLY}
    assert set(NOT_RUN.values()) == reasons


@pytest.mark.parametrize("commands", list(NAMED.values()), ids=list(NAMED))
def test_a_command_in_a_sentence_has_the_options_that_it_names(
    commands: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in commands:
        for words in parts(each.text.replace("PYTHONPATH=tests ", "")):
            if Path(words[0]).name == "groupcheck":
                _check_options(words[1:])
            elif len(words) > 2 or Path(words[0]).name != "python":
                _parse(words, monkeypatch)
            else:
                assert (ROOT / words[1]).exists(), each.text


def test_the_documentation_names_every_option_of_the_pytest_plugin() -> None:
    options: set[str] = set()

    class Group:
        def addoption(self, *names: str, **_: object) -> None:
            options.update(names)

    class Parser:
        def getgroup(self, *_: str) -> Group:
            return Group()

        def addini(self, *_: object, **__: object) -> None:
            pass

    plugin: Any = pytest_plugin
    plugin.pytest_addoption(Parser())
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"--groupcheck[a-z-]*\b", text)) == options


def _check_options(words: list[str]) -> None:
    """Check the options only: a sentence may omit required arguments."""
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
            except CommandError as error:
                pytest.fail(f"groupcheck {' '.join(arguments)}: {error}")
        case ["spark-submit", "--master", "URL", "check_groups.py", *rest]:
            _parse(["groupcheck", *rest], monkeypatch)
        case ["pip", "install", *packages]:
            _check_extras(packages)
        case ["python" | "python3", "-m", "venv" | "http.server", *_] | [
            "mkdocs",
            "build" | "serve",
            *_,
        ]:
            pass
        case ["python", "-c", code]:
            compile(code, "documentation", "exec")
        case ["python", script, *arguments]:
            _parse_script(script, arguments, monkeypatch)
        case ["pytest", *_] | ["", ".venv/bin/activate"] | ["run"]:
            pass  # options of other programs are not checked
        case _:
            pytest.fail(f"add a case to parse {words}")


def _check_extras(packages: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in packages:
        if extras := re.fullmatch(r"(?:\.|groupcheck)\[(.*)\]", package):
            assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()


class ParsedError(Exception):
    """Ends a script after it has parsed its options."""


def _parse_script(script: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a program of the repository until it has parsed its options."""
    text = (ROOT / script).read_text(encoding="utf-8")
    if "parse_args" not in text:  # it has no parser, and would start
        assert all(f'"{each}"' in text for each in arguments if each.startswith("--")), arguments
        return
    if not arguments:
        return
    parse_args = argparse.ArgumentParser.parse_args

    def parse(*given: Any, **named: Any) -> NoReturn:
        parse_args(*given, **named)
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
