"""The commands that the documentation shows, as a reader meets them; what they do is not here.

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
