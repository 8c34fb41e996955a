"""The commands that the documentation shows, as a reader meets them, and which of them are not run.

Fenced blocks have a mark. `sh` is commands; so is a block without a mark that begins with a program
that is named below. `console` is commands, after `$ `, each with what it prints, where a line `...`
stands for any lines. A block with `title="NAME"` is a file that the reader is told to save.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from support.scenarios import ROOT

PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]

PROGRAMS: Final = (
    *(".ci/run", ".venv/bin/groupcheck", ".venv/bin/pip", ".venv/bin/python"),
    *("groupcheck", "mkdocs", "pip", "pytest", "python", "python3", "spark-submit"),
)

# What is not run, by how it begins, and why.
NOT_RUN: Final = {
    "python3 -m venv": "it installs packages: .ci/run does that with the README's",
    ". .venv/bin/activate": "it is about a virtual environment that was not made",
    "pip install": "it installs packages: .ci/run does that",
    ".ci/run": "it runs these tests",
    "groupcheck verify kafka:": "it needs a broker: tests/properties/brokers",
    "groupcheck verify 'kafka:": "it needs a broker: tests/properties/brokers",
    "groupcheck verify builtin --code implementation": "minutes: tests/cli/test_code.py",
    "groupcheck verify builtin --profile 4.1 --code implementation": "as the one before",
    "groupcheck verify librdkafka-mock": "20 s of real time: tests/properties/ports",
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
    """A command of a page, and what is shown below it, if anything is."""

    page: str
    text: str
    shown: str = ""


class Saved(NamedTuple):
    """A file that the reader is told to save."""

    name: str
    text: str


def story(page: Path) -> Iterator[Command | Saved]:
    """The commands of a page, and the files that are to be saved, in their order."""
    name = page.relative_to(ROOT).as_posix()
    for mark, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if title := re.search(r'title="([^"]+)"', mark):
            yield Saved(title[1], text)
        elif mark == "console":
            for each in text.removeprefix("$ ").split("\n$ "):
                command, _, shown = each.partition("\n")
                yield Command(name, command, shown)
        elif mark == "sh" or (not mark and _program(text) in PROGRAMS):
            yield from (Command(name, each) for each in _split(text))


def why_not(command: Command) -> str | None:
    """Why it is not run, if it is not."""
    text = command.text.removeprefix(".venv/bin/")
    return next((why for start, why in NOT_RUN.items() if text.startswith(start)), None)


def spoken(page: Path) -> Iterator[Command]:
    """The commands that a page names in its sentences, with placeholders where they have some."""
    name = page.relative_to(ROOT).as_posix()
    for text in _SPAN.findall(_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        words = text.split()
        if len(words) > 1 and words[0] in PROGRAMS:
            yield Command(name, " ".join(words))


def parts(text: str) -> Iterator[list[str]]:
    """The words of each command of a line of the shell."""
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
    """The commands of a block: a line each, or as many as a quotation or a backslash takes."""
    command = ""
    for line in text.splitlines():
        command += line
        try:
            shlex.split(command, comments=True)
        except ValueError:  # a quotation that is not closed, or a backslash at the end
            command += "\n"
            continue
        if shlex.split(command, comments=True):
            yield command
        command = ""
