"""Which parts of a rule the recorded tests of Kafka confirm, as `bench/confirmed.py` found them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("confirmed.tsv")
HEAD: Final = ("version", "rule", "confirmed", "visible", "of")


class Confirmed(NamedTuple):
    """How many parts of a rule or a procedure are confirmed: itself, its guards, its effects.

    `visible` are those that requests and passing time show in a model instance for a live broker;
    `of` are all.
    """

    parts: int
    visible: int
    of: int

    def __str__(self) -> str:
        hidden = f", {self.of - self.visible} hidden" if self.of > self.visible else ""
        if not self.visible:
            return f"{self.of} hidden" if self.of else "-"
        return f"{self.parts} of {self.visible}{hidden}"


NONE: Final = Confirmed(0, 0, 0)
Parts = Mapping[tuple[str, str], Confirmed]


@cache
def confirmed() -> Parts:
    """The parts by version and rule; a version without recorded tests has none."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {
            (row["version"], row["rule"]): Confirmed(*(int(row[name]) for name in HEAD[2:]))
            for row in rows
        }


def write(parts: Parts) -> None:
    """Write the file."""
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows((*of, *each) for of, each in parts.items())


def total(found: Iterable[Confirmed]) -> Confirmed:
    """The sum."""
    every = [*found]
    return Confirmed(*(sum(numbers) for numbers in zip(*every, strict=True))) if every else NONE
