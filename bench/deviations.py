"""What is found of several deviations at once: `python bench/deviations.py [VERSION]`.

The port is the model with some random edits of its rules (`model/edits.py`); it shows no inner
state. An edit is visible if the product of the explored graphs, of the model with the other edits
and of the port, has a sequence that shows it. `--runs` such ports of each number of edits are
verified. For each number, prints how many edits are

- visible,
- named: reported as they are;
- equal: not named, but the causes of their port describe it: the model with these allows every
  response of the port in every state, and no field may be anything, no edit holds sometimes;
- missed: the others;

and how many causes are wrong (no edit of the port, which they do not describe either), how many
findings have no cause, and how many traces of named edits are as short as the shortest sequence.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from groupcheck.model.edits import edits_of
from groupcheck.model.engine.edits import Edit, Sometimes, UnknownPartError
from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile
from groupcheck.properties.deviations.candidates import is_vague
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.explored import Explored, explored, with_deviations
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Settings
from groupcheck.properties.verify import Verification
from groupcheck.reports.text import title
from support.model_port import ModelPort
from support.product import Known, Product, UndecidedError, known

NUMBERS: Final = (2, 3, 5, 8)
WALKS: Final = 100
MOST_CAUSES: Final = 50


class Count(NamedTuple):
    """What became of the edits of ports, and the processor time of their verifications."""

    visible: int = 0
    named: int = 0
    equal: int = 0
    missed: int = 0
    wrong: int = 0
    no_cause: int = 0
    shortest: int = 0
    seconds: float = 0


_mine: dict[str, tuple[Profile, Explored]] = {}  # of this process and those that it forks


def main() -> None:
    """Print the table."""
    options = _options()
    profile = PROFILES[options.version]
    _mine["model"] = profile, explored(virtual_time_instances(profile, 2))
    print("edits  ports  " + "  ".join(Count._fields))  # noqa: T201
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for number in options.edits:
            ports = [(number, f"{options.seed}/{number}/{run}") for run in range(options.runs)]
            total = Count()
            for each in pool.imap_unordered(_count, ports):
                total = Count._make(map(sum, zip(total, each, strict=True)))
            cells = (f"{n:{len(name)}.0f}" for name, n in zip(Count._fields, total, strict=True))
            print(f"{number:5}  {options.runs:5}  {'  '.join(cells)}", flush=True)  # noqa: T201


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version", nargs="?", default="2.7", choices=PROFILES)
    parser.add_argument("--edits", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--runs", type=int, default=75)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    return parser.parse_args()


def _count(port: tuple[int, str]) -> Count:
    number, seed = port
    (profile, given), random = _mine["model"], Random(seed)
    edits = _chosen(profile, number, random, given)
    edited = deviating(profile, edits)
    shown = {str(e): s for e in edits if (s := _shortest(_without(e, edits, given), edited))}
    started = time.process_time()
    source = PortSource("edited", lambda: ModelPort(edited=edited))
    settings = Settings(profile.name, examples=0, walks=WALKS, max_findings=MOST_CAUSES)
    found = Verification(source, settings, given=given).run().findings
    seconds = time.process_time() - started
    causes = {str(each.cause): each for each in found if each.cause is not None}
    described = _describe(causes.values(), given, edited)
    named = [causes[edit] for edit in shown if edit in causes]
    others = len(shown) - len(named)
    count = Count(
        len(shown),
        len(named),
        others if described else 0,
        0 if described else others,
        0 if described else len(causes.keys() - {str(edit) for edit in edits}),
        sum(each.cause is None for each in found),
        sum(len(each.sequence.steps) <= shown[str(each.cause)] for each in named),
        seconds,
    )
    lines = [f"{number} edits: {count}"]
    lines += [
        f"  {shown.get(e, 'invisible')} {'' if e in causes else '!'}{e}" for e in map(str, edits)
    ]
    lines += [f"  cause {len(f.sequence.steps)} {c}" for c, f in causes.items()]
    lines += [f"  none {title(f)}" for f in found if f.cause is None]
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201
    return count


def _chosen(profile: Profile, number: int, random: Random, given: Explored) -> tuple[Edit, ...]:
    """Random edits that do not exclude each other, and by which each step is possible."""
    every = list(edits_of(profile))
    while True:
        edits = tuple(random.sample(every, number))
        with suppress(UnknownPartError):
            if _is_possible(_known(edits, given)):
                return edits


def _is_possible(instances: Iterable[Known]) -> bool:
    """Whether the rules have an outcome for each input; edited ones may act on what is missing."""
    moves = (move for each in instances for moves in each.moves for move in moves)
    return all(move.outcomes for move in moves)


def _without(edit: Edit, edits: tuple[Edit, ...], given: Explored) -> list[Known]:
    """The instances with the other edits, the smallest first."""
    return _known(tuple(each for each in edits if each is not edit), given)


def _known(edits: tuple[Edit, ...], given: Explored) -> list[Known]:
    (profile, _) = _mine["model"]
    there = with_deviations(given, deviating(profile, edits), edits, lambda _states: None)
    return [known(each) for each in there.spaces.values()]


def _shortest(given: list[Known], edited: Profile) -> int | None:
    """The steps of the shortest sequence that tells a port from a model; None if there is none."""
    found: list[int] = []
    for each in given:
        try:
            steps = Product(each, edited).shortest()
        except UndecidedError:
            continue
        if steps is not None:
            found.append(len(steps))
    return min(found, default=None)


def _describe(findings: Iterable[Finding], given: Explored, edited: Profile) -> bool:
    """Whether the causes allow whatever the port does, and say what each field is."""
    causes = tuple(each.cause for each in findings if each.cause is not None)
    exact = not any(is_vague(each) or isinstance(each, Sometimes) for each in causes)
    return exact and _shortest(_known(causes, given), edited) is None


if __name__ == "__main__":
    main()
