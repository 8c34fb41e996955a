"""What is found of several deviations at once: `python bench/deviations.py [--edits 1 2 3 5 8]`.

The port is the model with so many random edits of its rules (`model/edits.py`); it shows no inner
state. For `--runs` such ports of each number of edits, prints how many edits can be seen at all
given the others, how many of these are reported as they are or as an equal edit, and how many
causes explain nothing. An edit can be seen if a tour against the model with the other edits finds
something. An equal edit is one with which everything is explained, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # for what tests share

from groupcheck.model.edits import edits_of
from groupcheck.model.engine.edits import Edit, UnknownPartError
from groupcheck.model.instances.instance import virtual_time_instances
from groupcheck.model.profiles import PROFILES
from groupcheck.model.step import Profile
from groupcheck.properties.deviations.deviating import deviating
from groupcheck.properties.explored import Explored, explored, with_deviations
from groupcheck.properties.ports.source import PortSource
from groupcheck.properties.result import Result, Settings
from groupcheck.properties.verify import Verification
from support.model_port import ModelPort

NUMBERS: Final = (1, 2, 3, 5, 8)
HEAD: Final = "edits  ports  visible  as they are  as equal edits  without a cause  seconds each"


class Count(NamedTuple):
    """What became of the edits of one port."""

    visible: int
    exact: int
    equal: int
    without_cause: int
    seconds: float


def main() -> None:
    """Print the table."""
    options = _options()
    profile = PROFILES[options.version]
    given = explored(virtual_time_instances(profile, 2))
    every, random = list(edits_of(profile)), Random(options.seed)
    sys.stdout.write(f"{HEAD}\n")
    for number in options.edits:
        counts = [_count(profile, given, every, number, random) for _ in range(options.runs)]
        sums = [sum(each[:4][column] for each in counts) for column in range(4)]
        seconds = sum(each.seconds for each in counts) / len(counts)
        sys.stdout.write(
            f"{number:5}  {options.runs:5}  {sums[0]:7}  {sums[1]:11}  {sums[2]:14}  {sums[3]:15}"
            f"  {seconds:12.1f}\n"
        )
        sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--version", default="2.7", choices=PROFILES)
    parser.add_argument("--edits", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _count(
    profile: Profile, given: Explored, every: list[Edit], number: int, random: Random
) -> Count:
    edits = _chosen(profile, every, number, random)
    started = time.process_time()
    found = _verified(profile, edits, given, Settings(profile.name, examples=0, walks=100))
    seconds = time.process_time() - started
    causes = {str(finding.cause) for finding in found.findings if finding.cause is not None}
    without_cause = sum(finding.cause is None for finding in found.findings)
    visible = [edit for edit in edits if _is_visible(profile, edit, edits, given)]
    exact = sum(str(edit) in causes for edit in visible)
    equal = len(visible) - exact if not without_cause else 0
    return Count(len(visible), exact, equal, without_cause, seconds)


def _chosen(profile: Profile, every: list[Edit], number: int, random: Random) -> tuple[Edit, ...]:
    """Random edits that do not exclude each other."""
    while True:
        edits = tuple(random.sample(every, number))
        try:
            deviating(profile, edits)
        except UnknownPartError:
            continue
        return edits


def _verified(
    profile: Profile, edits: tuple[Edit, ...], given: Explored, settings: Settings
) -> Result:
    port = deviating(profile, edits)
    source = PortSource("edited", lambda: ModelPort(edited=port))
    return Verification(source, settings, given=given).run()


def _is_visible(profile: Profile, edit: Edit, edits: tuple[Edit, ...], given: Explored) -> bool:
    """Whether tours against the model with the other edits find something."""
    others = deviating(profile, tuple(each for each in edits if each is not edit))
    there = with_deviations(given, others, others.edits, lambda _states: None)
    settings = Settings(profile.name, examples=0, walks=0, max_findings=1)
    return bool(_verified(profile, edits, there, settings).findings)


if __name__ == "__main__":
    main()
