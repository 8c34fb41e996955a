"""The details of an exploration that `explore -v` prints."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from groupcheck import __version__
from groupcheck.model.exploring.exploration import Exploration, Explored
from groupcheck.properties.temporal.counterexamples import PROPERTIES, Counterexample
from groupcheck.reports.columns import table, wrapped


def details(exploration: Exploration, broken: list[Counterexample] | None) -> str:
    """The lines after the summary; `broken` is as in it."""
    sections = [_digests(exploration), *map(_rules, exploration.spaces)]
    if broken is not None:
        sections.append(list(_properties({each.property.name: each for each in broken})))
    return "".join("\n" + "".join(f"{line}\n" for line in lines) for lines in sections)


def _digests(exploration: Exploration) -> list[str]:
    settings = exploration.settings._asdict() | {"profile": exploration.settings.profile.name}
    said = (f"{name}={value}" for name, value in settings.items() if value not in {(), None})
    digests = [
        f"instance   {space.name}: longest shortest trace {space.longest_witness} steps,"
        f" digest {space.digest}"
        for space in exploration.spaces
    ]
    version = f"with       groupcheck {__version__}, Python {platform.python_version()}"
    return [version, *wrapped("settings", said), *digests]


def _rules(space: Explored) -> list[str]:
    """The number of transitions that apply each rule, the most frequent first."""
    rows = [[rule, f"{number:,}"] for rule, number in space.figures.rules.most_common()]
    return table([[f"transitions by rule, {space.name}", ""], *rows])


def _properties(broken: dict[str, Counterexample]) -> Iterator[str]:
    for prop in PROPERTIES:
        head = "violated" if prop.name in broken else "holds"
        yield from wrapped(head, [f"{prop.name}: {prop.words} [{prop.source}]"])
