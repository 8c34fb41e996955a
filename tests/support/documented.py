"""The commands in the documentation, in order, and which of them are not run.

A fenced block with the mark `sh` contains commands, and so does one without a mark that begins with
a known program. A `console` block contains commands, after `$ `, and their output, where a line
`...` stands for any lines. A block with `title="NAME"` is a file to save.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from support.marked_tests import ROOT

PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]

PROGRAMS: Final = (
    *(".ci/run", ".venv/bin/groupcheck", ".venv/bin/pip", ".venv/bin/python"),
    *("groupcheck", "mkdocs", "pip", "pytest", "python", "python3", "spark-submit"),
)

# The reasons for commands that are not run, by their beginnings.
NOT_RUN: Final = {
    "python3 -m venv": "it installs packages: .ci/run does that with the README's",
    ". .venv/bin/activate": "it needs a virtual environment that the test does not create",
    "pip install": "it installs packages: .ci/run does that",
    ".ci/run": "it runs these tests",
    "groupcheck verify kafka:": "it needs a broker: tests/properties/brokers",
    "groupcheck verify 'kafka:": "it needs a broker: tests/properties/brokers",
    "groupcheck replay kafka-": "a run on a broker records it: tests/cli/test_replay.py",
    "groupcheck verify builtin --code implementation": "minutes: tests/cli/test_code.py",
    "groupcheck verify builtin --profile 4.1 --code implementation": "as the one before",
    "groupcheck verify kfake": "it needs a broker: tests/properties/brokers",
    "groupcheck verify librdkafka-mock": "minutes of real time: tests/properties/ports",
    "groupcheck verify tansu": "it needs a broker: tests/properties/brokers",
    "groupcheck verify mokapi": "it needs a broker: tests/properties/brokers",
    "groupcheck assignors verify kafka-python": "its next version may differ: tests/properties",
    "groupcheck assignors verify aiokafka": "as the one before",
    "groupcheck serve": "it serves until Ctrl-C: tests/cli/test_serve.py",
    "python -c '\nfrom confluent_kafka": "it needs a server, and consumes until Ctrl-C",
    "groupcheck ingest": "it takes Spark: tests/pipeline",
    "groupcheck check": "it takes Spark: tests/pipeline",
    "spark-submit": "it takes a cluster",
    "groupcheck explore --engine spark": "it takes Spark: tests/pipeline",
    "groupcheck explore  ": "a minute: tests/cli/test_explore.py explores less",
    "python bench/": "it measures, for minutes",
}

_BLOCK: Final = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")


class Command(NamedTuple):
    """A command of a page, and its output if the page has it."""

    page: str
    text: str
    output: str = ""


class SavedFile(NamedTuple):
    """A file that the reader saves."""

    name: str
    text: str


def contents(page: Path) -> Iterator[Command | SavedFile]:
    """The commands of a page and the files to save, in order."""
    name = page.relative_to(ROOT).as_posix()
    for mark, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if title := re.search(r'title="([^"]+)"', mark):
            yield SavedFile(title[1], text)
        elif mark == "console":
            for each in text.removeprefix("$ ").split("\n$ "):
                command, _, output = each.partition("\n")
                yield Command(name, command, output)
        elif mark == "sh" or (not mark and _program(text) in PROGRAMS):
            yield from (Command(name, each) for each in _split(text))


def why_not(command: Command) -> str | None:
    """The reason why a command is not run, or None."""
    text = command.text.removeprefix(".venv/bin/")
    return next((why for start, why in NOT_RUN.items() if text.startswith(start)), None)


def named_commands(page: Path) -> Iterator[Command]:
    """The commands in the sentences of a page, perhaps with placeholders."""
    name = page.relative_to(ROOT).as_posix()
    for text in _SPAN.findall(_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        words = text.split()
        if len(words) > 1 and words[0] in PROGRAMS:
            yield Command(name, " ".join(words))


def parts(text: str) -> Iterator[list[str]]:
    """The words of each command in a line of the shell."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="&>")
    lexer.whitespace_split = True
    part: list[str] = []
    for word in [*lexer, "&&"]:
        if word == "&&":
            yield part
            part = []
        else:
            part.append(word)


def _program(text: str) -> str:
    return text.split(maxsplit=1)[0] if text.strip() else ""


def _split(text: str) -> Iterator[str]:
    """The commands of a block: one per line, or several lines with a quotation or a backslash."""
    command = ""
    for line in text.splitlines():
        command += line
        try:
            shlex.split(command, comments=True)
        except ValueError:  # an open quotation, or a backslash at the end
            command += "\n"
            continue
        if shlex.split(command, comments=True):
            yield command
        command = ""
