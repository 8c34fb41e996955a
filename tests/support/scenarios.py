"""Tests that say by a decorator what they hold, found without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Scenario(NamedTuple):
    """A test of this project, and the names of what it holds."""

    file: Path
    name: str
    holds: tuple[str, ...]

    @property
    def link(self) -> str:
        """What it says, with a link to its file from a page in docs/."""
        words = self.name.removeprefix("test_").replace("_", " ")
        return f"[{words}](../{self.file.relative_to(ROOT).as_posix()})"


def decorated(files: Iterable[Path], decorator: str) -> Iterator[Scenario]:
    """Every test in these files with that decorator, whose arguments are the names."""
    for file in sorted(files):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (names := tuple(_named(node, decorator))):
                yield Scenario(file, node.name, names)


def links(found: Iterable[Scenario]) -> dict[str, list[str]]:
    """For each name the links to the tests that hold it."""
    held: dict[str, list[str]] = {}
    for scenario in found:
        for name in scenario.holds:
            held.setdefault(name, []).append(scenario.link)
    return held


def _named(function: ast.FunctionDef, decorator: str) -> Iterator[str]:
    for node in function.decorator_list:
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if name == decorator:
                yield from (ast.literal_eval(arg) for arg in args)
